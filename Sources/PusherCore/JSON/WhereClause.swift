/// A condition of `--where`: a path into a printed line, alone or compared with a value.
///
/// `data.id` is true for lines with that member, `data.items[0].total >= 10` for a larger or equal
/// number, and `data.status ~ "pa*"` for a matching text. A line is a valid JSON object. Names and
/// texts are compared by their bytes, numbers by their values.
package struct WhereClause: Sendable, Equatable {
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
  /// Fields of the lines of all commands.
  package static let fields = ["event", "channel", "user_id", "id", "data"]

  /// The expression as given.
  package let text: String
  let path: JSONPath
  let check: any WhereCheck

  package init(_ text: String) throws(WhereFault) {
    guard text.utf8.count <= Self.longestText else { throw .tooLong(limit: Self.longestText) }
    let buffer = ByteBuffer(capacity: text.utf8.count)
    buffer.append(text)
    defer { withExtendedLifetime(buffer) {} }
    var parser = WhereParser(buffer.view)
    self.text = text
    path = try parser.path()
    check = try parser.check()
  }

  /// The text after `~`; `nil` for other conditions.
  package var pattern: String? { (check as? PatternCheck)?.text }

  package static func == (left: WhereClause, right: WhereClause) -> Bool {
    left.text.isSame(as: right.text)
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
