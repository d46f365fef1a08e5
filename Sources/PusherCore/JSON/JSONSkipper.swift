/// Steps over a value of any shape without building it.
enum JSONSkipper {
  /// More than a line may nest, because data that is too deep for a line is printed as text.
  static let depthLimit = 10_000

  /// Checks the value at the cursor and returns its range.
  ///
  /// A list replaces recursion, so that hostile nesting cannot exhaust the stack.
  ///
  /// - Parameter token: Called with each token of the value, without white space.
  static func skipValue(
    _ cursor: inout JSONCursor, depthLimit: Int = depthLimit, token: (Range<Int>) -> Void = { _ in }
  ) throws(JSONError) -> Range<Int> {
    let first = cursor.offset
    var closings: [UInt8] = []
    var isFirst = try skipToken(&cursor, &closings, depthLimit, token)
    while let closing = closings.last {
      cursor.skipWhitespace()
      if cursor.byte == closing {
        try skip(closing, &cursor, token)
        closings.removeLast()
        isFirst = false
        continue
      }
      if !isFirst {
        try skip(UInt8(ascii: ","), &cursor, token)
        cursor.skipWhitespace()
      }
      if closing == UInt8(ascii: "}") {
        try skipString(&cursor, token)
        cursor.skipWhitespace()
        try skip(UInt8(ascii: ":"), &cursor, token)
        cursor.skipWhitespace()
      }
      isFirst = try skipToken(&cursor, &closings, depthLimit, token)
    }
    return first..<cursor.offset
  }

  /// Calls `body` with each member of the object, or each element of the array, at the cursor.
  ///
  /// A member's name is given as it stands between its quotes.
  static func eachPart(
    _ cursor: inout JSONCursor, _ body: (_ name: ByteView?, _ value: ByteView) -> Void
  ) throws(JSONError) {
    let isObject = cursor.byte == UInt8(ascii: "{")
    if !isObject, cursor.byte != UInt8(ascii: "[") { throw cursor.failure }
    let closing = cursor.byte + 2
    cursor.advance()
    var isFirst = true
    while true {
      cursor.skipWhitespace()
      if cursor.byte == closing { return cursor.advance() }
      if !isFirst {
        try cursor.require(UInt8(ascii: ","))
        cursor.skipWhitespace()
      }
      isFirst = false
      var name: ByteView?
      if isObject {
        name = cursor.view[try cursor.skipString()]
        cursor.skipWhitespace()
        try cursor.require(UInt8(ascii: ":"))
        cursor.skipWhitespace()
      }
      body(name, cursor.view[try skipValue(&cursor)])
    }
  }

  /// Returns true for the opening of a container.
  @inline(__always) private static func skipToken(
    _ cursor: inout JSONCursor, _ closings: inout [UInt8], _ depthLimit: Int,
    _ token: (Range<Int>) -> Void
  ) throws(JSONError) -> Bool {
    let first = cursor.offset
    let byte = cursor.byte
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard closings.count < depthLimit else { throw .tooDeep(limit: depthLimit) }
      closings.append(byte + 2)
      try skip(byte, &cursor, token)
      return true
    case UInt8(ascii: "\""):
      try skipString(&cursor, token)
      return false
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): try cursor.skipLiteral()
    default: try cursor.skipNumber()
    }
    token(first..<cursor.offset)
    return false
  }

  @inline(__always) private static func skipString(
    _ cursor: inout JSONCursor, _ token: (Range<Int>) -> Void
  ) throws(JSONError) {
    let body = try cursor.skipString()
    token((body.lowerBound - 1)..<(body.upperBound + 1))
  }

  @inline(__always) private static func skip(
    _ byte: UInt8, _ cursor: inout JSONCursor, _ token: (Range<Int>) -> Void
  ) throws(JSONError) {
    let first = cursor.offset
    try cursor.require(byte)
    token(first..<cursor.offset)
  }
}
