internal import CSystemVectors

/// A reading position in JSON text, with the checks that all readers share.
///
/// Bytes after the view never count. The text must be UTF-8; the receiver has checked it.
package struct JSONCursor {
  package let view: ByteView
  package private(set) var offset = 0

  package init(_ view: ByteView) { self.view = view }

  package var atEnd: Bool { offset >= view.count }

  /// The byte at the position, or 0 at the end: NUL is not part of the grammar.
  package var byte: UInt8 {
    @inline(__always) get { offset < view.count ? unsafe view.base[offset] : 0 }
  }

  @inline(__always) func peek(_ distance: Int) -> UInt8 {
    offset + distance < view.count ? unsafe view.base[offset + distance] : 0
  }

  @inline(__always) package mutating func advance(_ count: Int = 1) { offset += count }

  var failure: JSONError { atEnd ? .endsEarly : .unexpected(offset: offset) }

  @inline(__always) package mutating func skipWhitespace() {
    if _slowPath(byte <= 0x20) { skipBlanks() }
  }

  private mutating func skipBlanks() {
    while true {
      switch byte {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  mutating func require(_ expected: UInt8) throws(JSONError) {
    guard byte == expected, !atEnd else { throw failure }
    offset += 1
  }

  mutating func requireEnd() throws(JSONError) {
    skipWhitespace()
    guard atEnd else { throw failure }
  }

  mutating func skipLiteral() throws(JSONError) {
    // The load may reach into the padding after the view.
    let length = unsafe JSONGrammar.literal(UnsafePointer(view.base + offset))
    guard length > 0, offset + length <= view.count else { throw failure }
    offset += length
  }

  /// Follows RFC 8259 section 6: no leading zeros, no bare point, no plus sign.
  mutating func skipNumber() throws(JSONError) {
    if byte == UInt8(ascii: "-") { offset += 1 }
    if byte == UInt8(ascii: "0") { offset += 1 } else { try skipDigits() }
    if byte == UInt8(ascii: ".") {
      offset += 1
      try skipDigits()
    }
    if byte | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { offset += 1 }
      try skipDigits()
    }
  }

  @inline(__always) private mutating func skipDigits() throws(JSONError) {
    let first = offset
    var run = 16
    while run == 16, offset < view.count {
      // The load may reach into the padding after the view, which does not count.
      run = unsafe (~pusher_digits_16(view.base + offset)).trailingZeroBitCount
      offset = min(offset &+ run, view.count)
    }
    guard offset > first else { throw failure }
  }

  /// Returns the range between the quotes, escapes untouched.
  @inline(__always) mutating func skipString() throws(JSONError) -> Range<Int> {
    try require(UInt8(ascii: "\""))
    let first = offset
    // Most strings end within one block, which may reach into the padding.
    let end =
      unsafe first
      &+ (pusher_string_ends_16(view.base + first) | 1 << 16)
      .trailingZeroBitCount
    if end < view.count, unsafe view.base[end] == UInt8(ascii: "\"") {
      offset = end &+ 1
    } else {
      try skipStringRest()
    }
    return unsafe Range(uncheckedBounds: (first, offset &- 1))
  }

  /// Skips the rest of a string and its closing quote.
  mutating func skipStringRest() throws(JSONError) {
    while true {
      offset += plainRun()
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return
      case UInt8(ascii: "\\"): try skipEscape()
      default: throw failure
      }
    }
  }

  /// Returns the number of plain string bytes from here: no quote, backslash or control character.
  @inline(__always) func plainRun() -> Int {
    let rest = view.count - offset
    var length = 0
    while length < rest {
      // The load may reach into the padding after the view, which does not count.
      let ends = unsafe pusher_string_ends_32(view.base + offset + length)
      if ends != 0 { return min(length + ends.trailingZeroBitCount, rest) }
      length += 32
    }
    return max(rest, 0)
  }

  private mutating func skipEscape() throws(JSONError) {
    switch peek(1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      offset += 2
    case UInt8(ascii: "u"):
      guard hexUnit(at: 2) != nil else { throw failure }
      offset += 6
    default: throw failure
    }
  }

  func hexUnit(at distance: Int) -> UInt16? { JSONGrammar.hexUnit { peek(distance + $0) } }

  /// Returns the scalar of a `\u` escape and its length: 6 bytes, or 12 for a pair.
  ///
  /// The scalar is `nil` for half a surrogate pair, which UTF-8 cannot hold.
  func unicodeEscape() -> (scalar: Unicode.Scalar?, length: Int) {
    guard let unit = hexUnit(at: 2) else { return (nil, 6) }
    if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
    guard peek(6) == UInt8(ascii: "\\"), peek(7) == UInt8(ascii: "u"), let low = hexUnit(at: 8),
      let scalar = JSONGrammar.scalar(unit, low)
    else { return (nil, 6) }
    return (scalar, 12)
  }
}

/// What both readers of JSON know of its words and escapes.
enum JSONGrammar {
  /// Length of the `true`, `false` or `null` at `start`, where five bytes are loaded; else 0.
  @inline(__always) static func literal(_ start: UnsafePointer<UInt8>) -> Int {
    let word = unsafe UnsafeRawPointer(start).loadUnaligned(as: UInt32.self)
    if word == 0x6575_7274 || word == 0x6C6C_756E { return 4 }
    return unsafe word == 0x736C_6166 && start[4] == 0x65 ? 5 : 0
  }

  /// Returns the value of four hexadecimal digits; asks for none after another byte.
  @inline(__always) static func hexUnit(_ digit: (Int) -> UInt8) -> UInt16? {
    var unit: UInt16 = 0
    for index in 0..<4 {
      guard let value = Hex.value(of: digit(index)) else { return nil }
      unit = unit &<< 4 | UInt16(truncatingIfNeeded: value)
    }
    return unit
  }

  @inline(__always) static func isSurrogate(_ unit: UInt16) -> Bool { unit & 0xF800 == 0xD800 }

  /// Returns the scalar of a surrogate pair; `nil` for other units.
  @inline(__always) static func scalar(_ high: UInt16, _ low: UInt16) -> Unicode.Scalar? {
    guard high & 0xFC00 == 0xD800, low & 0xFC00 == 0xDC00 else { return nil }
    return Unicode.Scalar(0x10000 + UInt32(high & 0x3FF) << 10 + UInt32(low & 0x3FF))
  }
}

extension JSONCursor {
  /// More than a line may nest, because data that is too deep for a line is printed as text.
  package static let depthLimit = 10_000

  /// Checks the value at the cursor and returns its range.
  ///
  /// A list replaces recursion, so that hostile nesting cannot exhaust the stack.
  ///
  /// - Parameter token: Called with each token of the value, without white space.
  package mutating func skipValue(
    depthLimit: Int = depthLimit, token: (Range<Int>) -> Void = { _ in }
  ) throws(JSONError) -> Range<Int> {
    let first = offset
    var open = OpenBrackets()
    var isFirst = try skipToken(&open, depthLimit, token)
    while open.count > 0 {
      skipWhitespace()
      let closing = open.closing
      if byte == closing {
        try skip(closing, token)
        open.removeLast()
        isFirst = false
        continue
      }
      if !isFirst {
        try skip(UInt8(ascii: ","), token)
        skipWhitespace()
      }
      if closing == UInt8(ascii: "}") {
        try skipString(token)
        skipWhitespace()
        try skip(UInt8(ascii: ":"), token)
        skipWhitespace()
      }
      isFirst = try skipToken(&open, depthLimit, token)
    }
    return first..<offset
  }

  /// The open containers, one bit for each, so that few levels need no memory.
  private struct OpenBrackets {
    private(set) var count = 0
    /// 1 for an object, the innermost last.
    private var bits: UInt64 = 0
    /// The bits of 64 levels each, without the innermost of ``bits``.
    private var outer: [UInt64] = []

    var closing: UInt8 { bits & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]") }

    mutating func append(isObject: Bool) {
      if count & 63 == 0, count > 0 { outer.append(bits) }
      bits = bits &<< 1 | (isObject ? 1 : 0)
      count &+= 1
    }

    mutating func removeLast() {
      count &-= 1
      bits &>>= 1
      if count & 63 == 0, let last = outer.popLast() { bits = last }
    }
  }

  /// Calls `body` with each member of the object, or each element of the array, that comes
  /// next.
  ///
  /// A member's name is given as it stands between its quotes.
  package mutating func eachPart(
    _ body: (_ name: ByteView?, _ value: ByteView) -> Void
  ) throws(JSONError) {
    skipWhitespace()
    let isObject = byte == UInt8(ascii: "{")
    if !isObject, byte != UInt8(ascii: "[") { throw failure }
    let closing = byte + 2
    advance()
    var isFirst = true
    while true {
      skipWhitespace()
      if byte == closing { return advance() }
      if !isFirst {
        try require(UInt8(ascii: ","))
        skipWhitespace()
      }
      isFirst = false
      var name: ByteView?
      if isObject {
        name = view[try skipString()]
        skipWhitespace()
        try require(UInt8(ascii: ":"))
        skipWhitespace()
      }
      body(name, view[try skipValue()])
    }
  }

  /// Returns true for the opening of a container.
  @inline(__always) private mutating func skipToken(
    _ open: inout OpenBrackets, _ depthLimit: Int,
    _ token: (Range<Int>) -> Void
  ) throws(JSONError) -> Bool {
    let first = offset
    let byte = byte
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard open.count < depthLimit else { throw .tooDeep(limit: depthLimit) }
      open.append(isObject: byte == UInt8(ascii: "{"))
      try skip(byte, token)
      return true
    case UInt8(ascii: "\""):
      try skipString(token)
      return false
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): try skipLiteral()
    default: try skipNumber()
    }
    token(first..<offset)
    return false
  }

  @inline(__always) private mutating func skipString(
    _ token: (Range<Int>) -> Void
  ) throws(JSONError) {
    let body = try skipString()
    token((body.lowerBound - 1)..<(body.upperBound + 1))
  }

  @inline(__always) private mutating func skip(
    _ byte: UInt8, _ token: (Range<Int>) -> Void
  ) throws(JSONError) {
    let first = offset
    try require(byte)
    token(first..<offset)
  }
}

package enum JSONParser {
  /// Parses the one value in `view`, with white space around it and at most 250 levels.
  package static func parse(_ view: ByteView) throws(JSONError) -> JSONValue {
    var cursor = JSONCursor(view)
    var tree = Tree()
    cursor.skipWhitespace()
    _ = try cursor.skipValue(depthLimit: jsonDepthLimit) { tree.take(view[$0]) }
    try cursor.requireEnd()
    return tree.value
  }

  package static func parse(_ text: String) throws(JSONError) -> JSONValue {
    let buffer = ByteBuffer(capacity: text.utf8.count)
    buffer.append(text)
    return try parse(buffer.view)
  }

  /// Builds a value of its tokens.
  private struct Tree {
    private struct Container {
      let isObject: Bool
      var name: String?
      var elements: [JSONValue] = []
      var members: [JSONValue.Member] = []
    }

    private(set) var value = JSONValue.null
    /// Open containers are kept here, because the stack may be small.
    private var open: [Container] = []
    /// Few objects have more members, and growing one by one is slow.
    private static let usualMembers = 4

    mutating func take(_ token: ByteView) {
      switch token[0] {
      case UInt8(ascii: "{"):
        var container = Container(isObject: true)
        container.members.reserveCapacity(Self.usualMembers)
        open.append(container)
      case UInt8(ascii: "["): open.append(Container(isObject: false))
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard let container = open.popLast() else { return }
        append(container.isObject ? .object(container.members) : .array(container.elements))
      case UInt8(ascii: ","), UInt8(ascii: ":"): break
      case UInt8(ascii: "\""):
        let text = JSONString.decode(token[1..<(token.count - 1)])
        if let last = open.indices.last, open[last].isObject, open[last].name == nil {
          open[last].name = text
        } else {
          append(.string(text))
        }
      case UInt8(ascii: "n"): append(.null)
      case UInt8(ascii: "t"), UInt8(ascii: "f"): append(.bool(token[0] == UInt8(ascii: "t")))
      default: append(.number(token.text))
      }
    }

    private mutating func append(_ value: JSONValue) {
      guard let last = open.indices.last else {
        self.value = value
        return
      }
      if let name = open[last].name {
        open[last].members.append(JSONValue.Member(name, value))
        open[last].name = nil
      } else {
        open[last].elements.append(value)
      }
    }
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
