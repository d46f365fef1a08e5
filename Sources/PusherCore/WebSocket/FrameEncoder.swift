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
      unsafe FrameMask.copy(payload, to: output.tail, mask: mask)
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
}

/// Masks payloads: exclusive-or with a repeated key of four bytes (RFC 6455 section 5.3).
package enum FrameMask {
  /// The bytes begin `offset` bytes into the payload.
  package static func apply(_ mask: UInt32, to bytes: ByteView, offset: Int = 0) {
    unsafe copy(bytes.raw, to: bytes.base, mask: mask, offset: offset)
  }

  /// The target has the size of `source`, and may be the same memory.
  @inline(__always) static func copy(
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
