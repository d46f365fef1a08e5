/// A JSON value (RFC 8259) that keeps the order of members and the digits of numbers.
///
/// Other libraries have other names:
///
/// - `int`, `intValue`: ``integer``
/// - `float`, `number`: ``double``
/// - `string`, `stringValue`: ``text``
/// - `array`: ``elements``
/// - `object`, `dictionary`: ``members``, or `value["name"]` for one member
/// - `isNull`: `value == .null`
/// - `rawString()`: ``jsonText``
///
/// ``identifier`` reads an id that may be a number or a string.
public enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// The number's own characters, such as `1.10` or `9223372036854775808`.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// Members in their written order; a name may stand twice.
  case object([Member])

  /// A member of an object.
  public struct Member: Sendable, Hashable {
    /// Name with its escapes resolved.
    public var name: String
    /// Value of the member.
    public var value: JSONValue

    /// Creates a member.
    public init(_ name: String, _ value: JSONValue) { (self.name, self.value) = (name, value) }
  }
}

extension JSONValue {
  /// Compares members in order, with a list instead of recursion: the stack may be small.
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

  /// Value of the last member called `name`, as JavaScript reads it; `nil` if there is none.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name.isSame(as: name) }?.value
  }

  /// Text of a string; `nil` for every other kind.
  public var text: String? { if case .string(let text) = self { text } else { nil } }

  /// Whole number that fits 64 bits, even if it was written as a string.
  public var integer: Int? {
    switch self {
    case .number(let digits), .string(let digits): Int(digits)
    default: nil
    }
  }

  /// Elements of an array; `nil` for every other kind.
  public var elements: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// Members of an object; `nil` for every other kind.
  public var members: [Member]? { if case .object(let members) = self { members } else { nil } }

  /// Creates a number from an integer.
  public static func integer(_ value: Int) -> JSONValue { .number(String(value)) }

  /// Identifier as text, written as a string or as a number.
  ///
  /// PHP servers send presence ids as numbers; users compare them as strings.
  public var identifier: String? {
    switch self {
    case .string(let text), .number(let text): text
    default: nil
    }
  }
}

/// Values written as Swift literals: `["text": "hi", "count": 2]`.
extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Creates ``JSONValue/null``.
  public init(nilLiteral: ()) { self = .null }

  /// Creates ``JSONValue/bool(_:)``.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// Creates a whole number.
  public init(integerLiteral value: Int) { self = .number(String(value)) }

  /// Creates a number with its shortest digits; infinities, which JSON lacks, become `null`.
  public init(floatLiteral value: Double) { self = value.isFinite ? .number(String(value)) : .null }

  /// Creates ``JSONValue/string(_:)``.
  public init(stringLiteral value: String) { self = .string(value) }

  /// Creates ``JSONValue/array(_:)``.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates ``JSONValue/object(_:)``, with the members in their written order.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}

extension JSONValue {
  /// Parses `text` (RFC 8259), with white space around the value.
  ///
  /// - Throws: ``JSONError`` with the place of the first bad byte, or for more than 250 levels.
  public init(parsing text: String) throws(JSONError) { self = try JSONParser.parse(text) }

  package static func object(present members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  package static func object(texts members: KeyValuePairs<String, String?>) -> JSONValue {
    .object(members.compactMap { name, text in text.map { Member(name, .string($0)) } })
  }

  /// The value as JSON on one line, without white space; members keep their order.
  public var jsonText: String { JSONWriter.text(self) }

  /// Floating-point value of a number; `nil` for every other kind.
  public var double: Double? { if case .number(let digits) = self { Double(digits) } else { nil } }

  /// Value of `true` or `false`; `nil` for every other kind.
  public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
}

extension JSONValue {
  /// Decodes the value as your type: `try value.decode(Order.self)`.
  ///
  /// A whole number fits every integer type that holds it, even `1.0`; no number becomes an
  /// infinity. The last of members with one name counts. `URL`, `Date`, `Data` and `Decimal` decode
  /// as their own `Decodable` says; for Foundation's rules, pass the text to `JSONDecoder`.
  ///
  /// - Throws: `DecodingError` with the path to the place.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONValueDecoder(self).decode(type)
  }

  /// Encodes a value of your type, with members in the order of encoding.
  ///
  /// - Throws: `EncodingError` for a number that JSON does not have, and errors of the type.
  public init(encoding value: some Encodable) throws {
    let encoder = JSONValueEncoder()
    var container = encoder.singleValueContainer()
    try container.encode(value)
    self = encoder.value
  }

  /// Element of an array; `nil` for every other kind and outside the bounds.
  public subscript(index: Int) -> JSONValue? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  // For literals with variables in them: `["n": .init(count), "name": .init(name)]`.

  /// Creates a string.
  public init(_ text: some StringProtocol) { self = .string(String(text)) }

  /// Creates a whole number.
  public init(_ number: some BinaryInteger) { self = .number("\(number)") }

  /// Creates a number with its shortest digits; infinities, which JSON lacks, become `null`.
  public init(_ number: Double) { self.init(floatLiteral: number) }

  /// Creates `true` or `false`.
  public init(_ flag: Bool) { self = .bool(flag) }
}

extension JSONValue: CustomStringConvertible {
  /// The same as ``jsonText``.
  public var description: String { jsonText }
}

extension JSONValue: Hashable {
  /// Hashes kinds and contents in order, with a list instead of recursion: the stack may be small.
  public func hash(into hasher: inout Hasher) {
    var values = [self]
    while let value = values.popLast() {
      switch value {
      case .null: hasher.combine(0)
      case .bool(let flag): hasher.combine(flag)
      case .number(let digits), .string(let digits): hasher.combine(digits)
      case .array(let elements):
        hasher.combine(elements.count)
        values += elements
      case .object(let members):
        hasher.combine(members.count)
        for member in members { hasher.combine(member.name) }
        values += members.lazy.map(\.value)
      }
    }
  }
}

extension JSONValue: Codable {
  /// Decodes a value from any decoder; numbers outside 64 bits have the precision of `Double`.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? JSONValueDecoder {
      self = decoder.value
    } else if let members = try? decoder.container(keyedBy: PartKey.self) {
      self = .object(
        try members.allKeys.map { .init($0.stringValue, try members.decode(Self.self, forKey: $0)) }
      )
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !elements.isAtEnd { values.append(try elements.decode(Self.self)) }
      self = .array(values)
    } else {
      self = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
    if container.decodeNil() { return .null }
    if let flag = try? container.decode(Bool.self) { return .bool(flag) }
    if let number = try? container.decode(Int64.self) { return .number("\(number)") }
    if let number = try? container.decode(UInt64.self) { return .number("\(number)") }
    if let number = try? container.decode(Double.self) { return .init(number) }
    return .string(try container.decode(String.self))
  }

  /// Encodes the value to any encoder; a number is a whole one if it fits 64 bits, else a `Double`.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: PartKey.self)
      for member in members {
        try container.encode(member.value, forKey: PartKey(stringValue: member.name))
      }
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    default: try encodeScalar(to: encoder.singleValueContainer())
    }
  }

  private func encodeScalar(to container: some SingleValueEncodingContainer) throws {
    var container = container
    switch self {
    case .bool(let flag): try container.encode(flag)
    case .string(let text): try container.encode(text)
    case .number(let digits):
      if let number = Int64(digits) {
        try container.encode(number)
      } else if let number = UInt64(digits) {
        try container.encode(number)
      } else {
        try container.encode(Double(digits) ?? .infinity)
      }
    case .null, .array, .object: try container.encodeNil()
    }
  }
}

extension JSONValue {
  /// The value in the types of `JSONSerialization`: `Int` for integers that fit, `Double` for other
  /// numbers, `nil` for `null`; of members with the same name the last one counts.
  var untyped: Any? {
    switch self {
    case .null: nil
    case .bool(let value): value
    case .number(let digits): Int(digits) ?? Double(digits) ?? digits
    case .string(let text): text
    case .array(let elements): elements.map { $0.untyped as Any }
    case .object(let members):
      Dictionary(members.map { ($0.name, $0.value.untyped as Any) }) { _, last in last }
    }
  }
}
