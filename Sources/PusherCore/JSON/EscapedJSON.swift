/// JSON inside a JSON string, unescaped as it is copied: the usual `data` of a Pusher event.
///
/// `{\"id\":1}` on the wire becomes `{"id":1}` in the line. White space other than the blank and
/// escaped controls are unusual.
enum EscapedQuotes: JSONQuotes {
  static let width: UInt = 2
  static let firstByte: UInt8 = 0x5C

  @inline(__always) static func stand(_ cursor: WindowCursor, _ distance: Int) -> Bool {
    cursor.word16(distance) == 0x225C
  }

  @inline(__always)
  static func endName(_ cursor: WindowCursor) -> Bool { cursor.word32() & 0xFF_FFFF == 0x3A225C }

  @inline(__always) static func isEnd(_ byte: UInt8) -> Bool { byte == 0x22 }

  @inline(__always) static func skipBlanks(_ cursor: inout FusedCursor) {
    while cursor.byte == 0x20 { cursor.skip(1) }
  }

  @inline(__always) static func skipQuote(_ cursor: inout FusedCursor) -> Bool {
    guard cursor.word16() == 0x225C else { return false }
    cursor.skip(2)
    return true
  }

  static func copyStringRest(_ cursor: inout FusedCursor) -> Bool { cursor.copyEscapedString() }
}

extension FusedCursor {
  /// Copies the rest of a string whose quotes are written `\"`.
  fileprivate mutating func copyEscapedString() -> Bool {
    while true {
      copyUnescaped()
      let pair = word16()
      if pair == 0x225C {
        skip(2)
        put(0x22)
        return true
      }
      if pair == 0x5C5C {
        guard copyInnerEscape() else { return false }
      } else if pair == 0x2F5C {
        skip(2)
        put(0x2F)
      } else {
        return false
      }
    }
  }

  /// Copies an escape of the inner string, which begins with two backslashes.
  @inline(__always) private mutating func copyInnerEscape() -> Bool {
    let letter = peek(2)
    switch letter {
    case 0x5C:
      // \\\" and \\\\ and \\\/ : the escaped character is itself escaped in the outer string.
      let escaped = peek(3)
      guard escaped == 0x22 || escaped == 0x5C || escaped == 0x2F else { return false }
      putEscape(escaped)
      skip(4)
      return true
    case 0x6E, 0x74, 0x72, 0x62, 0x66, 0x2F:
      putEscape(letter)
      skip(3)
      return true
    case 0x75: return copyInnerUnicodeEscape()
    default: return false
    }
  }

  /// Copies `\\uXXXX`, or two of them when they are a surrogate pair.
  @inline(__always) private mutating func copyInnerUnicodeEscape() -> Bool {
    guard let unit = hexUnit(3) else { return false }
    if unit & 0xF800 == 0xD800 {
      guard unit < 0xDC00, peek(7) == 0x5C, peek(8) == 0x5C, peek(9) == 0x75,
        let low = hexUnit(10), low & 0xFC00 == 0xDC00
      else { return false }
      copyHexEscape()
    }
    copyHexEscape()
    return true
  }

  @inline(__always) private mutating func copyHexEscape() {
    putEscape(0x75)
    skip(3)
    copyShort(4)
  }
}
