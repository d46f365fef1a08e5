/// A JSON value (RFC 8259) that keeps the order of members and numbers as written.
public enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// The number's own characters, such as `1.10` or `9223372036854775808`.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// The members in the order in which they were written; a name may stand twice.
  case object([Member])

  /// A name and its value.
  public struct Member: Sendable, Hashable {
    /// The member's name, escapes resolved.
    public var name: String
    /// The member's value.
    public var value: JSONValue

    /// A member.
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }
}

extension JSONValue {
  /// Whether both hold the same, members in the same order.
  ///
  /// The values to compare are kept in a list and not on the stack, which may be small.
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    var pairs = [(left, right)]
    while let (left, right) = pairs.popLast() {
      switch (left, right) {
      case (.null, .null): break
      case (.bool(let left), .bool(let right)): guard left == right else { return false }
      case (.number(let left), .number(let right)), (.string(let left), .string(let right)):
        guard left == right else { return false }
      case (.array(let left), .array(let right)):
        guard left.count == right.count else { return false }
        pairs += zip(left, right)
      case (.object(let left), .object(let right)):
        guard left.count == right.count, zip(left, right).allSatisfy({ $0.name == $1.name }) else {
          return false
        }
        pairs += zip(left, right).lazy.map { ($0.value, $1.value) }
      default: return false
      }
    }
    return true
  }

  /// The value of the last member called `name`, as JavaScript reads it; `nil` when there is none or this is not an
  /// object.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name.isSame(as: name) }?.value
  }

  /// The text of a string; `nil` for every other kind.
  public var text: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The value of a whole number that fits 64 bits, also when it was written as a string.
  public var integer: Int? {
    switch self {
    case .number(let digits), .string(let digits): Int(digits)
    default: nil
    }
  }

  /// The elements of an array; `nil` for every other kind.
  public var elements: [JSONValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The members of an object; `nil` for every other kind.
  public var members: [Member]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// A number from an integer.
  public static func integer(_ value: Int) -> JSONValue { .number(String(value)) }

  /// An identifier as text, whether the peer wrote it as a string or as a number.
  ///
  /// PHP servers send presence ids as numbers; users compare them as strings.
  public var identifier: String? {
    switch self {
    case .string(let text), .number(let text): text
    default: nil
    }
  }
}

/// Values as they are written in Swift: `["text": "hi", "count": 2]`.
extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// ``JSONValue/null``.
  public init(nilLiteral: ()) {
    self = .null
  }

  /// ``JSONValue/bool(_:)``.
  public init(booleanLiteral value: Bool) {
    self = .bool(value)
  }

  /// A whole number.
  public init(integerLiteral value: Int) {
    self = .number(String(value))
  }

  /// A number with the shortest digits that stand for it; JSON has no infinities, which become ``JSONValue/null``.
  public init(floatLiteral value: Double) {
    self = value.isFinite ? .number(String(value)) : .null
  }

  /// ``JSONValue/string(_:)``.
  public init(stringLiteral value: String) {
    self = .string(value)
  }

  /// ``JSONValue/array(_:)``.
  public init(arrayLiteral elements: JSONValue...) {
    self = .array(elements)
  }

  /// ``JSONValue/object(_:)``, the members in the order in which they are written.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}

extension JSONValue {
  /// The value that `text` holds (RFC 8259), white space around it allowed.
  ///
  /// - Throws: ``JSONError`` with the place of the first byte that is not JSON, or the depth limit of 250 levels.
  public init(parsing text: String) throws(JSONError) {
    self = try JSONParser.parse(text)
  }

  /// An object of those members that have a value, in the order in which they are written.
  package static func object(present members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  /// The same for members that are text.
  package static func object(texts members: KeyValuePairs<String, String?>) -> JSONValue {
    .object(members.compactMap { name, text in text.map { Member(name, .string($0)) } })
  }

  /// The value as JSON on one line, members in their order, without white space.
  public var jsonText: String { JSONWriter.text(self) }

  /// The number as a floating-point value; `nil` for every other kind.
  public var double: Double? {
    guard case .number(let digits) = self else { return nil }
    return Double(digits)
  }

  /// `true` or `false`; `nil` for every other kind.
  public var bool: Bool? {
    guard case .bool(let flag) = self else { return nil }
    return flag
  }
}
