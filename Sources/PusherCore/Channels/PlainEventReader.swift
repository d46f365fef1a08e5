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
      guard cursor.word64() == EnvelopeWord.eventKey, cursor.word16(8) == EnvelopeWord.colonQuote
      else { return nil }
      cursor.skip(10)
      guard !protocolPrefix.begins(cursor.word64()), let event = Self.name(&cursor) else {
        return nil
      }
      var channel = Self.channel(&cursor)
      guard cursor.word64() == EnvelopeWord.dataKey, cursor.peek(8) == 0x22 else { return nil }
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
    guard cursor.word64() == EnvelopeWord.channelKey, cursor.word32(8) == EnvelopeWord.channelKeyEnd
    else { return nil }
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
struct NameBeginning {
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

/// Parts of the envelope, as little-endian words.
enum EnvelopeWord {
  // `{"event"`
  static let eventKey: UInt64 = 0x2274_6E65_7665_227B
  // `:"`
  static let colonQuote: UInt16 = 0x223A
  // `,"channe`
  static let channelKey: UInt64 = 0x656E_6E61_6863_222C
  // `l":"`
  static let channelKeyEnd: UInt32 = 0x223A_226C
  // `,"data":`
  static let dataKey: UInt64 = 0x3A22_6174_6164_222C
}
