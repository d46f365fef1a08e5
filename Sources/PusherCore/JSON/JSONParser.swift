package enum JSONParser {
  /// Parses the one value in `view`, with white space around it and at most 250 levels.
  package static func parse(_ view: ByteView) throws(JSONError) -> JSONValue {
    var cursor = JSONCursor(view)
    // Open containers are kept here, because the stack may be small.
    var open: [Container] = []
    while true {
      cursor.skipWhitespace()
      guard var value = try scalarOrOpening(&cursor, &open) else { continue }
      while try end(value, &cursor, &open) {
        guard let container = open.popLast() else { return value }
        value = container.value
      }
    }
  }

  package static func parse(_ text: String) throws(JSONError) -> JSONValue {
    let buffer = ByteBuffer(capacity: text.utf8.count)
    buffer.append(text)
    return try parse(buffer.view)
  }

  private struct Container {
    let isObject: Bool
    var name = ""
    private var elements: [JSONValue] = []
    private var members: [JSONValue.Member] = []

    /// Few objects have more members, and growing one by one is slow.
    private static let usualMembers = 4

    init(isObject: Bool) {
      self.isObject = isObject
      if isObject { members.reserveCapacity(Self.usualMembers) }
    }

    mutating func append(_ value: JSONValue) {
      if isObject { members.append(JSONValue.Member(name, value)) } else { elements.append(value) }
    }

    var value: JSONValue { isObject ? .object(members) : .array(elements) }
    var closing: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }
  }

  /// Returns `nil` if the value at the cursor opens a container that is not empty.
  private static func scalarOrOpening(
    _ cursor: inout JSONCursor, _ open: inout [Container]
  ) throws(JSONError) -> JSONValue? {
    let first = cursor.offset
    let letter = cursor.byte
    switch letter {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard open.count < jsonDepthLimit else { throw .tooDeep(limit: jsonDepthLimit) }
      let isObject = letter == UInt8(ascii: "{")
      cursor.advance()
      cursor.skipWhitespace()
      if cursor.byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        cursor.advance()
        return isObject ? .object([]) : .array([])
      }
      var container = Container(isObject: isObject)
      if container.isObject { container.name = try name(&cursor) }
      open.append(container)
      return nil
    case UInt8(ascii: "\""): return .string(try string(&cursor))
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      try cursor.skipLiteral()
      return letter == UInt8(ascii: "n") ? .null : .bool(letter == UInt8(ascii: "t"))
    default:
      try cursor.skipNumber()
      return .number(cursor.view[first..<cursor.offset].text)
    }
  }

  /// Returns true if the value's container has ended, or there is none.
  private static func end(
    _ value: JSONValue, _ cursor: inout JSONCursor, _ open: inout [Container]
  ) throws(JSONError) -> Bool {
    guard let last = open.indices.last else {
      try cursor.requireEnd()
      return true
    }
    open[last].append(value)
    cursor.skipWhitespace()
    guard cursor.byte == UInt8(ascii: ",") else {
      try cursor.require(open[last].closing)
      return true
    }
    cursor.advance()
    if open[last].isObject {
      cursor.skipWhitespace()
      open[last].name = try name(&cursor)
    }
    return false
  }

  private static func name(_ cursor: inout JSONCursor) throws(JSONError) -> String {
    let name = try string(&cursor)
    cursor.skipWhitespace()
    try cursor.require(UInt8(ascii: ":"))
    return name
  }

  private static func string(_ cursor: inout JSONCursor) throws(JSONError) -> String {
    let range = try cursor.skipString()
    return JSONString.decode(cursor.view[range])
  }
}

/// Reason why bytes are not one JSON value.
public enum JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The grammar does not allow the byte at `offset`.
  case unexpected(offset: Int)
  /// The text ends in the middle of a value.
  case endsEarly
  /// Arrays and objects are nested deeper than `limit`.
  case tooDeep(limit: Int)
  /// The object has no member of this name and kind.
  case missing(member: String)

  /// The error in words for the user.
  public var description: String {
    switch self {
    case .unexpected(let offset): "not JSON at byte \(offset)"
    case .endsEarly: "incomplete JSON"
    case .tooDeep(let limit): "JSON nested deeper than \(limit) levels"
    case .missing(let member): "JSON without a valid \"\(member)\""
    }
  }
}

/// jq rejects more than 256 levels, and a line adds its own.
package let jsonDepthLimit = 250
