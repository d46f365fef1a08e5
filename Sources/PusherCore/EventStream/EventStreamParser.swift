/// Reads an event stream (HTML Living Standard section 9.2, server-sent events): bytes in, events out.
///
/// It does no I/O and knows no time. The owner writes what came into ``input`` and asks for events until there is
/// none; lines are walked in place, and the data of a one-line event is never copied. Nothing that a server sends is
/// an error except what goes past a limit; bytes that are not UTF-8 become U+FFFD, as the standard's decoder does it.
package final class EventStreamParser {
  /// Where the stream's bytes go.
  package let input: ByteBuffer
  private let limits: EventStreamLimits

  /// The reconnection time that the stream has named last, in milliseconds; `nil` when it has named none.
  package private(set) var reconnectionTime: Int?

  /// How many bytes at the front of the input are done with, and are dropped when nothing points to them any more.
  private var position = 0
  /// How far the line at ``position`` is known to hold no end.
  private var scanned = 0
  private var isAtStart = true
  /// Whether a line feed at ``position`` belongs to the CR before it.
  private var skipsLineFeed = false

  /// Where the event's only data line stands in the input so far.
  private var single: Range<Int>?
  private var hasData = false
  /// The data, when it is not one line in place.
  private let data = ByteBuffer(capacity: 16_384)
  private let type = ByteBuffer(capacity: 64)
  private let messageType = ByteBuffer(capacity: 64)
  /// What the last `id` field said.
  private let newID = ByteBuffer(capacity: 64)
  private var hasNewID = false
  private let lastID = ByteBuffer(capacity: 64)
  /// Whether the last call gave an event, whose bytes are now to be let go.
  private var hasGivenEvent = false

  /// A parser at the beginning of a stream.
  ///
  /// - Parameters:
  ///   - limits: What one line and one event may take.
  ///   - lastEventID: The last event ID before the stream.
  package init(limits: EventStreamLimits = EventStreamLimits(), lastEventID: String = "") {
    self.limits = limits
    input = ByteBuffer(capacity: 65_536)
    messageType.append("message" as StaticString)
    lastID.append(lastEventID)
  }

  /// The last event ID, for a reconnection; empty when there is none.
  ///
  /// It is what the last complete event left. The standard would have a new stream begin with an empty one, so
  /// that a lost connection could lose the place in the stream; as browsers do, it is kept until an event changes it.
  package var lastEventID: String { lastID.view.text }

  /// Drops what is left of a stream that has ended, its incomplete last event too; a new stream may begin.
  package func reset() {
    input.removeAll()
    position = 0
    scanned = 0
    isAtStart = true
    skipsLineFeed = false
    newID.removeAll()
    hasNewID = false
    hasGivenEvent = false
    clearEvent()
  }

  /// The next event that is complete; `nil` when more bytes are needed.
  ///
  /// - Throws: ``EventStreamError`` for a line or an event past its limit; the parser is then of no further use
  ///   until it is ``reset()``.
  package func next() throws(EventStreamError) -> EventStreamEvent? {
    if hasGivenEvent { letGo() }
    guard !isAtStart || skipMark() else { return nil }
    let view = input.view
    while true {
      if skipsLineFeed && position < view.count {
        skipsLineFeed = false
        if unsafe view.base[position] == 0x0A { position &+= 1 }
      }
      let start = position
      let end = LineScanner.lineEnd(in: view, from: max(start, scanned))
      guard end &- start <= limits.line else { throw .lineTooLong(limit: limits.line) }
      guard end < view.count else {
        scanned = end
        keepForLater(view)
        return nil
      }
      position = end &+ 1
      skipsLineFeed = unsafe view.base[end] == 0x0D
      if end > start {
        try take(line: start..<end, of: view)
      } else if let event = complete(view) {
        return event
      }
    }
  }

  /// Steps over the byte order mark; `false` when it cannot be told yet whether there is one.
  private func skipMark() -> Bool {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let view = input.view
    let count = min(view.count, mark.count)
    for index in 0..<count where view[index] != mark[index] {
      isAtStart = false
      return true
    }
    guard count == mark.count else { return false }
    input.consume(count)
    isAtStart = false
    return true
  }

  /// Lets go of the input that the last event stood in.
  private func letGo() {
    hasGivenEvent = false
    clearEvent()
    input.consume(position)
    position = 0
    scanned = 0
  }

  private func clearEvent() {
    single = nil
    if hasData {
      hasData = false
      data.removeAll()
    }
    if !type.isEmpty { type.removeAll() }
  }

  /// Drops the lines that were read; what the event has of them is kept apart.
  private func keepForLater(_ view: ByteView) {
    if let range = single {
      data.append(view[range])
      single = nil
    }
    input.consume(position)
    scanned -= position
    position = 0
  }

  /// An empty line ends the event (section 9.2.6, "dispatch the event").
  @inline(__always)
  private func complete(_ view: ByteView) -> EventStreamEvent? {
    if hasNewID {
      hasNewID = false
      lastID.removeAll()
      lastID.append(newID.view)
    }
    guard hasData else {
      if !type.isEmpty { type.removeAll() }
      return nil
    }
    hasGivenEvent = true
    let content = if let single { view[single] } else { data.view }
    return EventStreamEvent(
      type: type.isEmpty ? messageType.view : type.view, data: content, lastEventID: lastID.view)
  }
}

// The fields (section 9.2.6, "process the field").
extension EventStreamParser {
  /// Takes a line that is not empty.
  @inline(__always)
  private func take(line: Range<Int>, of view: ByteView) throws(EventStreamError) {
    if let value = Self.value(of: "data", in: line, view) {
      try takeData(value, of: view)
    } else if let value = Self.value(of: "id", in: line, view) {
      try takeID(view[value])
    } else if let value = Self.value(of: "event", in: line, view) {
      type.removeAll()
      try append(view[value], to: type)
    } else if let value = Self.value(of: "retry", in: line, view) {
      takeRetry(view[value])
    }
    // Other names say nothing, and neither does a line that begins with a colon, a comment.
  }

  /// Where the value stands when the line's field is called `name`: behind the colon and one space, or nowhere.
  @inline(__always)
  private static func value(
    of name: StaticString, in line: Range<Int>, _ view: ByteView
  ) -> Range<Int>? {
    let length = name.utf8CodeUnitCount
    guard line.count >= length else { return nil }
    for index in 0..<length {
      guard unsafe view.base[line.lowerBound &+ index] == name.utf8Start[index] else { return nil }
    }
    var start = line.lowerBound &+ length
    guard start < line.upperBound else { return start..<start }
    guard unsafe view.base[start] == UInt8(ascii: ":") else { return nil }
    start &+= 1
    if start < line.upperBound, unsafe view.base[start] == UInt8(ascii: " ") { start &+= 1 }
    return start..<line.upperBound
  }

  @inline(__always)
  private func takeData(_ range: Range<Int>, of view: ByteView) throws(EventStreamError) {
    guard hasData else {
      guard range.count <= limits.event else { throw .eventTooLarge(limit: limits.event) }
      hasData = true
      if UTF8Validator.isValid(view[range]) {
        single = range
      } else {
        try append(view[range], to: data)
      }
      return
    }
    try takeMoreData(range, of: view)
  }

  private func takeMoreData(_ range: Range<Int>, of view: ByteView) throws(EventStreamError) {
    if let first = single {
      data.append(view[first])
      single = nil
    }
    // The value may still grow when it is mended; that is checked as it does.
    guard data.count + 1 + range.count <= limits.event else {
      throw .eventTooLarge(limit: limits.event)
    }
    data.append(UInt8(ascii: "\n"))
    try append(view[range], to: data)
  }

  private func takeID(_ value: ByteView) throws(EventStreamError) {
    for index in 0..<value.count where value[index] == 0 { return }
    newID.removeAll()
    hasNewID = true
    try append(value, to: newID)
  }

  private func takeRetry(_ value: ByteView) {
    var milliseconds = 0
    for index in 0..<value.count {
      guard value[index] &- 0x30 < 10 else { return }
      let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(value[index] &- 0x30))
      milliseconds = overflow || carry ? .max : sum
    }
    if !value.isEmpty { reconnectionTime = milliseconds }
  }

  /// Appends a value that is UTF-8, or is made UTF-8.
  private func append(_ value: ByteView, to buffer: ByteBuffer) throws(EventStreamError) {
    if UTF8Validator.isValid(value) {
      buffer.append(value)
    } else if !UTF8Repair.append(value, to: buffer, limit: limits.event - buffer.count) {
      throw .eventTooLarge(limit: limits.event)
    }
  }
}
