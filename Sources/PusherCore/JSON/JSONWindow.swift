extension WindowCursor {
  /// Copies frequent shapes; returns the place where something else begins.
  ///
  /// It rejects nothing, and calls nothing so that its state stays in registers.
  @inline(never) static func copyFrequent<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ start: WindowCursor, _ depth: UInt64
  ) -> (WindowCursor, UInt64, JSONPlace) {
    var cursor = start
    var levels = depth
    let place = cursor.run(quotes, &levels)
    return (cursor, levels, place)
  }

  @inline(__always) private mutating func run<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> JSONPlace {
    slide()
    if levels == 1 { guard byte == 0x7B || byte == 0x5B else { return .value } }
    // Every value begins at most 50 bytes inside the window.
    value: while true {
      let first = byte
      if first &- 0x30 < 10 {
        guard copyNumber(first) else { return .value }
      } else if first == Quotes.firstByte {
        guard copyQuote(quotes) else { return .value }
        copyPlainText()
        guard copyQuote(quotes) else { return .text }
      } else if first == 0x7B {
        guard openObject(quotes, &levels) else { return .value }
        guard copyNameRest(quotes) else { return .name }
        continue value
      } else if first == 0x5B {
        guard openArray(&levels) else { return .value }
        continue value
      } else if first == 0x20 {
        // Python writes blanks here.
        skip(1)
        slideWhenLate()
        continue value
      } else {
        guard copyNegative(first) || copyLiteral() else { return .value }
      }
      while true {
        let next = byte
        if next == 0x2C {
          if levels & 1 == 0 {
            put(0x2C)
            skip(1)
            slide()
            continue value
          }
          guard openNextName(quotes) else { return .behindValue }
          guard copyNameRest(quotes) else { return .name }
          continue value
        }
        guard next == (levels & 1 == 1 ? 0x7D : 0x5D) else { return .behindValue }
        put(next)
        skip(1)
        levels &>>= 1
        if levels == 1 { return Quotes.isEnd(byte) ? .end : .behindValue }
      }
    }
  }

  @inline(__always)
  private mutating func copyQuote<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    guard Quotes.stand(self, 0) else { return false }
    skip(Quotes.width)
    put(0x22)
    return true
  }

  /// Copies `{` and the quote of the first name.
  @inline(__always) private mutating func openObject<Quotes: JSONQuotes>(
    _ quotes: Quotes.Type, _ levels: inout UInt64
  ) -> Bool {
    guard Quotes.stand(self, 1), levels &>> 62 == 0 else { return false }
    levels = levels &<< 1 | 1
    putPair(0x227B)
    skip(1 &+ Quotes.width)
    return true
  }

  @inline(__always) private mutating func openArray(_ levels: inout UInt64) -> Bool {
    let next = peek(1)
    guard next != 0x5D, next != 0x20, levels &>> 62 == 0 else { return false }
    levels = levels &<< 1
    put(0x5B)
    skip(1)
    slide()
    return true
  }

  /// Copies a comma and the quote of the next name.
  @inline(__always)
  private mutating func openNextName<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    if Quotes.stand(self, 1) {
      skip(1 &+ Quotes.width)
    } else {
      guard peek(1) == 0x20, Quotes.stand(self, 2) else { return false }
      skip(2 &+ Quotes.width)
    }
    putPair(0x222C)
    return true
  }

  /// Copies a negative number, or at least its sign if a digit follows.
  @inline(__always) private mutating func copyNegative(_ first: UInt8) -> Bool {
    guard first == 0x2D, peek(1) &- 0x30 < 10 else { return false }
    put(0x2D)
    skip(1)
    return copyNumber(byte)
  }

  /// Copies a name without escapes after its opening quote, and the colon.
  @inline(__always)
  private mutating func copyNameRest<Quotes: JSONQuotes>(_ quotes: Quotes.Type) -> Bool {
    slide()
    copyPlainText()
    guard Quotes.endName(self) else { return false }
    putPair(0x3A22)
    skip(Quotes.width &+ 1)
    slideWhenLate()
    return true
  }

  @inline(__always) private mutating func copyLiteral() -> Bool {
    let count = fused.literal
    copyShort(UInt(bitPattern: count))
    return count > 0
  }
}

/// How quotes are written: plain, or escaped inside another JSON string.
protocol JSONQuotes {
  static var width: UInt { get }
  static var firstByte: UInt8 { get }
  /// Reports whether a quote stands `distance` bytes further on.
  static func stand(_ cursor: WindowCursor, _ distance: Int) -> Bool
  /// Reports whether a quote and a colon stand here.
  static func endName(_ cursor: WindowCursor) -> Bool
  /// Reports whether `byte` may follow the outermost value.
  static func isEnd(_ byte: UInt8) -> Bool
  static func skipBlanks(_ cursor: inout FusedCursor)
  static func skipQuote(_ cursor: inout FusedCursor) -> Bool
  /// Copies a string after its opening quote.
  static func copyStringRest(_ cursor: inout FusedCursor) -> Bool
}
