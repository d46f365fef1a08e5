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
