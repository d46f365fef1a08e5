extension JSONCompactor {
  /// Appends the one value in `view`, if it has a usual shape.
  ///
  /// Returns `false`, with nothing appended, if ``copy(_:into:depthLimit:forTerminal:)`` must
  /// decide. Changes the byte after the view for a moment.
  package static func copyPlain(_ view: ByteView, into output: ByteBuffer) -> Bool {
    output.reserve(view.count &+ 32)
    let start = unsafe output.tail
    var end = unsafe start
    guard unsafe FusedCursor.copy(view, to: &end, { $0.copyPlainValue() }) else { return false }
    output.commit(unsafe end - start)
    return true
  }
}

enum PlainQuotes: JSONQuotes {
  static let width: UInt = 1
  static let firstByte: UInt8 = 0x22

  @inline(__always) static func stand(_ cursor: WindowCursor, _ distance: Int) -> Bool {
    cursor.peek(UInt(bitPattern: distance)) == 0x22
  }

  @inline(__always)
  static func endName(_ cursor: WindowCursor) -> Bool { cursor.word16() == 0x3A22 }

  @inline(__always) static func isEnd(_ byte: UInt8) -> Bool { true }

  @inline(__always) static func skipBlanks(_ cursor: inout FusedCursor) {
    while cursor.byte == 0x20 || cursor.byte == 0x0A || cursor.byte == 0x0D || cursor.byte == 0x09 {
      cursor.skip(1)
    }
  }

  @inline(__always) static func skipQuote(_ cursor: inout FusedCursor) -> Bool {
    guard cursor.byte == 0x22 else { return false }
    cursor.skip(1)
    return true
  }

  static func copyStringRest(_ cursor: inout FusedCursor) -> Bool { cursor.copyPlainString() }
}

extension FusedCursor {
  /// Copies all of `text` with `body`; `false` if that fails or stops short.
  ///
  /// The output must have room for `text` and 32 bytes more.
  @inline(__always) static func copy(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>, _ body: (inout FusedCursor) -> Bool
  ) -> Bool {
    unsafe text.withNUL { behind in
      var cursor = unsafe FusedCursor(input: text.base, output: end)
      guard body(&cursor), unsafe cursor.input == behind else { return false }
      unsafe end = cursor.output
      return true
    }
  }

  fileprivate mutating func copyPlainString() -> Bool {
    while true {
      if copyPlainRun() { continue }
      if byte == 0x22 {
        put(0x22)
        skip(1)
        return true
      }
      guard byte == 0x5C, copyPlainEscape() else { return false }
    }
  }

  @inline(__always) private mutating func copyPlainEscape() -> Bool {
    switch peek(1) {
    case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74:
      copyShort(2)
      return true
    case 0x75:
      guard let unit = hexUnit(2) else { return false }
      if unit & 0xF800 == 0xD800 {
        guard unit < 0xDC00, peek(6) == 0x5C, peek(7) == 0x75, let low = hexUnit(8),
          low & 0xFC00 == 0xDC00
        else { return false }
        copyShort(6)
      }
      copyShort(6)
      return true
    default: return false
    }
  }
}
