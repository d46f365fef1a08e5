/// Parses an expression of `--where`.
///
/// `PATH`, or `PATH OPERATOR VALUE` with optional white space; a path is a name, followed by names
/// after points and indices in brackets.
struct WhereParser {
  private var cursor: JSONCursor

  /// More digits could exceed the largest integer.
  private static let indexDigits = 9
  /// Number of bytes of an unknown word in a message.
  private static let shownBytes = 40

  init(_ text: ByteView) { cursor = JSONCursor(text) }

  mutating func path() throws(WhereFault) -> JSONPath {
    cursor.skipWhitespace()
    let root = try name()
    guard WhereClause.fields.contains(where: { root.elementsEqual($0.utf8) }) else {
      throw .unknownField(String(decoding: root, as: UTF8.self))
    }
    var path = JSONPath()
    path.append(name: root)
    while cursor.byte == UInt8(ascii: ".") || cursor.byte == UInt8(ascii: "[") {
      guard path.steps.count < WhereClause.longestPath else {
        throw .pathTooLong(limit: WhereClause.longestPath)
      }
      let isIndex = cursor.byte == UInt8(ascii: "[")
      cursor.advance()
      if isIndex { path.append(place: try index()) } else { path.append(name: try name()) }
    }
    cursor.skipWhitespace()
    return path
  }

  private mutating func name() throws(WhereFault) -> [UInt8] {
    let first = cursor.offset
    while Self.isOfName(cursor.byte) { cursor.advance() }
    guard cursor.offset > first else { throw .noName }
    return cursor.view[first..<cursor.offset].array
  }

  /// All bytes except blanks, controls and those with a meaning in an expression.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F, UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"),
      UInt8(ascii: "="), UInt8(ascii: "!"), UInt8(ascii: "<"), UInt8(ascii: ">"),
      UInt8(ascii: "~"), UInt8(ascii: "\""):
      false
    default: true
    }
  }

  private mutating func index() throws(WhereFault) -> Int {
    var number = 0
    var digits = 0
    while cursor.byte &- 0x30 < 10, digits < Self.indexDigits {
      number = number * 10 + Int(cursor.byte - 0x30)
      digits += 1
      cursor.advance()
    }
    guard digits > 0, cursor.byte == UInt8(ascii: "]") else { throw .badIndex }
    cursor.advance()
    return number
  }

  mutating func check() throws(WhereFault) -> any WhereCheck {
    if cursor.atEnd { return ExistenceCheck() }
    if cursor.byte == UInt8(ascii: "~") {
      cursor.advance()
      let pattern = try operand()
      guard pattern[0] == UInt8(ascii: "\"") else { throw .patternIsNoText }
      return PatternCheck(Self.decode(pattern))
    }
    let rest = cursor.view[cursor.offset..<cursor.view.count]
    // The longer operators come first in the list.
    let found = WhereClause.Comparison.allCases.first { comparison in
      rest.begins(with: comparison)
    }
    guard let found else { throw .unknownOperator(word()) }
    cursor.advance(found.rawValue.utf8.count)
    return try Self.check(found, try operand())
  }

  private static func check(
    _ comparison: WhereClause.Comparison, _ operand: ByteView
  ) throws(WhereFault) -> any WhereCheck {
    switch operand[0] {
    case UInt8(ascii: "\""): return TextCheck(comparison, Array(decode(operand).utf8))
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      guard !comparison.isOfOrder else { throw .noOrder(operator: comparison.rawValue) }
      return LiteralCheck(comparison, operand)
    default: return NumberCheck(comparison, DecimalNumber(operand))
    }
  }

  private static func decode(_ string: ByteView) -> String {
    JSONString.decode(string[1..<(string.count - 1)])
  }

  private mutating func operand() throws(WhereFault) -> ByteView {
    cursor.skipWhitespace()
    if cursor.atEnd { throw .noValue }
    let first = cursor.byte
    let start = cursor
    let range: Range<Int>
    do throws(JSONError) {
      range = try JSONSkipper.skipValue(&cursor, depthLimit: 0)
    } catch {
      cursor = start
      throw first == UInt8(ascii: "\"") ? .badText : .unknownValue(word())
    }
    cursor.skipWhitespace()
    guard cursor.atEnd else { throw .trailing(word()) }
    return cursor.view[range]
  }

  /// The rest of the expression, for a message.
  private func word() -> String {
    let rest = cursor.view[cursor.offset..<cursor.view.count]
    return rest.count <= Self.shownBytes ? rest.text : rest[0..<Self.shownBytes].text + "…"
  }
}

extension ByteView {
  fileprivate func begins(with comparison: WhereClause.Comparison) -> Bool {
    switch comparison {
    case .equal: begins(with: "==")
    case .unequal: begins(with: "!=")
    case .lessOrEqual: begins(with: "<=")
    case .greaterOrEqual: begins(with: ">=")
    case .less: begins(with: "<")
    case .greater: begins(with: ">")
    }
  }
}
