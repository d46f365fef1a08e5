internal import CSystemVectors

/// Finds the ends of lines in an event stream: LF, CR, or both together (HTML section 9.2.5).
enum LineScanner {
  /// Where the first CR or LF stands in `view` at or after `start`; its count when there is none.
  @inline(__always)
  static func lineEnd(in view: ByteView, from start: Int) -> Int {
    var index = start
    while index < view.count {
      // The load may reach into the padding after the view; what it finds there does not count.
      let ends = unsafe pusher_line_ends_32(view.base + index)
      if ends != 0 { return min(index &+ ends.trailingZeroBitCount, view.count) }
      index &+= 32
    }
    return view.count
  }
}
