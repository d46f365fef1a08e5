internal import CSystemVectors

/// The text of a JSON string without its escapes, a block of 64 bytes after the other.
extension FusedCursor {
  /// Copies up to the closing quote, where the reading position then is; of the escapes, those of quote, backslash and
  /// slash.
  ///
  /// Answers `false` at any other escape, and at a control. The position must be behind an opening quote.
  ///
  /// Where the text ends is read off a block's bits, which do not wait for the escapes before: a load at each escape's end
  /// would. A backslash is left out, and the letter after it begins the next run. The promises of ``FusedCursor`` hold:
  /// 1. A block begins at or before the NUL, for the NUL's bit ends the text, and there is no block after it. So its 64
  ///    bytes end with the padding at the latest. Bits of bytes behind the NUL are never looked at.
  /// 2. A run's copy begins at or before the NUL and loads 32 bytes at a time, each begun before the run's end, except
  ///    the first, which is begun at that end at the latest.
  /// 3. So a store ends at most 32 bytes behind what is kept, and what is kept is no longer than what was read.
  @inline(__always)
  mutating func copyUnescapedText() -> Bool {
    var block = unsafe input
    // The bit of a block's first byte, when that is the letter of an escape which the block before began.
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
      // Only a backslash in the block's last place is stepped over up to the next block.
      letters = unsafe input == block + 64 ? 1 : 0
      unsafe block += 64
    }
  }

  /// Copies all bytes before `end`.
  @inline(__always)
  private mutating func copyRun(to end: UnsafePointer<UInt8>) {
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

  /// Copies 32 bytes and stays.
  @inline(__always)
  private func copyBlock(_ distance: Int) {
    let block = unsafe UnsafeRawPointer(input + distance).loadUnaligned(as: SIMD32<UInt8>.self)
    unsafe UnsafeMutableRawPointer(output + distance).storeBytes(of: block, as: SIMD32<UInt8>.self)
  }
}
