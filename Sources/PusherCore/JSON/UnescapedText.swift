internal import CSystemVectors

extension FusedCursor {
  /// Copies up to the closing quote and stops there; resolves the escapes `\"`, `\\` and `\/`.
  ///
  /// Returns `false` at any other escape, and at a control. The position is after an opening quote.
  ///
  /// The end of the text comes from a block's bits, which do not wait for earlier escapes: a load
  /// at each escape's end would. A backslash is left out, and the letter after it begins the next
  /// run. The promises of ``FusedCursor`` hold:
  /// 1. A block begins at or before the NUL, because the NUL's bit ends the text and no block
  ///    follows. So its 64 bytes end with the padding at the latest. Bits after the NUL are never
  ///    used.
  /// 2. A run's copy begins at or before the NUL. It loads 32 bytes at a time: the first load
  ///    begins at the run's end at the latest, all others before it.
  /// 3. So a store ends at most 32 bytes after the kept bytes, which are no longer than the input.
  @inline(__always) mutating func copyUnescapedText() -> Bool {
    var block = unsafe input
    // Bit of a block's first byte, if an escape began in the block before.
    var letters: UInt64 = 0
    while true {
      var ends =
        unsafe UInt64(pusher_string_ends_32(block)) | UInt64(pusher_string_ends_32(block + 32))
        &<< 32
      ends &= ~letters
      while ends != 0 {
        let place = ends.trailingZeroBitCount
        unsafe copyRun(to: block + place)
        if word16() == 0x225C {
          // The bits of the backslash and, within the block, of the quote.
          ends &= ends &- 1
          ends &= ends &- 1
        } else {
          guard byte == 0x5C else { return byte == 0x22 }
          guard peek(1) == 0x5C || peek(1) == 0x2F else { return false }
          ends &= ~(3 &<< UInt64(place))
        }
        skip(1)
      }
      // Only a backslash in the block's last place leads to the start of the next block.
      letters = unsafe input == block + 64 ? 1 : 0
      unsafe block += 64
    }
  }

  @inline(__always) private mutating func copyRun(to end: UnsafePointer<UInt8>) {
    let count = unsafe end - input
    copyBlock(0)
    if count > 32 {
      var done = 32
      while done < count {
        copyBlock(done)
        done &+= 32
      }
    }
    unsafe input = end
    unsafe output += count
  }

  @inline(__always) private func copyBlock(_ distance: Int) {
    let block = unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: SIMD32<UInt8>.self)
    unsafe UnsafeMutableRawPointer(output + distance).storeBytes(of: block, as: SIMD32<UInt8>.self)
  }
}
