/// The first 2 to 14 bytes of a frame (RFC 6455 section 5.2).
package struct FrameHeader: Sendable, Equatable {
  package let opcode: Opcode
  /// Whether the frame ends its message.
  package let isFinal: Bool
  /// RSV1, which permessage-deflate defines.
  package let isCompressed: Bool
  /// The masking key, first byte on the wire highest.
  package let mask: UInt32?
  /// Bytes of payload.
  package let length: Int
  /// Bytes of the header itself.
  package let size: Int

  /// The header at the front of `bytes`; `nil` when it is not whole yet.
  ///
  /// Throws for what is wrong in every role and state: reserved bits 2 and 3, opcodes, control frames that are
  /// long or fragmented, and lengths not in their shortest form.
  package static func decode(_ bytes: ByteView) throws(WebSocketError) -> FrameHeader? {
    guard bytes.count >= 2 else { return nil }
    let first = bytes[0]
    let second = bytes[1]
    let opcode = Opcode(rawValue: first & 0x0F)
    let isFinal = first & 0x80 != 0
    let short = Int(second & 0x7F)
    guard first & 0x30 == 0 else { throw .reservedBits }
    guard opcode.isKnown else { throw .unknownOpcode(opcode.rawValue) }
    if opcode.isControl {
      guard isFinal else { throw .fragmentedControlFrame }
      guard short <= 125 else { throw .controlFrameTooLong }
      guard first & 0x40 == 0 else { throw .reservedBits }
    }
    let lengthSize = short == 127 ? 8 : short == 126 ? 2 : 0
    let maskSize = second & 0x80 != 0 ? 4 : 0
    let size = 2 + lengthSize + maskSize
    // The length is judged before the mask has come, so that a bad one is refused as early as can be.
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
package struct Opcode: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let continuation = Opcode(rawValue: 0)
  package static let text = Opcode(rawValue: 1)
  package static let binary = Opcode(rawValue: 2)
  package static let close = Opcode(rawValue: 8)
  package static let ping = Opcode(rawValue: 9)
  package static let pong = Opcode(rawValue: 10)

  /// Whether it is a control frame, which is not part of a message.
  package var isControl: Bool { rawValue & 8 != 0 }

  /// Whether the RFC defines it.
  package var isKnown: Bool { rawValue <= 2 || (8...10).contains(rawValue) }
}
