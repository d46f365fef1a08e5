/// Copies and validates JSON in one pass: frequent shapes by a ``WindowCursor``, others by tokens.
///
/// The functions return `false` at the first unusual thing, valid or not (half surrogate pairs,
/// nesting deeper than 62). The caller then drops the output and uses ``JSONCompactor``.
extension FusedCursor {
  /// Copies one value inside a JSON string; stops at the quote that ends the string.
  @inline(__always) mutating func copyEscapedValue() -> Bool { copyValue(EscapedQuotes.self) }

  @inline(__always) mutating func copyPlainValue() -> Bool {
    guard copyValue(PlainQuotes.self) else { return false }
    PlainQuotes.skipBlanks(&self)
    return true
  }

  @inline(__always)
  private mutating func copyValue<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    var window = WindowCursor(self)
    // One bit per level above a sentinel: 1 for an object, 0 for an array.
    var levels: UInt64 = 1
    while true {
      var place: JSONPlace
      (window, levels, place) = WindowCursor.copyFrequent(quotes, window, levels)
      if place == .end { break }
      let next: FusedCursor?
      (next, levels, place) = Self.copyRare(quotes, window.fused, levels, place)
      guard let next else { return false }
      window.follow(next)
      if place == .end { break }
    }
    self = window.fused
    return true
  }

  /// Copies a rare token, and on to the next value or the end; `nil` for unusual JSON.
  @inline(never) private static func copyRare<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ start: FusedCursor, _ depth: UInt64, _ place: JSONPlace
  ) -> (FusedCursor?, UInt64, JSONPlace) {
    var cursor = start
    var levels = depth
    var place = place
    repeat {
      guard let next = cursor.step(quotes, from: place, &levels) else {
        return (nil, levels, place)
      }
      place = next
    } while place != .value && place != .end
    return (cursor, levels, place)
  }

  private mutating func step<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, from place: JSONPlace, _ levels: inout UInt64
  ) -> JSONPlace? {
    switch place {
    case .value: return stepValue(quotes, &levels)
    case .name: return copyNameRest(quotes) ? .value : nil
    case .text: return Quotes.copyStringRest(&self) ? .behindValue : nil
    case .behindValue: return stepBehindValue(quotes, &levels)
    case .end: return nil
    }
  }

  private mutating func stepValue<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace? {
    Quotes.skipBlanks(&self)
    switch byte {
    case Quotes.firstByte:
      return copyQuote(quotes) && Quotes.copyStringRest(&self) ? .behindValue : nil
    case 0x7B:
      guard openContainer(quotes, &levels, bit: 1) else { return nil }
      guard byte != 0x7D else { return .behindValue }
      return copyName(quotes) ? .value : nil
    case 0x5B:
      guard openContainer(quotes, &levels, bit: 0) else { return nil }
      return byte == 0x5D ? .behindValue : .value
    case 0x74, 0x66, 0x6E: return copyLiteral() ? .behindValue : nil
    default:
      // The letter of a second exponent must not be taken for one of a number copied without it.
      return copyNumber() && byte | 0x20 != 0x65 ? .behindValue : nil
    }
  }

  private mutating func stepBehindValue<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace? {
    if byte | 0x20 == 0x65 {
      guard peek(-1) &- 0x30 < 10, copyExponent(), byte | 0x20 != 0x65 else { return nil }
      return .behindValue
    }
    if levels == 1 { return Quotes.isEnd(byte) ? .end : nil }
    Quotes.skipBlanks(&self)
    if byte == 0x2C {
      put(0x2C)
      skip(1)
      if levels & 1 == 0 { return .value }
      return copyName(quotes) ? .value : nil
    }
    guard byte == (levels & 1 == 1 ? 0x7D : 0x5D) else { return nil }
    put(byte)
    skip(1)
    levels &>>= 1
    return .behindValue
  }

  @inline(__always) private mutating func openContainer<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64, bit: UInt64
  ) -> Bool {
    guard levels &>> 62 == 0 else { return false }
    levels = levels &<< 1 | bit
    put(byte)
    skip(1)
    Quotes.skipBlanks(&self)
    return true
  }

  @inline(__always)
  private mutating func copyQuote<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    guard Quotes.skipQuote(&self) else { return false }
    put(0x22)
    return true
  }

  private mutating func copyName<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    Quotes.skipBlanks(&self)
    return copyQuote(quotes) && copyNameRest(quotes)
  }

  private mutating func copyNameRest<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    guard Quotes.copyStringRest(&self) else { return false }
    Quotes.skipBlanks(&self)
    guard byte == 0x3A else { return false }
    put(0x3A)
    skip(1)
    return true
  }
}

extension FusedCursor {
  /// Copies text up to the first byte that a JSON string must escape, or the NUL after it.
  @inline(__always)
  mutating func copyUnescaped() {
    while copyPlainRun() {}
  }

  /// Stops at the first byte that is not a hexadecimal digit, so it never looks past the NUL.
  @inline(__always) func hexUnit(_ distance: Int) -> UInt16? {
    var unit: UInt16 = 0
    for index in 0..<4 {
      guard let digit = Hex.value(of: peek(distance &+ index)) else { return nil }
      unit = unit &<< 4 | UInt16(truncatingIfNeeded: digit)
    }
    return unit
  }

  @inline(__always) private mutating func copyLiteral() -> Bool {
    let count = literal
    copyShort(count)
    return count > 0
  }

  /// Length of the `true`, `false` or `null` at the reading position; 0 for anything else.
  var literal: Int {
    @inline(__always) get {
      let word = word32()
      if word == 0x6575_7274 || word == 0x6C6C_756E { return 4 }
      return word == 0x736C_6166 && peek(4) == 0x65 ? 5 : 0
    }
  }

  @inline(__always) mutating func copyNumber() -> Bool {
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

  @inline(__always) private mutating func copyExponent() -> Bool {
    put(byte)
    skip(1)
    if byte == 0x2B || byte == 0x2D {
      put(byte)
      skip(1)
    }
    return copyDigits() != nil
  }

  /// Copies one digit or more; returns their number.
  @inline(__always) private mutating func copyDigits() -> Int? {
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

enum JSONPlace {
  case value
  /// After the opening quote of a member's name.
  case name
  /// After the opening quote of a string value.
  case text
  case behindValue
  case end
}
