internal import CSystemVectors

/// Searches for ends: functions of places, so that the walk itself stays in registers.
extension JSONWalk {
  /// Returns the first place from `start` on where plain text ends, the bits from there on, and the
  /// place after the last bit.
  @inline(never) static func nextEnd(
    _ view: ByteView, _ start: Int
  ) -> (at: Int, ends: UInt64, known: Int) {
    var block = start
    while block < view.count {
      var ends =
        unsafe UInt64(pusher_string_ends_32(view.base + block))
        | UInt64(pusher_string_ends_32(view.base + block + 32)) &<< 32
      ends |= ~0 << UInt64(truncatingIfNeeded: view.count &- block)
      if ends != 0 {
        let count = ends.trailingZeroBitCount
        return (block &+ count, ends &>> UInt64(truncatingIfNeeded: count), block &+ 64)
      }
      block &+= 64
    }
    return (block, 0, block)
  }

  /// Returns the number of blanks at a place.
  @inline(never) static func blanks(_ view: ByteView, _ start: Int) -> Int {
    var cursor = JSONCursor(view)
    cursor.advance(start)
    cursor.skipWhitespace()
    return cursor.offset &- start
  }

  /// Returns the end of a string, or -1; `start` is at an escape.
  ///
  /// Escapes are checked, because names and texts are decoded later.
  @inline(never) static func end(ofEscaped view: ByteView, _ start: Int) -> Int {
    var cursor = JSONCursor(view)
    cursor.advance(start)
    do throws(JSONError) {
      try cursor.skipStringRest()
      return cursor.offset
    } catch {
      return -1
    }
  }

  /// Returns the end of a value that is not a string, or -1.
  @inline(never) static func end(ofOther view: ByteView, _ start: Int) -> Int {
    let first = unsafe view.base[start]
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      ? end(ofContainer: first, view, start) : end(ofScalar: view, start)
  }

  /// Returns the end of a number or a literal: the place of a comma, a closing bracket or a blank.
  @inline(__always) private static func end(ofScalar view: ByteView, _ start: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var at = start
    while at < view.count {
      let word = unsafe UInt64(
        littleEndian: UnsafeRawPointer(view.base + at).loadUnaligned(as: UInt64.self))
      // The high bits of bytes outside `-` to `9`; exact up to the first of them.
      let others = ((word &- 0x2D &* ones) | (word &+ 0x46 &* ones)) & (0x80 &* ones)
      guard others != 0 else {
        at &+= 8
        continue
      }
      at &+= others.trailingZeroBitCount &>> 3
      if unsafe endsScalar(view.base[at]) { return at }
      // A letter, or the sign of an exponent.
      at &+= 1
    }
    return at
  }

  @inline(__always) private static func endsScalar(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
      || byte <= 0x20
  }

  /// Returns the end of a container, or -1.
  ///
  /// Only brackets of its own kind count: inside it, those of the other kind come in pairs.
  ///
  /// - Parameter depth: 1 if `start` is inside the container, after one of its values.
  @inline(never) static func end(
    ofContainer opening: UInt8, _ view: ByteView, _ start: Int, depth: Int = 0
  ) -> Int {
    var depth = depth
    var strings = StringBits()
    var block = start
    while block < view.count {
      let base = unsafe view.base + block
      let quotes = unsafe strings.quotes(at: base)
      var brackets =
        unsafe StringBits.bits(of: opening, at: base)
        | StringBits.bits(of: opening &+ 2, at: base)
      if brackets != 0 { brackets &= ~strings.inside(quotes) }
      while brackets != 0 {
        let place = block &+ brackets.trailingZeroBitCount
        depth &+= unsafe view.base[place] == opening ? 1 : -1
        if depth == 0 { return place < view.count ? place &+ 1 : -1 }
        brackets &= brackets &- 1
      }
      strings.pass(quotes)
      block &+= 64
    }
    return -1
  }
}
