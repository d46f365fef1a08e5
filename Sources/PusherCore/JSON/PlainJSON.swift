extension JSONCompactor {
  /// Appends the one value that `view` holds, where it is of a usual shape.
  ///
  /// It gives the bytes of ``copy(_:into:depthLimit:forTerminal:)``, or `false`, with nothing appended, where that must
  /// decide. The byte after the view is changed for a moment.
  package static func copyPlain(_ view: ByteView, into output: ByteBuffer) -> Bool {
    output.reserve(view.count &+ 32)
    let start = unsafe output.tail
    var end = unsafe start
    guard unsafe FusedCursor.copy(view, to: &end, { $0.copyPlainValue() }) else { return false }
    output.commit(unsafe end - start)
    return true
  }
}

/// JSON as it stands, copied and validated in one pass: the usual data of a server-sent event.
///
/// White space outside strings goes, as ``JSONCompactor`` does it. The functions answer `false` at the first thing that
/// is unusual, valid or not (half surrogate pairs, nesting deeper than 62); the caller then takes back the output and
/// takes the general path.
extension FusedCursor {
  /// Copies all of `text` by `body`; `false` when that fails or stops short.
  ///
  /// The output must have room for as many bytes, and 32 more.
  @inline(__always)
  static func copy(
    _ text: ByteView, to end: inout UnsafeMutablePointer<UInt8>,
    _ body: (inout FusedCursor) -> Bool
  ) -> Bool {
    // A NUL that stops every scan replaces the byte after the text; that byte is restored.
    let behind = unsafe text.base + text.count
    let byte = unsafe behind.pointee
    unsafe behind.pointee = 0
    defer { unsafe behind.pointee = byte }
    var cursor = unsafe FusedCursor(input: text.base, output: end)
    guard body(&cursor), unsafe cursor.input == UnsafePointer(behind) else { return false }
    unsafe end = cursor.output
    return true
  }

  /// Copies one value and the white space around it; the reading position is then at what follows.
  @inline(__always)
  mutating func copyPlainValue() -> Bool {
    // One bit a level above a sentinel: 1 for an object, 0 for an array.
    var levels: UInt64 = 1
    value: while true {
      skipBlanks()
      switch byte {
      case 0x22:
        guard copyQuoted() else { return false }
      case 0x7B, 0x5B:
        guard levels &>> 62 == 0 else { return false }
        let isObject = byte == 0x7B
        levels = levels &<< 1 | (isObject ? 1 : 0)
        put(byte)
        skip(1)
        skipBlanks()
        guard byte != (isObject ? 0x7D : 0x5D) else { break }
        if isObject { guard copyPlainName() else { return false } }
        continue value
      case 0x74, 0x66, 0x6E:
        guard copyLiteral() else { return false }
      default:
        guard copyNumber() else { return false }
      }
      while true {
        skipBlanks()
        if levels == 1 { return true }
        if byte == 0x2C {
          put(0x2C)
          skip(1)
          if levels & 1 == 1 { guard copyPlainName() else { return false } }
          continue value
        }
        guard byte == (levels & 1 == 1 ? 0x7D : 0x5D) else { return false }
        put(byte)
        skip(1)
        levels &>>= 1
      }
    }
  }

  /// Copies text up to the first byte that a JSON string must escape, or the NUL after it.
  @inline(__always)
  mutating func copyUnescaped() {
    while copyPlainRun() {}
  }

  @inline(__always)
  private mutating func skipBlanks() {
    while byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { skip(1) }
  }

  @inline(__always)
  private mutating func copyPlainName() -> Bool {
    skipBlanks()
    guard byte == 0x22, copyQuoted() else { return false }
    skipBlanks()
    guard byte == 0x3A else { return false }
    put(0x3A)
    skip(1)
    return true
  }

  /// Copies a string, its quotes included.
  @inline(__always)
  private mutating func copyQuoted() -> Bool {
    put(0x22)
    skip(1)
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

  /// Copies an escape; the position is at its backslash.
  @inline(__always)
  private mutating func copyPlainEscape() -> Bool {
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
