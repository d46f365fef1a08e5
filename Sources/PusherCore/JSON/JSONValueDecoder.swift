/// Decodes a `Decodable` type from a ``JSONValue``; ``JSONValue/decode(_:)`` has the rules.
final class JSONValueDecoder: Decoder {
  let value: JSONValue
  /// The decoder of the enclosing value, and the place in it; only an error builds the path.
  private let parent: JSONValueDecoder?
  private let key: (any CodingKey)?
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ value: JSONValue, in parent: JSONValueDecoder? = nil, at key: (any CodingKey)? = nil) {
    (self.value, self.parent, self.key) = (value, parent, key)
  }

  var codingPath: [any CodingKey] {
    var path: [any CodingKey] = []
    var place: JSONValueDecoder? = self
    while let decoder = place {
      if let key = decoder.key { path.append(key) }
      place = decoder.parent
    }
    return path.reversed()
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = value.members else { throw mismatch([String: JSONValue].self) }
    return KeyedDecodingContainer(ObjectReader(members, decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.elements else { throw mismatch([JSONValue].self) }
    return ArrayReader(elements: elements, decoder: self)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "expected \(type), found \(value.kind)")
    return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value.isNull }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let bool) = value else { throw mismatch(type) }
    return bool
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let text) = value else { throw mismatch(type) }
    return text
  }

  func decode(_ type: Double.Type) throws -> Double { try floating(type) }
  func decode(_ type: Float.Type) throws -> Float { try floating(type) }
  func decode<Number: Decodable & FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    try whole(type)
  }
  // The protocol's defaults for these throw.
  func decode(_ type: Int128.Type) throws -> Int128 { try whole(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try whole(type) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == JSONValue.self, let value = value as? Value { return value }
    return try Value(from: self)
  }

  private func floating<Number: BinaryFloatingPoint & LosslessStringConvertible>(
    _ type: Number.Type
  ) throws -> Number {
    guard case .number(let digits) = value else { throw mismatch(type) }
    guard let number = Number(digits), number.isFinite else { throw misfit(digits, type) }
    return number
  }

  private func whole<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard case .number(let digits) = value else { throw mismatch(type) }
    if let number = Number(digits) { return number }
    // A whole number may be written with a fraction or an exponent.
    guard !digits.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 == 0x2D }), let double = Double(digits),
      let number = Number(exactly: double)
    else { throw misfit(digits, type) }
    return number
  }

  private func misfit(_ digits: String, _ type: Any.Type) -> DecodingError {
    let text = "\(digits.prefix(40)) does not fit in \(type)"
    return .dataCorrupted(.init(codingPath: codingPath, debugDescription: text))
  }
}

extension JSONValue {
  var isNull: Bool { if case .null = self { true } else { false } }

  fileprivate var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
