/// Parses an event stream (HTML Living Standard section 9.2, server-sent events), or a body of
/// another ``BodyFormat``.
///
/// The owner writes received bytes into ``input`` and calls ``next()`` until there are no more
/// events. Lines are scanned in place, and the data of a one-line event is never copied. Only an
/// exceeded limit is an error; invalid UTF-8 becomes U+FFFD, as in the standard's decoder.
package final class EventStreamParser {
  package let input: ByteBuffer
  private var reader: EventStreamReader
  private var records: RecordReader
  package private(set) var format = BodyFormat.eventStream

  package init(limits: EventStreamLimits = EventStreamLimits(), lastEventID: String = "") {
    input = ByteBuffer(capacity: 65_536)
    // A separate value, so that one check of exclusive access serves a whole event.
    reader = EventStreamReader(input: input, limits: limits, lastEventID: lastEventID)
    records = RecordReader(input: input, limit: limits.event)
  }

  /// In milliseconds, as the stream named it last.
  package var reconnectionTime: Int? { reader.reconnectionTime }

  /// Called with each comment of an event stream, during ``next()``; the view is valid meanwhile.
  package var commentHandler: ((ByteView) -> Void)? {
    get { reader.commentHandler }
    set { reader.commentHandler = newValue }
  }

  /// The last event ID; may be empty.
  ///
  /// In the standard, a new stream begins with an empty ID, so a lost connection could lose the
  /// place in the stream. As in browsers, the ID is kept until an event changes it.
  package var lastEventID: String { lastEventIDView.text }

  /// The same in place, valid until the next event.
  package var lastEventIDView: ByteView { reader.lastID.view }

  /// The ID for a reconnection: the last one that a request can name; may be empty.
  package var resumeID: String { reader.resumeID.view.text }

  /// True if the input ends inside an event, which is lost if the stream ends now (section 9.2.6).
  package var isInsideEvent: Bool {
    format == .eventStream ? reader.isInsideEvent : records.isInsideRecord
  }

  /// Drops an incomplete last event too; a new event stream may begin.
  package func reset() {
    reader.reset()
    format = .eventStream
  }

  /// Drops the same, and begins a body of this format.
  package func begin(_ format: BodyFormat) {
    reset()
    self.format = format
    records.begin(format)
  }

  /// Returns `nil` if more bytes are needed; the parser needs a ``reset()`` after an error.
  package func next() throws(EventStreamError) -> EventStreamEvent? {
    guard format == .eventStream else {
      return try records.next(lastEventID: reader.lastID.view)
    }
    return try reader.next()
  }

  /// Ends the body, and returns whether that completes an event, which ``next()`` returns then.
  ///
  /// An event stream's events end with their empty line only. `isMarked` is false for a connection
  /// that was closed without a mark of the body's end.
  package func endBody(isMarked: Bool) -> Bool {
    format != .eventStream && records.end(isMarked: isMarked)
  }
}

/// The views are valid until the parser returns the next event.
package struct EventStreamEvent {
  /// UTF-8; `message` if the stream names none.
  package let type: ByteView
  /// Data lines with a line feed between them, as UTF-8 in a ``ByteBuffer``.
  package let data: ByteView
  /// Set by this event or an earlier one; UTF-8, may be empty.
  package let lastEventID: ByteView

  package func named(_ type: ByteView) -> EventStreamEvent {
    EventStreamEvent(type: type, data: data, lastEventID: lastEventID)
  }
}

package struct EventStreamLimits: Sendable, Equatable {
  /// Without the line's end, in bytes.
  package var line: Int
  /// With the line feeds between the data lines, in bytes.
  package var event: Int

  package init(line: Int = 16 << 20, event: Int = 16 << 20) {
    (self.line, self.event) = (line, event)
  }
}

package enum EventStreamError: Error, Equatable, CustomStringConvertible {
  case lineTooLong(limit: Int)
  case eventTooLarge(limit: Int)

  package var description: String {
    switch self {
    case .lineTooLong(let limit): "a line of the event stream is longer than \(limit) bytes"
    case .eventTooLarge(let limit): "an event's data is larger than \(limit) bytes"
    }
  }
}

private struct EventStreamReader: ~Copyable {
  private let input: ByteBuffer
  private let limits: EventStreamLimits
  private(set) var reconnectionTime: Int?
  var commentHandler: ((ByteView) -> Void)?

  /// Processed bytes at the front of the input, which are dropped when nothing points to them.
  private var position = 0
  /// The line at ``position`` was searched for its end up to here.
  private var scanned = 0
  private var isAtStart = true
  /// True if a line feed at ``position`` belongs to the CR before it.
  private var skipsLineFeed = false

  /// Range of the event's only data line so far, in the input.
  private var single: Range<Int>?
  private var hasData = false
  /// The data, if it is not one line in place.
  private let data = ByteBuffer(capacity: 16_384)
  /// Range of the last `event` field so far, in the input.
  private var typePlace: Range<Int>?
  private let type = ByteBuffer(capacity: 64)
  private let messageType = ByteBuffer(capacity: 64)
  /// Range of the last `id` field so far, in the input.
  private var idPlace: Range<Int>?
  private let newID = ByteBuffer(capacity: 64)
  private var hasNewID = false
  let lastID = ByteBuffer(capacity: 64)
  /// The last ID that a request can name, if ``lastID`` is none.
  private let nameableID = ByteBuffer(capacity: 64)
  private var isNameable = true
  /// True if the last call returned an event, whose bytes can now be dropped.
  private var hasGivenEvent = false

  init(input: ByteBuffer, limits: EventStreamLimits, lastEventID: String) {
    (self.input, self.limits) = (input, limits)
    messageType.append("message" as StaticString)
    newID.append(lastEventID)
    setID(newID.view)
    newID.removeAll()
  }

  mutating func reset() {
    input.removeAll()
    position = 0
    scanned = 0
    isAtStart = true
    skipsLineFeed = false
    idPlace = nil
    hasNewID = false
    hasGivenEvent = false
    clearEvent()
  }

  mutating func next() throws(EventStreamError) -> EventStreamEvent? {
    if hasGivenEvent {
      letGo()
      if !skipsLineFeed, let event = nextUsual() { return event }
    }
    if isAtStart {
      guard input.dropMark() else { return nil }
      isAtStart = false
    }
    let view = input.view
    while true {
      if skipsLineFeed && position < view.count {
        skipsLineFeed = false
        if unsafe view.base[position] == 0x0A { position &+= 1 }
      }
      let start = position
      let end = view.lineEnd(from: max(start, scanned))
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

  /// Returns the next event if it is complete and of the usual shape; else nothing has changed.
  ///
  /// Its lines end in LF, and its fields are `id`, `event` and one `data`, each with a space before
  /// the value. All but the data is printable ASCII. No line of the event may have been read. Each
  /// load begins inside the view or at its end.
  @inline(__always) private mutating func nextUsual() -> EventStreamEvent? {
    let view = input.view
    var start = 0
    // A field that has not come begins at 0.
    var (data, id, type) = (0..<0, 0..<0, 0..<0)
    while true {
      var end = view.printableEnd(from: start)
      guard end < view.count else { return nil }
      if end == start { break }
      let word = unsafe UnsafeRawPointer(view.base + start).loadUnaligned(as: UInt64.self)
      if word & 0xFFFF_FFFF_FFFF == Self.dataField {
        guard data.lowerBound == 0 else { return nil }
        if unsafe view.base[end] != 0x0A {
          end = view.lineEnd(from: end)
          guard end < view.count, UTF8Validator.isValid(view[(start + 6)..<end]) else { return nil }
        }
        data = (start &+ 6)..<end
      } else if word & 0xFFFF_FFFF == Self.idField {
        id = (start &+ 4)..<end
      } else if word & 0xFF_FFFF_FFFF_FFFF == Self.eventField {
        type = (start &+ 7)..<end
      } else {
        return nil
      }
      guard unsafe view.base[end] == 0x0A, end &- start <= limits.line else { return nil }
      start = end &+ 1
    }
    guard unsafe view.base[start] == 0x0A, data.lowerBound > 0, data.count <= limits.event,
      id.count <= EventID.sizeLimit
    else { return nil }
    if id.lowerBound > 0 {
      // Printable ASCII can be named.
      isNameable = true
      lastID.replace(with: view[id])
    }
    position = start &+ 1
    hasGivenEvent = true
    return EventStreamEvent(
      type: type.isEmpty ? messageType.view : view[type], data: view[data],
      lastEventID: lastID.view)
  }

  // `data: `, `id: ` and `event: `, as little-endian words
  private static var dataField: UInt64 { 0x203A_6174_6164 }
  private static var idField: UInt64 { 0x203A_6469 }
  private static var eventField: UInt64 { 0x20_3A74_6E65_7665 }

  /// True if data, or a part of a line that is not a comment, waits for its end.
  var isInsideEvent: Bool {
    let view = input.view
    let start = skipsLineFeed && view.begins(with: "\n") ? 1 : 0
    return hasData && !hasGivenEvent || view.count > start && view[start] != UInt8(ascii: ":")
  }

  private mutating func letGo() {
    hasGivenEvent = false
    clearEvent()
    input.consume(position)
    position = 0
    scanned = 0
  }

  @inline(__always) private mutating func clearEvent() {
    single = nil
    typePlace = nil
    if hasData {
      hasData = false
      if !data.isEmpty { data.removeAll() }
    }
    if !type.isEmpty { type.removeAll() }
  }

  /// Drops the lines that were read, after copying the event's data in them.
  private mutating func keepForLater(_ view: ByteView) {
    if let single {
      data.append(view[single])
      self.single = nil
    }
    if let typePlace {
      type.append(view[typePlace])
      self.typePlace = nil
    }
    if let idPlace {
      newID.removeAll()
      newID.append(view[idPlace])
      self.idPlace = nil
      hasNewID = true
    }
    input.consume(position)
    scanned -= position
    position = 0
  }

  /// Ends the event at an empty line (section 9.2.6, "dispatch the event").
  @inline(__always) private mutating func complete(_ view: ByteView) -> EventStreamEvent? {
    if let idPlace {
      setID(view[idPlace])
      self.idPlace = nil
      hasNewID = false
    } else if hasNewID {
      setID(newID.view)
      hasNewID = false
    }
    guard hasData else {
      clearEvent()
      return nil
    }
    hasGivenEvent = true
    let content = if let single { view[single] } else { data.view }
    let name =
      if let typePlace { view[typePlace] } else { type.isEmpty ? messageType.view : type.view }
    return EventStreamEvent(type: name, data: content, lastEventID: lastID.view)
  }
}

// The last event ID.
extension EventStreamReader {
  /// The last ID that a request can name.
  var resumeID: ByteBuffer { isNameable ? lastID : nameableID }

  @inline(__always) private mutating func setID(_ id: ByteView) {
    let wasNameable = isNameable
    isNameable = EventID.isNameable(id)
    if !isNameable, wasNameable {
      nameableID.removeAll()
      nameableID.append(lastID.view)
    }
    lastID.replace(with: id)
  }
}

// The fields (section 9.2.6, "process the field").
extension EventStreamReader {
  @inline(__always)
  private mutating func take(line: Range<Int>, of view: ByteView) throws(EventStreamError) {
    if let value = Self.value(of: "data", in: line, view) {
      try takeData(value, of: view)
    } else if let value = Self.value(of: "id", in: line, view) {
      try takeID(value, of: view)
    } else if let value = Self.value(of: "event", in: line, view) {
      try takeType(value, of: view)
    } else if let value = Self.value(of: "retry", in: line, view) {
      takeRetry(view[value])
    } else if let commentHandler, let value = Self.value(of: "", in: line, view) {
      commentHandler(view[value])
    }
    // Other names mean nothing.
  }

  /// The value stands after the colon and one space.
  @inline(__always) private static func value(
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
  private mutating func takeData(_ range: Range<Int>, of view: ByteView) throws(EventStreamError) {
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

  private mutating func takeMoreData(_ range: Range<Int>, of view: ByteView)
    throws(EventStreamError)
  {
    if let first = single {
      data.append(view[first])
      single = nil
    }
    // Repair may lengthen the value, and checks the limit itself.
    guard data.count + 1 + range.count <= limits.event else {
      throw .eventTooLarge(limit: limits.event)
    }
    data.append(UInt8(ascii: "\n"))
    try append(view[range], to: data)
  }

  private mutating func takeType(_ range: Range<Int>, of view: ByteView) throws(EventStreamError) {
    if !type.isEmpty { type.removeAll() }
    typePlace = nil
    // An empty type counts as none.
    if range.isEmpty { return }
    if Self.isValid(range, of: view) {
      typePlace = range
    } else {
      try append(view[range], to: type)
    }
  }

  private mutating func takeID(_ range: Range<Int>, of view: ByteView) throws(EventStreamError) {
    if view[range].holds(0) { return }
    if Self.isValid(range, of: view) {
      idPlace = range
      return
    }
    idPlace = nil
    newID.removeAll()
    hasNewID = true
    try append(view[range], to: newID)
  }

  private mutating func takeRetry(_ value: ByteView) {
    var milliseconds = 0
    for index in 0..<value.count {
      guard value[index] &- 0x30 < 10 else { return }
      let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(value[index] &- 0x30))
      milliseconds = overflow || carry ? .max : sum
    }
    if !value.isEmpty { reconnectionTime = milliseconds }
  }

  /// Names and IDs are mostly short and ASCII, so that is tried first.
  @inline(__always) private static func isValid(_ range: Range<Int>, of view: ByteView) -> Bool {
    if range.count <= 16, isShortASCII(range, of: view) { return true }
    return UTF8Validator.isValid(view[range])
  }

  /// The loads may reach into the padding after the view.
  @inline(__always)
  private static func isShortASCII(_ range: Range<Int>, of view: ByteView) -> Bool {
    let bytes = unsafe UnsafeRawPointer(view.base + range.lowerBound)
    let first = unsafe bytes.loadUnaligned(as: UInt64.self)
    let second = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    // A shift by 64 or more gives zero: the bytes after the range are masked out.
    let high: UInt64 = 0x8080_8080_8080_8080
    let mask = high >> UInt64(max(0, 64 &- 8 &* range.count))
    let secondMask = high >> UInt64(max(0, 128 &- 8 &* range.count))
    return first & mask | second & secondMask == 0
  }

  /// Appends a value, repaired if it is not UTF-8.
  private func append(_ value: ByteView, to buffer: ByteBuffer) throws(EventStreamError) {
    if UTF8Validator.isValid(value) {
      buffer.append(value)
    } else if !buffer.append(repairing: value, limit: limits.event - buffer.count) {
      throw .eventTooLarge(limit: limits.event)
    }
  }
}

/// Decides which event IDs a request can name in `Last-Event-ID`.
///
/// A stream may send any ID without NUL and line ends (HTML section 9.2.6). No field of HTTP can
/// hold all of them (RFC 9110 section 5.5).
package enum EventID {
  /// Maximum size of an ID, in bytes; no server accepts a larger field.
  package static let sizeLimit = 16 << 10

  /// Returns what is wrong with an ID that no request can name, such as `has a control character`.
  package static func objection(to id: some Collection<UInt8>) -> String? {
    let isNameable = id.count <= sizeLimit && id.allSatisfy(ASCII.isFieldValue)
    return isNameable ? nil : objection(size: id.count)
  }

  package static func objection(to id: ByteView) -> String? {
    isNameable(id) ? nil : objection(size: id.count)
  }

  private static func objection(size: Int) -> String {
    size > sizeLimit
      ? "has \(size) bytes, more than the limit of \(sizeLimit)" : "has a control character"
  }

  @inline(__always) static func isNameable(_ id: ByteView) -> Bool {
    guard id.count <= sizeLimit else { return false }
    for index in 0..<id.count where !ASCII.isFieldValue(id[index]) { return false }
    return true
  }
}

/// Writes the messages of an event stream, as an ``EventStreamParser`` reads them.
///
/// Source: the HTML standard, section "Server-sent events", "Interpreting an event stream".
package enum EventStreamWriter {
  package static let contentType = "text/event-stream"

  /// `event` and `id` have no line ends; those of `data`, LF, CR or both, become LF.
  package static func write(event: String, id: String? = nil, data: String, to output: ByteBuffer) {
    if let id { output.append("id: \(id)\n") }
    output.append("event: \(event)\ndata: ")
    defer { output.append("\n\n") }
    // JSON is always one line.
    guard data.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
      return output.append(data)
    }
    var hasReturn = false
    for byte in data.utf8 {
      let isLineFeed = byte == 0x0A
      defer { hasReturn = byte == 0x0D }
      if isLineFeed, hasReturn { continue }
      if isLineFeed || byte == 0x0D { output.append("\ndata: ") } else { output.append(byte) }
    }
  }

  /// Appends a comment, which readers drop; it shows that the connection lives.
  package static func writeComment(to output: ByteBuffer) { output.append(":\n\n") }
}
