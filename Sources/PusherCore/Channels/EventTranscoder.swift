/// Writes a Pusher message as its JSON line in one pass, for the shape that servers usually send.
///
/// It handles `{"event":E,"channel":C,"data":"JSON"}` and the order event, data, channel. E and C
/// hold no escape, and the data string holds JSON. The caller's general path writes the same line
/// for everything else, including protocol events and encrypted channels.
package struct EventTranscoder {
  private let protocolPrefix: NameBeginning
  private let reservedPrefix: NameBeginning
  private let joins = JoinMemory()

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
    guard cursor.isAtEvent else { return nil }
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
    // The last bytes of the event's name.
    let name = cursor.word64(-8)
    if cursor.isAtChannel {
      guard copyChannel(&cursor), copyData(&cursor, name) else { return false }
      return unsafe cursor.word16() == Self.quoteBrace && cursor.input + 2 == end
    }
    guard cursor.isAtData, let start = Self.channelStart(message) else { return false }
    var channel = unsafe FusedCursor(input: message.base + start, output: cursor.output)
    guard copyChannel(&channel) else { return false }
    unsafe cursor.output = channel.output
    guard copyData(&cursor, name) else { return false }
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
    guard cursor.isAtChannel else { return false }
    cursor.copyShort(8)
    cursor.copyShort(4)
    // Events of end-to-end encrypted channels must be decrypted first.
    if cursor.word64() == Self.privateDash, cursor.word64(8) == Self.encrypted {
      return false
    }
    return Self.copyPlainString(&cursor)
  }

  /// Copies `,"data":` and the value inside its string; stops at the string's closing quote.
  ///
  /// Data of one event's name often begins alike.
  @inline(__always)
  private func copyData(_ cursor: inout FusedCursor, _ name: UInt64) -> Bool {
    guard cursor.isAtData else { return false }
    cursor.copyShort(8)
    cursor.skip(1)
    return cursor.copyEscapedValue(joins, kind: name &+ cursor.word64())
  }

  /// Copies up to and with the closing quote; `false` at any escape.
  @inline(__always) private static func copyPlainString(_ cursor: inout FusedCursor) -> Bool {
    while cursor.copyPlainRun() {}
    guard cursor.byte == 0x22 else { return false }
    cursor.put(0x22)
    cursor.skip(1)
    return true
  }

  // `"}`
  private static let quoteBrace: UInt16 = 0x7D22
  // `private-`
  private static let privateDash: UInt64 = 0x2D65_7461_7669_7270
  // `encrypte`
  private static let encrypted: UInt64 = 0x6574_7079_7263_6E65
}

/// Reads the parts of a Pusher message, for the shape that servers usually send.
///
/// It handles `{"event":E,"channel":C,"data":"TEXT"}` and the order event, data, channel. E and C
/// hold no escape, and TEXT only escapes of quote, backslash and slash. Everything else, including
/// protocol events, gives `nil`: the caller then uses ``Envelope``, which finds the same parts.
package struct PlainEventReader: Sendable {
  /// The names point into the message, the data into the buffer.
  package struct Parts {
    package let event: ByteView
    package let channel: ByteView
    package let data: ByteView
    /// Number of bytes before the data's text if both names come first; 0 in the other order.
    package let head: Int
  }

  private let protocolPrefix: NameBeginning
  private let readsEncrypted: Bool

  /// - Parameters:
  ///   - protocolPrefix: Prefix of the service's own events, of which 8 bytes count. If it is
  ///     empty, every message takes the general path.
  ///   - readsEncrypted: True to read only the events of encrypted channels; false for all others.
  package init(protocolPrefix: String, readsEncrypted: Bool = false) {
    self.protocolPrefix = NameBeginning(protocolPrefix)
    self.readsEncrypted = readsEncrypted
  }

  /// Returns the parts, valid until the message or `buffer` changes; `nil` for the general path.
  ///
  /// Overwrites `buffer`, and changes the byte after the message for a moment.
  package func read(_ message: ByteView, buffer: ByteBuffer) -> Parts? {
    Self.withEnd(of: message, buffer) { cursor in
      guard cursor.isAtEvent else { return nil }
      cursor.skip(10)
      guard !protocolPrefix.begins(cursor.word64()), let event = Self.name(&cursor) else {
        return nil
      }
      var channel = Self.channel(&cursor)
      guard cursor.isAtData else { return nil }
      cursor.skip(9)
      let head = channel == nil ? 0 : unsafe cursor.input - UnsafePointer(message.base)
      guard let data = Self.text(&cursor, in: buffer) else { return nil }
      if channel == nil { channel = Self.channel(&cursor) }
      guard let channel, Self.isEnd(cursor, of: message),
        channel.begins(with: "private-encrypted-") == readsEncrypted
      else { return nil }
      return Parts(event: event, channel: channel, data: data, head: head)
    }
  }

  /// Returns the data of a message that begins like an earlier one; `nil` for ``read(_:buffer:)``.
  ///
  /// `head` is the ``Parts/head`` of the earlier message, which has the same event and channel.
  @inline(__always)
  package func data(of message: ByteView, behind head: Int, buffer: ByteBuffer) -> ByteView? {
    Self.withEnd(of: message, buffer) { cursor in
      cursor.skip(head)
      guard let data = Self.text(&cursor, in: buffer), Self.isEnd(cursor, of: message) else {
        return nil
      }
      return data
    }
  }

  @inline(__always) private static func withEnd<Result>(
    of message: ByteView, _ buffer: ByteBuffer, _ body: (inout FusedCursor) -> Result?
  ) -> Result? {
    buffer.removeAll()
    buffer.reserve(message.count + 32)
    return unsafe message.withNUL { _ in
      var cursor = unsafe FusedCursor(input: message.base, output: buffer.tail)
      return body(&cursor)
    }
  }

  @inline(__always) private static func isEnd(_ cursor: FusedCursor, of message: ByteView) -> Bool {
    unsafe cursor.byte == 0x7D && cursor.input + 1 == UnsafePointer(message.base + message.count)
  }

  /// Steps over `,"channel":"NAME"` if it comes next.
  @inline(__always) private static func channel(_ cursor: inout FusedCursor) -> ByteView? {
    guard cursor.isAtChannel else { return nil }
    cursor.skip(12)
    return name(&cursor)
  }

  /// Steps over a name and its closing quote; `nil` at any escape.
  @inline(__always) private static func name(_ cursor: inout FusedCursor) -> ByteView? {
    let start = unsafe cursor.input
    while cursor.skipPlainRun() {}
    guard cursor.byte == 0x22 else { return nil }
    let count = unsafe cursor.input - start
    cursor.skip(1)
    return unsafe ByteView(base: UnsafeMutablePointer(mutating: start), count: count)
  }

  /// Copies TEXT without its escapes, and steps over its closing quote.
  @inline(__always)
  private static func text(_ cursor: inout FusedCursor, in buffer: ByteBuffer) -> ByteView? {
    guard cursor.copyUnescapedText() else { return nil }
    cursor.skip(1)
    buffer.commit(unsafe cursor.output - buffer.tail)
    return buffer.view
  }
}

/// Prefix of names, as a little-endian word.
private struct NameBeginning {
  private var word: UInt64 = 0
  private var mask: UInt64 = 0

  /// - Parameter text: The first 8 bytes count.
  init(_ text: String) {
    for (index, byte) in text.utf8.prefix(8).enumerated() {
      word |= UInt64(byte) << (index * 8)
      mask |= 0xFF << (index * 8)
    }
  }

  /// Reports whether a name has the prefix; `name` is its first eight bytes.
  @inline(__always) func begins(_ name: UInt64) -> Bool { name & mask == word }
}

/// The keys of the envelope and the quotes after them, as little-endian words.
extension FusedCursor {
  fileprivate var isAtEvent: Bool {
    // `{"event"` and `:"`
    @inline(__always) get { word64() == 0x2274_6E65_7665_227B && word16(8) == 0x223A }
  }

  fileprivate var isAtChannel: Bool {
    // `,"channe` and `l":"`
    @inline(__always) get { word64() == 0x656E_6E61_6863_222C && word32(8) == 0x223A_226C }
  }

  fileprivate var isAtData: Bool {
    // `,"data":` and `"`
    @inline(__always) get { word64() == 0x3A22_6174_6164_222C && peek(8) == 0x22 }
  }
}
