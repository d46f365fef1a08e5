/// The first 2 to 14 bytes of a frame (RFC 6455 section 5.2).
package struct FrameHeader: Sendable, Equatable {
  package let opcode: Opcode
  package let isFinal: Bool
  /// RSV1, which permessage-deflate defines.
  package let isCompressed: Bool
  /// The masking key; its first byte on the wire is the highest.
  package let mask: UInt32?
  /// Size of the payload, in bytes.
  package let length: Int
  /// Size of the header itself, in bytes.
  package let size: Int

  /// Reads the header at the front of `bytes`; `nil` if it is incomplete.
  ///
  /// Throws for errors in every role and state: reserved bits 2 and 3, unknown opcodes, long or
  /// fragmented control frames, and lengths not in their shortest form.
  package static func decode(_ bytes: ByteView) throws(WebSocketError) -> FrameHeader? {
    guard bytes.count >= 2 else { return nil }
    let first = bytes[0]
    let second = bytes[1]
    let isFinal = first & 0x80 != 0
    let short = Int(second & 0x7F)
    guard first & 0x30 == 0 else { throw .reservedBits }
    guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .unknownOpcode(first & 0x0F) }
    if opcode.isControl {
      guard isFinal else { throw .fragmentedControlFrame }
      guard short <= 125 else { throw .controlFrameTooLong }
      guard first & 0x40 == 0 else { throw .reservedBits }
    }
    let lengthSize = short == 127 ? 8 : short == 126 ? 2 : 0
    let maskSize = second & 0x80 != 0 ? 4 : 0
    let size = 2 + lengthSize + maskSize
    // The length is checked before the mask arrives, so that a bad one is rejected early.
    guard bytes.count >= 2 + lengthSize else { return nil }
    let length = lengthSize == 0 ? UInt64(short) : bigEndian(bytes[2..<2 + lengthSize])
    guard length >> 63 == 0 else { throw .lengthOutOfRange }
    guard lengthSize == 0 || length >= (lengthSize == 2 ? 126 : 65_536) else {
      throw .lengthNotMinimal
    }
    guard bytes.count >= size else { return nil }
    let mask = maskSize == 0 ? nil : UInt32(bigEndian(bytes[size - 4..<size]))
    return FrameHeader(
      opcode: opcode, isFinal: isFinal, isCompressed: first & 0x40 != 0, mask: mask,
      length: Int(length), size: size)
  }

  private static func bigEndian(_ bytes: ByteView) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<bytes.count { value = value << 8 | UInt64(bytes[index]) }
    return value
  }
}

/// The kind of a frame (RFC 6455 section 5.2); four bits.
package enum Opcode: UInt8, Sendable {
  case continuation = 0
  case text
  case binary
  case close = 8
  case ping
  case pong

  package var isControl: Bool { rawValue & 8 != 0 }
}
