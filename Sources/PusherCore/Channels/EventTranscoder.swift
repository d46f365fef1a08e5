/// Writes a Pusher message as its JSON line in one pass, for the shape that servers usually send.
///
/// It handles `{"event":E,"channel":C,"data":"JSON"}` and the order event, data, channel. E and C
/// hold no escape, and the data string holds JSON. The caller's general path writes the same line
/// for everything else, including protocol events and encrypted channels.
package struct EventTranscoder: Sendable {
  private let protocolPrefix: NameBeginning
  private let reservedPrefix: NameBeginning

  /// Maximum size of a line beyond its message, in bytes.
  private static let overhead = 64

  /// The first 8 bytes of each prefix count; neither may be empty.
  package init(protocolPrefix: String, reservedPrefix: String) {
    self.protocolPrefix = NameBeginning(protocolPrefix)
    self.reservedPrefix = NameBeginning(reservedPrefix)
  }

  package enum Outcome {
    case written
    /// The filter rejects the event; nothing was written.
    case filtered
    /// The general path must decide; nothing was written.
    case unusual
  }

  /// Appends the line of an application event of the usual shape, without an allocation.
  package func append(
    _ message: ByteView, to output: ByteBuffer, leading: LeadingMembers, terminator: UInt8,
    filter: FilterMemory?
  ) -> Outcome {
    output.reserve(message.count &+ leading.count &+ Self.overhead)
    let start = unsafe output.tail + leading.count
    guard let line = unsafe transcode(message, to: start, terminator: terminator) else {
      return .unusual
    }
    if let filter {
      let name = unsafe ByteView(base: start + line.event.lowerBound, count: line.event.count)
      guard filter.passes(name) else { return .filtered }
    }
    unsafe leading.write(before: start)
    output.commit(leading.count &+ line.count)
    return .written
  }

  /// Appends what `template` makes of the line instead.
  package func append(
    _ message: ByteView, by template: LineTemplate, number: Int, to output: ByteBuffer,
    leading: LeadingMembers, terminator: UInt8, filter: FilterMemory?
  ) -> Outcome {
    let line = template.line
    line.removeAll()
    let outcome = append(
      message, to: line, leading: leading, terminator: terminator, filter: filter)
    guard outcome == .written else { return outcome }
    let fields = Self.fields(of: line.view, leading: leading.count)
    let isWritten = template.append(fields, number: number, to: output, terminator: terminator)
    return isWritten ? .written : .unusual
  }

  private static func fields(of line: ByteView, leading: Int) -> LineTemplate.Fields {
    // Neither name holds a quote.
    func name(from start: Int) -> Range<Int> {
      var end = start
      while unsafe line.base[end] != UInt8(ascii: "\"") { end &+= 1 }
      return start..<end
    }
    let event = name(from: leading &+ 10)
    let channel = name(from: event.upperBound &+ 13)
    let data = (channel.upperBound &+ 9)..<(line.count &- 2)
    return LineTemplate.Fields(
      event: line[event], channel: line[channel], data: line[data],
      line: line[0..<(line.count &- 1)])
  }

  private struct Line {
    let count: Int
    /// The event's name between its quotes, counted from the line's first byte.
    let event: Range<Int>
  }

  /// Writes the line at the output's tail; the caller commits or drops it.
  ///
  /// The output must have `message.count` + ``overhead`` bytes reserved.
  @inline(__always) private func transcode(
    _ message: ByteView, to tail: UnsafeMutablePointer<UInt8>, terminator: UInt8
  ) -> Line? {
    unsafe message.withNUL { _ in
      var cursor = unsafe FusedCursor(input: message.base, output: tail)
      guard let event = unsafe copyEvent(&cursor, from: tail), copyRest(&cursor, message) else {
        return nil
      }
      cursor.put(0x7D)
      cursor.put(terminator)
      return Line(count: unsafe cursor.output - tail, event: event)
    }
  }

  /// Copies `{"event":"NAME"`.
  @inline(__always) private func copyEvent(
    _ cursor: inout FusedCursor, from tail: UnsafeMutablePointer<UInt8>
  ) -> Range<Int>? {
    guard cursor.word64() == EnvelopeWord.eventKey, cursor.word16(8) == EnvelopeWord.colonQuote
    else { return nil }
    cursor.copyShort(8)
    cursor.copyShort(2)
    let name = cursor.word64()
    guard !protocolPrefix.begins(name), !reservedPrefix.begins(name) else { return nil }
    let start = unsafe cursor.output - tail
    guard Self.copyPlainString(&cursor) else { return nil }
    return unsafe start..<(cursor.output - tail - 1)
  }

  /// Copies `,"channel":"NAME","data":VALUE` from either order, up to the closing brace.
  @inline(__always)
  private func copyRest(_ cursor: inout FusedCursor, _ message: ByteView) -> Bool {
    let end = unsafe UnsafePointer(message.base + message.count)
    if cursor.word64() == EnvelopeWord.channelKey {
      guard copyChannel(&cursor), Self.copyData(&cursor) else { return false }
      return unsafe cursor.word16() == Constant.quoteBrace && cursor.input + 2 == end
    }
    guard cursor.word64() == EnvelopeWord.dataKey, let start = Self.channelStart(message) else {
      return false
    }
    var channel = unsafe FusedCursor(input: message.base + start, output: cursor.output)
    guard copyChannel(&channel) else { return false }
    unsafe cursor.output = channel.output
    guard Self.copyData(&cursor) else { return false }
    // The data must end where the channel member begins, or the two searches disagree.
    return unsafe cursor.input + 1 == UnsafePointer(message.base + start)
      && channel.byte == 0x7D && channel.input + 1 == end
  }

  /// Returns the start of `,"channel":"NAME"}`, searched from the end of the message.
  static func channelStart(_ message: ByteView) -> Int? {
    guard message.count > 32, message[message.count - 1] == 0x7D, message[message.count - 2] == 0x22
    else { return nil }
    var quote = message.count - 3
    let lowest = max(16, message.count - 256)
    while quote > lowest, message[quote] != 0x22 { quote -= 1 }
    let start = quote - 11
    guard start > 0, message[start..<message.count].begins(with: #","channel":""#) else {
      return nil
    }
    return start
  }

  @inline(__always) private func copyChannel(_ cursor: inout FusedCursor) -> Bool {
    guard cursor.word64() == EnvelopeWord.channelKey, cursor.word32(8) == EnvelopeWord.channelKeyEnd
    else { return false }
    cursor.copyShort(8)
    cursor.copyShort(4)
    // Events of end-to-end encrypted channels must be decrypted first.
    if cursor.word64() == Constant.privateDash, cursor.word64(8) == Constant.encrypted {
      return false
    }
    return Self.copyPlainString(&cursor)
  }

  /// Copies `,"data":` and the value inside its string; stops at the string's closing quote.
  @inline(__always) private static func copyData(_ cursor: inout FusedCursor) -> Bool {
    guard cursor.word64() == EnvelopeWord.dataKey, cursor.peek(8) == 0x22 else { return false }
    cursor.copyShort(8)
    cursor.skip(1)
    return cursor.copyEscapedValue()
  }

  /// Copies up to and with the closing quote; `false` at any escape.
  @inline(__always) private static func copyPlainString(_ cursor: inout FusedCursor) -> Bool {
    while cursor.copyPlainRun() {}
    guard cursor.byte == 0x22 else { return false }
    cursor.put(0x22)
    cursor.skip(1)
    return true
  }

  private enum Constant {
    // `"}`
    static let quoteBrace: UInt16 = 0x7D22
    // `private-`
    static let privateDash: UInt64 = 0x2D65_7461_7669_7270
    // `encrypte`
    static let encrypted: UInt64 = 0x6574_7079_7263_6E65
  }
}
