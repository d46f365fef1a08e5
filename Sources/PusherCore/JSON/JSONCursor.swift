internal import CSystemVectors

/// A reading position in JSON text, with the checks that all readers share.
///
/// Bytes after the view never count. The text must be UTF-8; the receiver has checked it.
struct JSONCursor {
  let view: ByteView
  private(set) var offset = 0

  init(_ view: ByteView) { self.view = view }

  var atEnd: Bool { offset >= view.count }

  /// The byte at the position, or 0 at the end: NUL is not part of the grammar.
  var byte: UInt8 { @inline(__always) get { offset < view.count ? unsafe view.base[offset] : 0 } }

  @inline(__always) func peek(_ distance: Int) -> UInt8 {
    offset + distance < view.count ? unsafe view.base[offset + distance] : 0
  }

  @inline(__always) mutating func advance(_ count: Int = 1) { offset += count }

  var failure: JSONError { atEnd ? .endsEarly : .unexpected(offset: offset) }

  mutating func skipWhitespace() {
    while true {
      switch byte {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  mutating func require(_ expected: UInt8) throws(JSONError) {
    guard byte == expected, !atEnd else { throw failure }
    offset += 1
  }

  mutating func requireEnd() throws(JSONError) {
    skipWhitespace()
    guard atEnd else { throw failure }
  }

  mutating func skipLiteral() throws(JSONError) {
    let rest = view[offset..<view.count]
    if rest.begins(with: "true") || rest.begins(with: "null") {
      offset += 4
    } else if rest.begins(with: "false") {
      offset += 5
    } else {
      throw failure
    }
  }

  /// Follows RFC 8259 section 6: no leading zeros, no bare point, no plus sign.
  mutating func skipNumber() throws(JSONError) {
    if byte == UInt8(ascii: "-") { offset += 1 }
    if byte == UInt8(ascii: "0") { offset += 1 } else { try skipDigits() }
    if byte == UInt8(ascii: ".") {
      offset += 1
      try skipDigits()
    }
    if byte | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { offset += 1 }
      try skipDigits()
    }
  }

  private mutating func skipDigits() throws(JSONError) {
    let first = offset
    while byte &- 0x30 < 10 { offset += 1 }
    guard offset > first else { throw failure }
  }

  /// Returns the range between the quotes, escapes untouched.
  mutating func skipString() throws(JSONError) -> Range<Int> {
    try require(UInt8(ascii: "\""))
    let first = offset
    try skipStringRest()
    return first..<(offset - 1)
  }

  /// Skips the rest of a string and its closing quote.
  @inline(__always) mutating func skipStringRest() throws(JSONError) {
    while true {
      offset += plainRun()
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return
      case UInt8(ascii: "\\"): try skipEscape()
      default: throw failure
      }
    }
  }

  /// Returns the number of plain string bytes from here: no quote, backslash or control character.
  @inline(__always) func plainRun() -> Int {
    let rest = view.count - offset
    var length = 0
    while length < rest {
      // The load may reach into the padding after the view, which does not count.
      let ends = unsafe pusher_string_ends_32(view.base + offset + length)
      if ends != 0 { return min(length + ends.trailingZeroBitCount, rest) }
      length += 32
    }
    return max(rest, 0)
  }

  private mutating func skipEscape() throws(JSONError) {
    switch peek(1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      offset += 2
    case UInt8(ascii: "u"):
      guard hexUnit(at: 2) != nil else { throw failure }
      offset += 6
    default: throw failure
    }
  }

  func hexUnit(at distance: Int) -> UInt16? {
    var unit: UInt16 = 0
    for index in 0..<4 {
      guard let digit = Hex.value(of: peek(distance + index)) else { return nil }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }

  /// Returns the scalar of a `\u` escape and its length: 6 bytes, or 12 for a pair.
  ///
  /// The scalar is `nil` for half a surrogate pair, which UTF-8 cannot hold.
  func unicodeEscape() -> (scalar: Unicode.Scalar?, length: Int) {
    guard let unit = hexUnit(at: 2) else { return (nil, 6) }
    if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
    guard unit < 0xDC00, peek(6) == UInt8(ascii: "\\"), peek(7) == UInt8(ascii: "u"),
      let low = hexUnit(at: 8), 0xDC00...0xDFFF ~= low
    else { return (nil, 6) }
    let value = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
    return (Unicode.Scalar(value), 12)
  }
}
