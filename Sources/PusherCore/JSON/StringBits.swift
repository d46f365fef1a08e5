internal import CSystemVectors

/// Tells which bytes are inside strings, for one block of 64 bytes after the other.
struct StringBits {
  /// All bits are set if the block begins inside a string.
  private var isInside: UInt64 = 0
  /// 1 if the first byte is the second one of an escape.
  private var carriedEscape: UInt64 = 0

  /// Returns the quotes of a block that begin or end strings.
  @inline(__always) mutating func quotes(at base: UnsafeMutablePointer<UInt8>) -> UInt64 {
    let backslashes = unsafe Self.bits(of: UInt8(ascii: "\\"), at: base)
    let quotes = unsafe Self.bits(of: UInt8(ascii: "\""), at: base)
    return backslashes | carriedEscape == 0 ? quotes : quotes & ~escaped(by: backslashes)
  }

  /// Returns the bytes after backslashes that are not escaped themselves.
  private mutating func escaped(by backslashes: UInt64) -> UInt64 {
    var escaped = carriedEscape
    var left = backslashes & ~carriedEscape
    carriedEscape = 0
    while left != 0 {
      let place = UInt64(truncatingIfNeeded: left.trailingZeroBitCount)
      escaped |= 2 &<< place
      left &= ~(3 &<< place)
      if place == 63 { carriedEscape = 1 }
    }
    return escaped
  }

  /// Returns the bytes from each opening quote up to its closing quote.
  @inline(__always) func inside(_ quotes: UInt64) -> UInt64 {
    // Each bit becomes the parity of the quotes up to it.
    var bits = quotes
    for distance in [1, 2, 4, 8, 16, 32] as [UInt64] { bits ^= bits &<< distance }
    return bits ^ isInside
  }

  /// Goes on to the next block.
  @inline(__always) mutating func pass(_ quotes: UInt64) {
    if quotes.nonzeroBitCount & 1 != 0 { isInside = ~isInside }
  }

  /// Returns one bit for each `byte` in a block.
  @inline(__always) static func bits(
    of byte: UInt8, at base: UnsafeMutablePointer<UInt8>
  ) -> UInt64 {
    unsafe UInt64(pusher_matches_32(base, byte)) | UInt64(pusher_matches_32(base + 32, byte)) &<< 32
  }
}
