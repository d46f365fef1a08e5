/// Reads events from a body that is no event stream: JSON lines, a JSON text sequence (RFC 7464),
/// or one document.
///
/// A record is an event without a name. Records are found in place; only a record with invalid
/// UTF-8 is copied. Blank records are skipped, and white space around a record is dropped.
struct RecordReader: ~Copyable {
  static let separator: UInt8 = 0x1E

  private let input: ByteBuffer
  /// Maximum size of one record, in bytes.
  private let limit: Int
  private var format: BodyFormat
  private var isAtStart = true
  /// The record at the front was searched for its end up to here.
  private var scanned = 0
  private var nesting = Nesting()
  /// Bytes at the front that the last call returned, with the end of the record.
  private var given = 0
  /// True if the end of the body ends the last record.
  private var hasEnded = false
  /// The record, if it was not UTF-8.
  private let repaired = ByteBuffer(capacity: 64)
  private let type = ByteBuffer(capacity: 64)

  init(input: ByteBuffer, limit: Int, format: BodyFormat = .lines) {
    (self.input, self.limit, self.format) = (input, limit, format)
    type.append("message" as StaticString)
  }

  /// Begins a new body; the caller empties the input.
  mutating func begin(_ format: BodyFormat) {
    self.format = format
    isAtStart = true
    scanned = 0
    nesting = Nesting()
    given = 0
    hasEnded = false
  }

  /// Returns the next event with this last event ID; `nil` if more bytes are needed.
  mutating func next(lastEventID: ByteView) throws(EventStreamError) -> EventStreamEvent? {
    input.consume(given)
    given = 0
    guard skipMark() else { return nil }
    while true {
      skipSeparators()
      let view = input.view
      let found = end(in: view)
      let length = found ?? view.count
      // The byte beyond the limit may be the CR of the line's end.
      guard length <= limit || length - limit == 1 else { throw .eventTooLarge(limit: limit) }
      guard found != nil || hasEnded && length > 0 else { return nil }
      let record = view[0..<length].trimmed
      scanned = 0
      nesting = Nesting()
      given = min(length + 1, view.count)
      guard record.isEmpty else { return try event(record, lastEventID) }
      input.consume(given)
      given = 0
    }
  }

  private func event(
    _ record: ByteView, _ lastEventID: ByteView
  ) throws(EventStreamError) -> EventStreamEvent {
    var data = record
    if !UTF8Validator.isValid(record) {
      repaired.removeAll()
      guard repaired.append(repairing: record, limit: limit) else {
        throw .eventTooLarge(limit: limit)
      }
      data = repaired.view
    }
    guard data.count <= limit else { throw .eventTooLarge(limit: limit) }
    return EventStreamEvent(type: type.view, data: data, lastEventID: lastEventID)
  }

  /// True if the input ends inside a record, which is lost if the body ends now.
  var isInsideRecord: Bool {
    let view = input.view
    return !view[given..<view.count].withoutSeparators.trimmed.isEmpty
  }

  /// Ends the body, and returns whether its rest is a record, which ``next(lastEventID:)`` returns.
  ///
  /// JSON Lines need no line end at the end of the body. A rest that is whole JSON counts; a number
  /// or a word only if the end is marked, because more of it may be missing. Other text counts at a
  /// marked end, unless it begins like JSON, because then it was cut.
  mutating func end(isMarked: Bool) -> Bool {
    guard !hasEnded else { return false }
    let rest = input.view.withoutSeparators.trimmed
    guard !rest.isEmpty else { return false }
    let beginsLikeJSON = [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")]
      .contains(rest[0])
    guard beginsLikeJSON ? rest.isJSON : isMarked else { return false }
    hasEnded = true
    return true
  }

  /// Steps over the byte order mark; `false` while it cannot be recognised yet.
  private mutating func skipMark() -> Bool {
    guard isAtStart else { return true }
    guard input.dropMark() || hasEnded else { return false }
    isAtStart = false
    return true
  }

  /// A separator stands before each text of a sequence, and before lines of `jq --seq`.
  private mutating func skipSeparators() {
    guard scanned == 0, format != .document else { return }
    let view = input.view
    input.consume(view.count - view.withoutSeparators.count)
  }

  /// Returns the end of the record at the front; `nil` if it is not there yet.
  private mutating func end(in view: ByteView) -> Int? {
    switch format {
    case .lines, .eventStream:
      if let end = view.firstIndex(of: 0x0A, from: scanned) { return end }
    case .textSequence:
      for index in min(scanned, view.count)..<view.count where nesting.ends(before: view[index]) {
        return index
      }
    case .document: break
    }
    scanned = view.count
    return nil
  }
}

/// Follows the brackets and strings of a JSON text, to find its end without its separator.
///
/// The next separator may come much later, and an event must not wait for it.
private struct Nesting {
  private var depth = 0
  private var isInString = false
  private var isEscaped = false

  /// Takes the next byte, unless the text ends before it.
  mutating func ends(before byte: UInt8) -> Bool {
    switch byte {
    case RecordReader.separator: return true
    // A string has no line end in it, so such a text is broken, and ends here.
    case 0x0A: return isInString || depth <= 0
    case _ where isEscaped: isEscaped = false
    case UInt8(ascii: "\\"): isEscaped = isInString
    case UInt8(ascii: "\""): isInString.toggle()
    case _ where isInString: break
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth &+= 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth &-= 1
    default: break
    }
    return false
  }
}

extension ByteView {
  /// The bytes without the white space of JSON around them.
  fileprivate var trimmed: ByteView {
    var (start, end) = (0, count)
    while start < end, Self.isBlank(self[start]) { start += 1 }
    while end > start, Self.isBlank(self[end - 1]) { end -= 1 }
    return self[start..<end]
  }

  fileprivate var withoutSeparators: ByteView {
    var start = 0
    while start < count, self[start] == RecordReader.separator { start += 1 }
    return self[start..<count]
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  /// True for one JSON value and nothing else.
  fileprivate var isJSON: Bool {
    guard UTF8Validator.isValid(self) else { return false }
    var cursor = JSONCursor(self)
    do throws(JSONError) {
      _ = try cursor.skipValue()
      try cursor.requireEnd()
      return true
    } catch { return false }
  }
}

extension ByteBuffer {
  /// Drops a byte order mark at the front; `false` while it cannot be recognised yet.
  func dropMark() -> Bool {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let view = self.view
    let count = min(view.count, mark.count)
    for index in 0..<count where view[index] != mark[index] { return true }
    guard count == mark.count else { return false }
    consume(count)
    return true
  }
}
