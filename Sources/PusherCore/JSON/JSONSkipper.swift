/// Steps over a value of any shape without building it.
enum JSONSkipper {
  /// How deep a message itself may nest before it is refused; deeper than what is embedded, because data
  /// that is too deep to embed must still be found before it can be printed as text.
  static let depthLimit = 10_000

  /// Checks the value at the cursor and answers where it stands.
  ///
  /// It keeps one bit a level instead of recursing, so that hostile nesting cannot exhaust the stack.
  ///
  /// - Throws: ``JSONError`` at the first byte that the grammar does not allow.
  static func skipValue(_ cursor: inout JSONCursor) throws(JSONError) -> Range<Int> {
    let first = cursor.offset
    try skipScalarOrOpening(&cursor)
    let opener = cursor.view[first]
    guard opener == UInt8(ascii: "{") || opener == UInt8(ascii: "[") else {
      return first..<cursor.offset
    }
    var levels = [opener == UInt8(ascii: "{")]
    var isFirst = true
    while let isObject = levels.last {
      cursor.skipWhitespace()
      if cursor.byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        cursor.advance()
        levels.removeLast()
        isFirst = false
        continue
      }
      if !isFirst {
        try cursor.require(UInt8(ascii: ","))
        cursor.skipWhitespace()
      }
      if isObject { try skipName(&cursor) }
      let byte = cursor.byte
      try skipScalarOrOpening(&cursor)
      isFirst = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
      if isFirst {
        guard levels.count < depthLimit else { throw .tooDeep(limit: depthLimit) }
        levels.append(byte == UInt8(ascii: "{"))
      }
    }
    return first..<cursor.offset
  }

  private static func skipName(_ cursor: inout JSONCursor) throws(JSONError) {
    _ = try cursor.skipString()
    cursor.skipWhitespace()
    try cursor.require(UInt8(ascii: ":"))
    cursor.skipWhitespace()
  }

  private static func skipScalarOrOpening(_ cursor: inout JSONCursor) throws(JSONError) {
    switch cursor.byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["): cursor.advance()
    case UInt8(ascii: "\""): _ = try cursor.skipString()
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): try cursor.skipLiteral()
    default: try cursor.skipNumber()
    }
  }
}
