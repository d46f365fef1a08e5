/// A fast reading position in JSON: it finds the ends of strings, values and containers, and checks
/// little else.
///
/// It keeps the quotes, backslashes and controls of the next bytes as bits, so that the end of a
/// string costs a count and a shift.
///
/// Other text is harmless. A walk may read bytes after the view, but never succeeds there:
/// 1. A load of bits begins inside the view, so it ends with the view's padding. All bits after the
///    view are set, so that the position stays there.
/// 2. Each part of a container begins inside the view. From there the position moves past the view
///    by at most 16 bytes and reads 8, and the padding has 64.
@safe struct JSONWalk {
  let view: ByteView
  private(set) var at: Int
  /// One bit for each byte from the position on that ends plain text.
  private var ends: UInt64 = 0
  /// The place after the last byte with a bit.
  private var known = 0

  init(_ view: ByteView, at: Int = 0) { (self.view, self.at) = (view, at) }

  var atEnd: Bool { @inline(__always) get { at >= view.count } }

  var byte: UInt8 { @inline(__always) get { unsafe view.base[at] } }

  /// The byte at the position and the next three, as a little-endian number.
  var word: UInt32 {
    @inline(__always) get {
      unsafe UInt32(littleEndian: UnsafeRawPointer(view.base + at).loadUnaligned(as: UInt32.self))
    }
  }

  @inline(__always) mutating func advance(_ count: Int = 1) {
    at &+= count
    ends >>= UInt64(truncatingIfNeeded: count)
  }

  /// Moves on to a place; returns false for a negative number.
  @inline(__always) mutating func move(to place: Int) -> Bool {
    guard place >= 0 else { return false }
    advance(place &- at)
    return true
  }

  @inline(__always) mutating func pass(_ expected: UInt8) -> Bool {
    guard byte == expected else { return false }
    advance()
    return true
  }

  @inline(__always) mutating func passBlanks() {
    if byte <= 0x20 { advance(Self.blanks(view, at)) }
  }

  /// Stops at the next quote, backslash or control, or at the end.
  @inline(__always) mutating func passPlainText() {
    guard ends != 0 else {
      (at, ends, known) = Self.nextEnd(view, max(at, known))
      return
    }
    let count = ends.trailingZeroBitCount
    at &+= count
    ends &>>= UInt64(truncatingIfNeeded: count)
  }

  /// Steps over the rest of a string, from a place where plain text ends.
  @inline(__always) mutating func passTextEnd() -> Bool {
    pass(UInt8(ascii: "\"")) || move(to: Self.end(ofEscaped: view, at))
  }

  /// Steps over the value at the position.
  @inline(__always) mutating func passValue() -> Bool {
    guard pass(UInt8(ascii: "\"")) else { return move(to: Self.end(ofOther: view, at)) }
    passPlainText()
    return passTextEnd()
  }
}
