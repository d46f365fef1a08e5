/// The part of a condition that is about the value.
protocol WhereCheck: AnyObject, Sendable {
  /// - Parameter value: Empty if the line has no such value.
  func holds(for value: ByteView, _ scratch: ByteBuffer) -> Bool
}

/// A path alone.
final class ExistenceCheck: WhereCheck {
  func holds(for value: ByteView, _ scratch: ByteBuffer) -> Bool { !value.isEmpty }
}

/// A comparison with true, false or null; a missing value counts as null, as in jq.
final class LiteralCheck: WhereCheck {
  private let literal: [UInt8]
  private let expectsEqual: Bool
  private let isNull: Bool

  init(_ comparison: WhereClause.Comparison, _ literal: ByteView) {
    self.literal = literal.array
    expectsEqual = comparison == .equal
    isNull = literal.equals("null")
  }

  func holds(for value: ByteView, _ scratch: ByteBuffer) -> Bool {
    (value.isEmpty ? isNull : value.equals(literal)) == expectsEqual
  }
}

final class NumberCheck: WhereCheck {
  private let comparison: WhereClause.Comparison
  private let number: DecimalNumber

  init(_ comparison: WhereClause.Comparison, _ number: DecimalNumber) {
    (self.comparison, self.number) = (comparison, number)
  }

  func holds(for value: ByteView, _ scratch: ByteBuffer) -> Bool {
    guard value.isNumber else { return comparison.holds(nil) }
    return comparison.holds(number.order(of: value))
  }
}

final class TextCheck: WhereCheck {
  private let comparison: WhereClause.Comparison
  /// Text without its escapes.
  private let text: [UInt8]

  init(_ comparison: WhereClause.Comparison, _ text: [UInt8]) {
    (self.comparison, self.text) = (comparison, text)
  }

  func holds(for value: ByteView, _ scratch: ByteBuffer) -> Bool {
    guard let body = value.unquoted else { return comparison.holds(nil) }
    return comparison.holds(body.order(text, hasEscapes: true) ?? decodedOrder(of: body, scratch))
  }

  private func decodedOrder(of body: ByteView, _ scratch: ByteBuffer) -> Int? {
    scratch.removeAll()
    defer { scratch.removeAll() }
    JSONString.decode(body, into: scratch)
    return scratch.view.order(text, hasEscapes: false)
  }
}

final class PatternCheck: WhereCheck {
  let text: String
  private let pattern: Glob

  init(_ text: String) { (self.text, pattern) = (text, Glob(text)) }

  func holds(for value: ByteView, _ scratch: ByteBuffer) -> Bool {
    guard let body = value.unquoted else { return false }
    guard body.holds(UInt8(ascii: "\\")) else { return pattern.matches(body) }
    scratch.removeAll()
    defer { scratch.removeAll() }
    JSONString.decode(body, into: scratch)
    return pattern.matches(scratch.view)
  }
}

extension ByteView {
  /// The text between the quotes of a JSON string; `nil` for any other value.
  fileprivate var unquoted: ByteView? {
    count >= 2 && self[0] == UInt8(ascii: "\"") ? self[1..<(count - 1)] : nil
  }

  fileprivate var isNumber: Bool {
    !isEmpty && (self[0] == UInt8(ascii: "-") || self[0] &- 0x30 < 10)
  }

  /// Returns the order of this text and `other` by their bytes: below, equal to or above 0.
  ///
  /// `nil` if an escape stands before the first difference; behind it, escapes change nothing.
  fileprivate func order(_ other: [UInt8], hasEscapes: Bool) -> Int? {
    for index in 0..<min(count, other.count) {
      if hasEscapes, self[index] == UInt8(ascii: "\\") { return nil }
      if self[index] != other[index] { return Int(self[index]) - Int(other[index]) }
    }
    return count - other.count
  }
}
