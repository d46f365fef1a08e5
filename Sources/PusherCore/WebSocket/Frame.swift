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

/// Writes frames (RFC 6455 section 5.2), with the shortest form of each length.
package enum FrameEncoder {
  /// Appends one frame with the bytes of a view, which must not lie in `output`.
  ///
  /// A server passes no mask; a client a fresh, unpredictable one for each frame (section 5.3). A
  /// frame without a mask can be written once and sent to many clients.
  package static func frame(
    _ opcode: Opcode, payload: ByteView, isFinal: Bool = true, isCompressed: Bool = false,
    mask: UInt32?, into output: ByteBuffer
  ) {
    unsafe frame(
      opcode, payload: payload.raw, isFinal: isFinal, isCompressed: isCompressed, mask: mask,
      into: output)
  }

  package static func frame(
    _ opcode: Opcode, payload: [UInt8], isFinal: Bool = true, isCompressed: Bool = false,
    mask: UInt32?, into output: ByteBuffer
  ) {
    unsafe payload.withUnsafeBytes { bytes in
      unsafe frame(
        opcode, payload: bytes, isFinal: isFinal, isCompressed: isCompressed, mask: mask,
        into: output)
    }
  }

  static func frame(
    _ opcode: Opcode, payload: UnsafeRawBufferPointer, isFinal: Bool = true,
    isCompressed: Bool = false, mask: UInt32?, into output: ByteBuffer
  ) {
    let count = payload.count
    output.reserve(count &+ 14)
    let first = opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0)
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    output.append(first)
    if count <= 125 {
      output.append(maskBit | UInt8(count))
    } else if count <= 65_535 {
      output.append(maskBit | 126)
      append(UInt64(count), bytes: 2, to: output)
    } else {
      output.append(maskBit | 127)
      append(UInt64(count), bytes: 8, to: output)
    }
    guard let start = payload.baseAddress else {
      if let mask { append(UInt64(mask), bytes: 4, to: output) }
      return
    }
    if let mask {
      append(UInt64(mask), bytes: 4, to: output)
      unsafe copy(payload, to: output.tail, mask: mask)
    } else {
      unsafe UnsafeMutableRawPointer(output.tail).copyMemory(from: start, byteCount: count)
    }
    output.commit(count)
  }

  private static func append(_ value: UInt64, bytes: Int, to output: ByteBuffer) {
    for index in (0..<bytes).reversed() {
      output.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8)))
    }
  }

  // MARK: Masks

  /// Masks or unmasks bytes in place: exclusive-or with a repeated key (RFC 6455 section 5.3).
  ///
  /// The bytes begin `offset` bytes into the payload.
  package static func apply(_ mask: UInt32, to bytes: ByteView, offset: Int = 0) {
    unsafe copy(bytes.raw, to: bytes.base, mask: mask, offset: offset)
  }

  /// The target has the size of `source`, and may be the same memory.
  @inline(__always) private static func copy(
    _ source: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, mask: UInt32,
    offset: Int = 0
  ) {
    guard let from = source.baseAddress else { return }
    let to = UnsafeMutableRawPointer(target)
    let count = source.count
    let turn = UInt32(offset & 3) &* 8
    let turned = mask &<< turn | (turn == 0 ? 0 : mask &>> (32 &- turn))
    // Memory order, so that the same key serves words and, shifted, single bytes.
    let key = turned.bigEndian
    let wide = UInt64(key) | UInt64(key) << 32
    var index = 0
    while index &+ 8 <= count {
      let word = unsafe from.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      unsafe to.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
      index &+= 8
    }
    var rest = UInt64(littleEndian: wide)
    while index < count {
      let byte = unsafe from.load(fromByteOffset: index, as: UInt8.self)
      unsafe to.storeBytes(
        of: byte ^ UInt8(truncatingIfNeeded: rest), toByteOffset: index, as: UInt8.self)
      rest &>>= 8
      index &+= 1
    }
  }
}
