/// The frequent shapes of JSON inside a JSON string, read off a window's bits.
extension WindowCursor {
  /// Copies on as long as it finds what is frequent; answers at which place it stopped.
  ///
  /// It stops short of anything else, with all before it copied, and refuses nothing. It calls nothing, so that all it
  /// needs stays in registers.
  @inline(never)
  static func copyEscaped(_ start: WindowCursor, _ depth: UInt64) -> (
    WindowCursor, UInt64, JSONPlace
  ) {
    var cursor = start
    var levels = depth
    let place = cursor.run(&levels)
    return (cursor, levels, place)
  }

  @inline(__always)
  private mutating func run(_ levels: inout UInt64) -> JSONPlace {
    slide()
    if levels == 1 { guard byte == 0x7B || byte == 0x5B else { return .value } }
    // The position is at most 50 bytes inside the window wherever a value begins.
    value: while true {
      let first = byte
      if first &- 0x30 < 10 {
        guard copyNumber(first) else { return .value }
      } else if first == 0x5C {
        guard copyQuote() else { return .value }
        copyPlainText()
        guard copyQuote() else { return .text }
      } else if first == 0x7B {
        guard openObject(&levels) else { return .value }
        guard copyNameRest() else { return .name }
        continue value
      } else if first == 0x5B {
        guard openArray(&levels) else { return .value }
        continue value
      } else if first == 0x20 {
        // As Python writes it.
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
          guard openNextName() else { return .behindValue }
          guard copyNameRest() else { return .name }
          continue value
        }
        guard next == (levels & 1 == 1 ? 0x7D : 0x5D) else { return .behindValue }
        put(next)
        skip(1)
        levels &>>= 1
        if levels == 1 { return byte == 0x22 ? .end : .behindValue }
      }
    }
  }

  @inline(__always)
  private mutating func copyQuote() -> Bool {
    guard word16() == 0x225C else { return false }
    skip(2)
    put(0x22)
    return true
  }

  /// Copies `{` and the quote of the first name.
  @inline(__always)
  private mutating func openObject(_ levels: inout UInt64) -> Bool {
    guard word16(1) == 0x225C, levels &>> 62 == 0 else { return false }
    levels = levels &<< 1 | 1
    putPair(0x227B)
    skip(3)
    return true
  }

  /// Copies `[` before a value.
  @inline(__always)
  private mutating func openArray(_ levels: inout UInt64) -> Bool {
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
  private mutating func openNextName() -> Bool {
    if word16(1) == 0x225C {
      skip(3)
    } else {
      guard peek(1) == 0x20, word16(2) == 0x225C else { return false }
      skip(4)
    }
    putPair(0x222C)
    return true
  }

  /// Copies a number below zero, or of it at least the sign, when a digit follows.
  @inline(__always)
  private mutating func copyNegative(_ first: UInt8) -> Bool {
    guard first == 0x2D, peek(1) &- 0x30 < 10 else { return false }
    put(0x2D)
    skip(1)
    return copyNumber(byte)
  }

  /// Copies a name without escapes behind its opening quote, and the colon.
  @inline(__always)
  private mutating func copyNameRest() -> Bool {
    slide()
    copyPlainText()
    guard word32() & 0xFF_FFFF == 0x3A225C else { return false }
    putPair(0x3A22)
    skip(3)
    slideWhenLate()
    return true
  }

  /// Copies `true`, `false` or `null`.
  @inline(__always)
  private mutating func copyLiteral() -> Bool {
    let word = word32()
    if word == 0x6575_7274 || word == 0x6C6C_756E {
      copyShort(4)
      return true
    }
    guard word == 0x736C_6166, peek(4) == 0x65 else { return false }
    copyShort(5)
    return true
  }
}
