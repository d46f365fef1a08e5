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
    guard let (event, end) = unsafe transcode(message, to: start) else { return .unusual }
    if let filter, !filter.passes(event) { return .filtered }
    unsafe end[0] = UInt8(ascii: "}")
    unsafe end[1] = terminator
    unsafe leading.write(before: start)
    output.commit(unsafe leading.count &+ (end + 2 - start))
    return .written
  }

  /// Writes the line at `start`, up to its brace; returns the event's name and the line's end.
  ///
  /// The output must have `message.count` + ``overhead`` bytes reserved.
  @inline(__always) private func transcode(
    _ message: ByteView, to start: UnsafeMutablePointer<UInt8>
  ) -> (event: ByteView, end: UnsafeMutablePointer<UInt8>)? {
    unsafe message.withNUL { _ in
      var cursor = unsafe FusedCursor(input: message.base, output: start)
      guard let event = copyEvent(&cursor), copyRest(&cursor, message) else { return nil }
      return unsafe (event, cursor.output)
    }
  }

  /// Copies `{"event":"NAME"`.
  @inline(__always) private func copyEvent(_ cursor: inout FusedCursor) -> ByteView? {
    guard cursor.word64() == EnvelopeWord.eventKey, cursor.word16(8) == EnvelopeWord.colonQuote
    else { return nil }
    cursor.copyShort(8)
    cursor.copyShort(2)
    let name = cursor.word64()
    guard !protocolPrefix.begins(name), !reservedPrefix.begins(name) else { return nil }
    let start = unsafe cursor.output
    guard Self.copyPlainString(&cursor) else { return nil }
    return unsafe ByteView(base: start, count: cursor.output - start - 1)
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
