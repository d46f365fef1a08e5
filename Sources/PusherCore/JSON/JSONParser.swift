/// Bytes to a ``JSONValue``.
package enum JSONParser {
  /// The one value that `view` holds, white space around it allowed.
  ///
  /// - Throws: ``JSONError`` with the place, or the depth limit of 250 when it is passed.
  package static func parse(_ view: ByteView) throws(JSONError) -> JSONValue {
    var cursor = JSONCursor(view)
    let value = try value(&cursor, depth: 0)
    try cursor.requireEnd()
    return value
  }

  /// The one value that `text` holds.
  package static func parse(_ text: String) throws(JSONError) -> JSONValue {
    let buffer = ByteBuffer(capacity: text.utf8.count)
    buffer.append(text)
    return try parse(buffer.view)
  }

  private static func value(
    _ cursor: inout JSONCursor, depth: Int
  ) throws(JSONError) -> JSONValue {
    cursor.skipWhitespace()
    let first = cursor.offset
    switch cursor.byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard depth < jsonDepthLimit else { throw .tooDeep(limit: jsonDepthLimit) }
      guard cursor.byte == UInt8(ascii: "{") else { return try array(&cursor, depth: depth + 1) }
      return try object(&cursor, depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string(&cursor))
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      let letter = cursor.byte
      try cursor.skipLiteral()
      return letter == UInt8(ascii: "n") ? .null : .bool(letter == UInt8(ascii: "t"))
    default:
      try cursor.skipNumber()
      return .number(cursor.view[first..<cursor.offset].text)
    }
  }

  private static func string(_ cursor: inout JSONCursor) throws(JSONError) -> String {
    let range = try cursor.skipString()
    return JSONString.decode(cursor.view[range])
  }

  private static func array(
    _ cursor: inout JSONCursor, depth: Int
  ) throws(JSONError) -> JSONValue {
    cursor.advance()
    var elements: [JSONValue] = []
    cursor.skipWhitespace()
    if cursor.byte == UInt8(ascii: "]") {
      cursor.advance()
      return .array([])
    }
    while true {
      elements.append(try value(&cursor, depth: depth))
      cursor.skipWhitespace()
      guard cursor.byte == UInt8(ascii: ",") else { break }
      cursor.advance()
    }
    try cursor.require(UInt8(ascii: "]"))
    return .array(elements)
  }

  private static func object(
    _ cursor: inout JSONCursor, depth: Int
  ) throws(JSONError) -> JSONValue {
    cursor.advance()
    var members: [JSONValue.Member] = []
    cursor.skipWhitespace()
    if cursor.byte == UInt8(ascii: "}") {
      cursor.advance()
      return .object([])
    }
    while true {
      cursor.skipWhitespace()
      let name = try string(&cursor)
      cursor.skipWhitespace()
      try cursor.require(UInt8(ascii: ":"))
      members.append(JSONValue.Member(name, try value(&cursor, depth: depth)))
      cursor.skipWhitespace()
      guard cursor.byte == UInt8(ascii: ",") else { break }
      cursor.advance()
    }
    try cursor.require(UInt8(ascii: "}"))
    return .object(members)
  }
}
