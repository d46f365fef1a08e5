/// Finds the ends of lines in an event stream: LF, CR, or both together (HTML section 9.2.5).
enum LineScanner {
  /// Where the first CR or LF stands in `view` at or behind `start`; its count when there is none.
  @inline(__always)
  static func lineEnd(in view: ByteView, from start: Int) -> Int {
    var index = start
    while index < view.count {
      // Wide loads may reach into the padding behind the view; what is found there does not count.
      let mask = unsafe lineEnds(
        UnsafeRawPointer(view.base + index).loadUnaligned(as: UInt64.self))
      if mask != 0 { return min(index &+ mask.trailingZeroBitCount &>> 3, view.count) }
      index &+= 8
    }
    return view.count
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
