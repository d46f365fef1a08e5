/// Finds the ends of lines in an event stream: LF, CR, or both together (HTML section 9.2.5).
enum LineScanner {
  /// Where the first CR or LF stands in `view` at or after `start`; its count when there is none.
  @inline(__always)
  static func lineEnd(in view: ByteView, from start: Int) -> Int {
    var index = start
    while index < view.count {
      // Wide loads may reach into the padding after the view; matches there do not count.
      let bytes = unsafe UnsafeRawPointer(view.base + index)
      let first = unsafe bytes.loadUnaligned(as: UInt64.self)
      let second = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      let third = unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
      let fourth = unsafe bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
      if low(first) | low(second) | low(third) | low(fourth) != 0 {
        if let end = lineEnd(first, at: index, view) { return end }
        if let end = lineEnd(second, at: index &+ 8, view) { return end }
        if let end = lineEnd(third, at: index &+ 16, view) { return end }
        if let end = lineEnd(fourth, at: index &+ 24, view) { return end }
      }
      index &+= 32
    }
    return view.count
  }

  @inline(__always)
  private static func lineEnd(_ word: UInt64, at index: Int, _ view: ByteView) -> Int? {
    let mask = lineEnds(word)
    return mask == 0 ? nil : min(index &+ mask.trailingZeroBitCount &>> 3, view.count)
  }

  /// Not zero when a byte is below 0x10, which is mostly a line's end; cheaper than a test for CR and LF.
  @inline(__always)
  private static func low(_ word: UInt64) -> UInt64 {
    (word &- 0x1010_1010_1010_1010) & ~word & 0x8080_8080_8080_8080
  }

  /// The high bit of each byte that is CR or LF.
  ///
  /// The lowest set bit is exact; bits above it may be false alarms of the borrow, so only the first counts.
  @inline(__always)
  private static func lineEnds(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let lineFeeds = word ^ (ones &* 0x0A)
    let returns = word ^ (ones &* 0x0D)
    return ((lineFeeds &- ones) & ~lineFeeds | (returns &- ones) & ~returns)
      & 0x8080_8080_8080_8080
  }
}
