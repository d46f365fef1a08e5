/// JSON inside a JSON string, unescaped and validated in one pass: the shape of nearly every Pusher event's `data`.
///
/// `{\"id\":1}` on the wire becomes `{"id":1}` in the line. The functions answer `false` at the first thing that is
/// unusual, valid or not (white space other than the blank, half surrogate pairs, control escapes, nesting deeper than
/// 62); the caller then takes back the output and takes the general path, ``JSONCompactor``.
extension FusedCursor {
  /// Copies one value; the reading position is then at the quote that ends the outer string.
  @inline(__always)
  mutating func copyEscapedValue() -> Bool {
    var window = WindowCursor(self)
    // One bit a level above a sentinel: 1 for an object, 0 for an array.
    var levels: UInt64 = 1
    while true {
      var place: JSONPlace
      (window, levels, place) = WindowCursor.copyEscaped(window, levels)
      if place == .end { break }
      let next: FusedCursor?
      (next, levels, place) = Self.copyRare(window.fused, levels, place)
      guard let next else { return false }
      window.follow(next)
      if place == .end { break }
    }
    self = window.fused
    return true
  }

  /// Copies what is not frequent, and then on to the next value or the end; `nil` for what is unusual.
  @inline(never)
  private static func copyRare(
    _ start: FusedCursor, _ depth: UInt64, _ place: JSONPlace
  ) -> (FusedCursor?, UInt64, JSONPlace) {
    var cursor = start
    var levels = depth
    var place = place
    repeat {
      guard let next = cursor.step(from: place, &levels) else { return (nil, levels, place) }
      place = next
    } while place != .value && place != .end
    return (cursor, levels, place)
  }

  /// Copies what stands at one place; answers at which place the position is then, `nil` for what is unusual.
  private mutating func step(from place: JSONPlace, _ levels: inout UInt64) -> JSONPlace? {
    switch place {
    case .value: return stepValue(&levels)
    case .name: return copyNameRest() ? .value : nil
    case .text: return copyStringRest() ? .behindValue : nil
    case .behindValue: return stepBehindValue(&levels)
    case .end: return nil
    }
  }

  private mutating func stepValue(_ levels: inout UInt64) -> JSONPlace? {
    switch byte {
    case 0x5C:
      return copyEscapedString() ? .behindValue : nil
    case 0x7B:
      guard openContainer(&levels, bit: 1) else { return nil }
      guard byte != 0x7D else { return .behindValue }
      return copyName() ? .value : nil
    case 0x5B:
      guard openContainer(&levels, bit: 0) else { return nil }
      return byte == 0x5D ? .behindValue : .value
    case 0x20:
      skip(1)
      return .value
    case 0x74, 0x66, 0x6E:
      return copyLiteral() ? .behindValue : nil
    default:
      // The letter of a second exponent must not be taken for one of a number that was copied without it.
      return copyNumber() && byte | 0x20 != 0x65 ? .behindValue : nil
    }
  }

  private mutating func stepBehindValue(_ levels: inout UInt64) -> JSONPlace? {
    if byte | 0x20 == 0x65 {
      guard peek(-1) &- 0x30 < 10, copyExponent(), byte | 0x20 != 0x65 else { return nil }
      return .behindValue
    }
    if levels == 1 { return byte == 0x22 ? .end : nil }
    switch byte {
    case 0x2C:
      put(0x2C)
      skip(1)
      if levels & 1 == 0 { return .value }
      return copyName() ? .value : nil
    case 0x20:
      skip(1)
    default:
      guard byte == (levels & 1 == 1 ? 0x7D : 0x5D) else { return nil }
      put(byte)
      skip(1)
      levels &>>= 1
    }
    return .behindValue
  }

  @inline(__always)
  private mutating func openContainer(_ levels: inout UInt64, bit: UInt64) -> Bool {
    guard levels &>> 62 == 0 else { return false }
    levels = levels &<< 1 | bit
    put(byte)
    skip(1)
    while byte == 0x20 { skip(1) }
    return true
  }

  private mutating func copyName() -> Bool {
    while byte == 0x20 { skip(1) }
    guard word16() == 0x225C else { return false }
    skip(2)
    put(0x22)
    return copyNameRest()
  }

  /// Copies a name behind its opening quote, and the colon.
  private mutating func copyNameRest() -> Bool {
    guard copyStringRest() else { return false }
    while byte == 0x20 { skip(1) }
    guard byte == 0x3A else { return false }
    put(0x3A)
    skip(1)
    return true
  }

  /// Copies a string whose quotes are written `\"`.
  private mutating func copyEscapedString() -> Bool {
    guard word16() == 0x225C else { return false }
    skip(2)
    put(0x22)
    return copyStringRest()
  }

  /// Copies a string behind its opening quote.
  private mutating func copyStringRest() -> Bool {
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

  /// Copies an escape of the inner string; the position is at the two backslashes that stand for its one.
  @inline(__always)
  private mutating func copyInnerEscape() -> Bool {
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
    case 0x75:
      return copyInnerUnicodeEscape()
    default:
      return false
    }
  }

  /// Copies `\\uXXXX`, or two of them when they are a surrogate pair.
  @inline(__always)
  private mutating func copyInnerUnicodeEscape() -> Bool {
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

  @inline(__always)
  private mutating func copyHexEscape() {
    putEscape(0x75)
    skip(3)
    copyShort(4)
  }

  /// The value of four hexadecimal digits; stops at the first other byte, so it never looks past the NUL.
  @inline(__always)
  func hexUnit(_ distance: Int) -> UInt16? {
    var unit: UInt16 = 0
    for index in 0..<4 {
      guard let digit = Hex.value(of: peek(distance &+ index)) else { return nil }
      unit = unit &<< 4 | UInt16(truncatingIfNeeded: digit)
    }
    return unit
  }

  @inline(__always)
  mutating func copyLiteral() -> Bool {
    let word = word32()
    if word == 0x6575_7274 || word == 0x6C6C_756E {
      copyShort(4)
      return true
    }
    guard word == 0x736C_6166, peek(4) == 0x65 else { return false }
    copyShort(5)
    return true
  }

  @inline(__always)
  mutating func copyNumber() -> Bool {
    if byte == 0x2D {
      put(0x2D)
      skip(1)
    }
    let leadingZero = byte == 0x30
    guard let count = copyDigits(), !leadingZero || count == 1 else { return false }
    if byte == 0x2E {
      put(0x2E)
      skip(1)
      guard copyDigits() != nil else { return false }
    }
    return byte | 0x20 != 0x65 || copyExponent()
  }

  /// Copies an exponent; the position is at its letter.
  @inline(__always)
  private mutating func copyExponent() -> Bool {
    put(byte)
    skip(1)
    if byte == 0x2B || byte == 0x2D {
      put(byte)
      skip(1)
    }
    return copyDigits() != nil
  }

  /// Copies one digit or more; answers how many, `nil` for none.
  @inline(__always)
  private mutating func copyDigits() -> Int? {
    var count = copyDigitRun()
    guard count > 0 else { return nil }
    var last = count
    while last == 8 {
      last = copyDigitRun()
      count &+= last
    }
    return count
  }
}

/// Where in JSON a reading position stands.
enum JSONPlace {
  /// At the first byte of a value.
  case value
  /// In a member's name, behind its opening quote.
  case name
  /// In a string that is a value, behind its opening quote.
  case text
  /// Behind a value.
  case behindValue
  /// Behind the outermost value.
  case end
}
