/// The exclusive-or of a client's payload with a repeated key of four bytes (RFC 6455 section 5.3).
package enum FrameMask {
  /// Masks or unmasks `bytes` in place; `offset` is how far into the payload they begin.
  package static func apply(_ mask: UInt32, to bytes: ByteView, offset: Int = 0) {
    unsafe copy(bytes.raw, to: bytes.base, mask: mask, offset: offset)
  }

  /// Writes `source`, masked, to `target`, which has as much room; both may be the same bytes.
  @inline(__always)
  static func copy(
    _ source: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, mask: UInt32,
    offset: Int = 0
  ) {
    guard let from = source.baseAddress else { return }
    let to = UnsafeMutableRawPointer(target)
    let count = source.count
    let turn = UInt32(offset & 3) &* 8
    let turned = mask &<< turn | (turn == 0 ? 0 : mask &>> (32 &- turn))
    // In memory order, so that the same key serves words and, shifted, single bytes.
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
