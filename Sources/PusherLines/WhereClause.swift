package import PusherCore

/// A condition of `--where`: a path into a printed line, alone or compared with a value.
///
/// `data.id` is true for lines with that member, `data.items[0].total >= 10` for a larger or equal
/// number, and `data.status ~ "pa*"` for a matching text. A line is a valid JSON object. Names and
/// texts are compared by their bytes, numbers by their values.
package final class WhereClause: Sendable, Equatable {
  enum Comparison: String, Sendable, CaseIterable {
    case equal = "=="
    case unequal = "!="
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case less = "<"
    case greater = ">"

    var isOfOrder: Bool { self != .equal && self != .unequal }

    /// - Parameter order: Order of the line's value and the operand: below, equal to or above 0;
    ///   `nil` for values of different kinds.
    @inline(__always) func holds(_ order: Int?) -> Bool {
      guard let order else { return self == .unequal }
      switch self {
      case .equal: return order == 0
      case .unequal: return order != 0
      case .less: return order < 0
      case .lessOrEqual: return order <= 0
      case .greater: return order > 0
      case .greaterOrEqual: return order >= 0
      }
    }
  }

  /// Maximum size of an expression, in bytes.
  package static let longestText = 4096
  /// Maximum number of names and indices of a path.
  package static let longestPath = 64
  /// A field of the lines of all commands, where a path begins.
  enum Field: String, Sendable {
    case event, channel, id, data
    case userID = "user_id"
  }

  fileprivate enum Check: Sendable {
    /// A path alone.
    case exists
    /// true, false or null; a missing value counts as null, as in jq.
    case literal(Comparison, [UInt8])
    case number(Comparison, DecimalNumber)
    /// Text without its escapes.
    case text(Comparison, [UInt8])
    case pattern(String, Glob)
  }

  /// The expression as given.
  package let text: String
  private let field: Field
  /// The way from the field on.
  private let path: JSONPath
  private let check: Check

  package init(_ text: String) throws(WhereFault) {
    guard text.utf8.count <= Self.longestText else { throw .tooLong(limit: Self.longestText) }
    let buffer = ByteBuffer(capacity: text.utf8.count)
    buffer.append(text)
    defer { withExtendedLifetime(buffer) {} }
    var parser = Parser(buffer.view)
    self.text = text
    (field, path) = try parser.path()
    check = try parser.check()
  }

  /// The text after `~`; `nil` for other conditions.
  package var pattern: String? {
    if case .pattern(let text, _) = check { text } else { nil }
  }

  package static func == (left: WhereClause, right: WhereClause) -> Bool {
    left.text.isSame(as: right.text)
  }

  /// - Parameter scratch: Holds a text of the line without its escapes, and keeps its room.
  package func holds(for line: borrowing EventLine, _ scratch: ByteBuffer) -> Bool {
    let value = line.token(field).flatMap { path.value(in: $0) }
    switch check {
    case .exists: return value != nil
    case .literal(let comparison, let literal):
      let isEqual = value.map { $0.equals(literal) } ?? literal.elementsEqual("null".utf8)
      return isEqual == (comparison == .equal)
    case .number(let comparison, let number):
      guard let value, value.isNumber else { return comparison.holds(nil) }
      return comparison.holds(number.order(of: value))
    case .text(let comparison, let text):
      guard let body = value?.unquoted else { return comparison.holds(nil) }
      return comparison.holds(
        body.order(text, hasEscapes: true)
          ?? body.decoded(scratch) { $0.order(text, hasEscapes: false) })
    case .pattern(_, let pattern):
      guard let body = value?.unquoted else { return false }
      guard body.holds(UInt8(ascii: "\\")) else { return pattern.matches(body) }
      return body.decoded(scratch, pattern.matches)
    }
  }
}

/// Decides whether a line meets all conditions of `--where`.
package final class WhereFilter {
  private let clauses: [WhereClause]
  private let scratch = ByteBuffer(capacity: 4096)

  /// Returns `nil` without conditions.
  package init?(_ clauses: [WhereClause]) {
    if clauses.isEmpty { return nil }
    self.clauses = clauses
  }

  package func passes(_ line: borrowing EventLine) -> Bool {
    // In place: a copy of a clause is several references.
    for index in clauses.indices where !clauses[index].holds(for: line, scratch) { return false }
    return true
  }
}

extension WhereClause {
  /// Parses an expression of `--where`.
  ///
  /// `PATH`, or `PATH OPERATOR VALUE` with optional white space; a path is a name, followed by
  /// names after points and indices in brackets.
  fileprivate struct Parser {
    private var cursor: JSONCursor

    /// More digits could exceed the largest integer.
    private static let indexDigits = 9
    /// Number of bytes of an unknown word in a message.
    private static let shownBytes = 40

    init(_ text: ByteView) { cursor = JSONCursor(text) }

    mutating func path() throws(WhereFault) -> (Field, JSONPath) {
      cursor.skipWhitespace()
      let root = String(decoding: try name(), as: UTF8.self)
      guard let field = Field(rawValue: root) else { throw .unknownField(root) }
      var path = JSONPath()
      while cursor.byte == UInt8(ascii: ".") || cursor.byte == UInt8(ascii: "[") {
        // The field counts too.
        guard path.count + 1 < longestPath else {
          throw .pathTooLong(limit: longestPath)
        }
        let isIndex = cursor.byte == UInt8(ascii: "[")
        cursor.advance()
        if isIndex { path.append(index: try index()) } else { path.append(name: try name()) }
      }
      cursor.skipWhitespace()
      return (field, path)
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

    mutating func check() throws(WhereFault) -> Check {
      if cursor.atEnd { return .exists }
      if cursor.byte == UInt8(ascii: "~") {
        cursor.advance()
        guard let pattern = try operand().unquoted else { throw .patternIsNoText }
        let text = JSONString.decode(pattern)
        return .pattern(text, Glob(text))
      }
      let rest = cursor.view[cursor.offset..<cursor.view.count]
      // The longer operators come first in the list.
      let found = Comparison.allCases.first { comparison in
        let sign = Array(comparison.rawValue.utf8)
        return rest.count >= sign.count && rest[0..<sign.count].equals(sign)
      }
      guard let found else { throw .unknownOperator(word()) }
      cursor.advance(found.rawValue.utf8.count)
      return try Self.check(found, try operand())
    }

    private static func check(
      _ comparison: Comparison, _ operand: ByteView
    ) throws(WhereFault) -> Check {
      if let text = operand.unquoted {
        return .text(comparison, Array(JSONString.decode(text).utf8))
      }
      if operand.isNumber { return .number(comparison, DecimalNumber(operand)) }
      guard !comparison.isOfOrder else { throw .noOrder(operator: comparison.rawValue) }
      return .literal(comparison, operand.array)
    }

    private mutating func operand() throws(WhereFault) -> ByteView {
      cursor.skipWhitespace()
      if cursor.atEnd { throw .noValue }
      let first = cursor.byte
      let start = cursor
      let range: Range<Int>
      do throws(JSONError) {
        range = try cursor.skipValue(depthLimit: 0)
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
}

extension ByteView {
  /// Returns the order of this text and `other` by their bytes: below, equal to or above 0.
  ///
  /// `nil` if an escape stands before the first difference; behind it, escapes change nothing.
  fileprivate func order(_ other: [UInt8], hasEscapes: Bool) -> Int? {
    for index in 0..<min(count, other.count) {
      let byte = unsafe base[index]
      if hasEscapes, byte == UInt8(ascii: "\\") { return nil }
      if byte != other[index] { return Int(byte) - Int(other[index]) }
    }
    return count - other.count
  }

  /// Calls `body` with the text without its escapes.
  fileprivate func decoded<Result>(
    _ scratch: ByteBuffer, _ body: (ByteView) -> Result
  ) -> Result {
    scratch.removeAll()
    defer { scratch.removeAll() }
    JSONString.decode(self, into: scratch)
    return body(scratch.view)
  }
}

/// Reason why a text is no expression of `--where`.
package enum WhereFault: Error, Equatable, CustomStringConvertible {
  case tooLong(limit: Int)
  case pathTooLong(limit: Int)
  case noName
  case unknownField(String)
  case badIndex
  case unknownOperator(String)
  case noValue
  case badText
  case unknownValue(String)
  case trailing(String)
  case noOrder(operator: String)
  case patternIsNoText

  package var description: String {
    switch self {
    case .tooLong(let limit): "the expression is longer than \(limit) bytes"
    case .pathTooLong(let limit): "the path has more than \(limit) names and indices"
    case .noName: "a name is missing in the path; write a path such as data.items[0].id"
    case .unknownField(let name):
      "lines have no field '\(name)'; a path begins with event, channel, user_id, id or data, as "
        + "in data.status"
    case .badIndex: "'[' needs a number from 0 to 999999999 and ']'"
    case .unknownOperator(let word): "'\(word)' is none of == != < <= > >= ~"
    case .noValue: "the value after the operator is missing"
    case .badText:
      "the text is no JSON string; escape quotes and backslashes, as in \"App\\\\Events\", and "
        + "end it with a quote"
    case .unknownValue(let word):
      "'\(word)' is no value; write a text in double quotes, a number, true, false or null"
    case .trailing(let word):
      "'\(word)' follows the value; give --where once more for another condition"
    case .noOrder(let name): "\(name) compares numbers and texts only"
    case .patternIsNoText: "~ needs a pattern in double quotes"
    }
  }
}

/// A JSON number, compared by its exact value: `1`, `1.0` and `10e-1` are equal.
///
/// Binary fractions would make neighbours of large IDs equal, and have no value for `1e400`.
struct DecimalNumber: Sendable {
  /// -1, 0 or 1.
  private let sign: Int
  /// The magnitude is 0.DIGITS times ten to this power.
  private let exponent: Int
  /// Digits without zeros at either end; none for zero.
  private let digits: [UInt8]
  /// The value of an integer of few digits, written without an exponent.
  private let integer: Int?

  /// Maximum number of digits, with a sign, that are compared as an integer.
  private static let integerDigits = 18

  /// - Parameter text: A valid JSON number.
  init(_ text: ByteView) {
    let parts = Reading(text)
    (sign, exponent) = (parts.sign, parts.exponent)
    var digits = text[parts.digits].array.filter { $0 != UInt8(ascii: ".") }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    self.digits = digits
    let whole = Self.whole(text)
    integer = whole?.isAll == true ? whole?.value : nil
  }

  /// Returns the order of a JSON number and this one: -1 below, 0 equal, 1 above.
  func order(of text: ByteView) -> Int {
    // A fraction changes nothing if the whole parts differ.
    if let integer, let other = Self.whole(text), other.isAll || other.value != integer {
      return other.value < integer ? -1 : other.value > integer ? 1 : 0
    }
    let parts = Reading(text)
    guard parts.sign == sign else { return parts.sign < sign ? -1 : 1 }
    guard sign != 0 else { return 0 }
    guard parts.exponent == exponent else { return parts.exponent < exponent ? -sign : sign }
    return sign * magnitudeOrder(of: text[parts.digits])
  }

  /// Returns the whole part, and whether that is all; `nil` for a number with an exponent or many
  /// digits.
  @inline(__always) private static func whole(_ text: ByteView) -> (value: Int, isAll: Bool)? {
    let isNegative = text[0] == UInt8(ascii: "-")
    guard text.count <= integerDigits else { return nil }
    var (value, index) = (0, isNegative ? 1 : 0)
    while index < text.count, case let digit = unsafe text.base[index] &- 0x30, digit < 10 {
      value = value &* 10 &+ Int(truncatingIfNeeded: digit)
      index &+= 1
    }
    // Only an exponent changes the whole part, and only its letter is above the digits.
    for place in index..<text.count where unsafe text.base[place] >= UInt8(ascii: "E") {
      return nil
    }
    return (isNegative ? -value : value, index == text.count)
  }

  /// Compares digits from the first one that is not zero; the exponents are equal.
  private func magnitudeOrder(of other: ByteView) -> Int {
    var place = 0
    for index in 0..<other.count where other[index] != UInt8(ascii: ".") {
      let digit = place < digits.count ? digits[place] : UInt8(ascii: "0")
      guard other[index] == digit else { return other[index] < digit ? -1 : 1 }
      place += 1
    }
    return place < digits.count ? -1 : 0
  }

  private struct Reading {
    private(set) var sign = 0
    private(set) var exponent = 0
    /// From the first digit that is not zero to the last digit, with the point between them.
    private(set) var digits = 0..<0

    /// Larger exponents count as this one, so that no sum overflows.
    private static let largestExponent = 1 << 50

    init(_ text: ByteView) {
      let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
      var index = isNegative ? 1 : 0
      var first: Int?
      var isFraction = false
      while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
        if text[index] == UInt8(ascii: ".") {
          isFraction = true
        } else if first == nil, text[index] == UInt8(ascii: "0") {
          if isFraction { exponent -= 1 }
        } else {
          first = first ?? index
          if !isFraction { exponent += 1 }
        }
        index += 1
      }
      guard let first else {
        exponent = 0
        return
      }
      sign = isNegative ? -1 : 1
      digits = first..<index
      if index < text.count { exponent += Self.power(text[(index + 1)..<text.count]) }
    }

    /// Reads the digits after `e`, with their sign.
    private static func power(_ text: ByteView) -> Int {
      let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
      var power = 0
      for index in 0..<text.count where text[index] &- 0x30 < 10 {
        power = min(power * 10 + Int(text[index] - 0x30), largestExponent)
      }
      return isNegative ? -power : power
    }
  }
}
