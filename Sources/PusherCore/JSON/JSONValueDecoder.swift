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
    JSONScalar.mismatch(value, type, codingPath)
  }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try JSONScalar.bool(value, codingPath) }
  func decode(_ type: String.Type) throws -> String { try JSONScalar.text(value, codingPath) }
  func decode(_ type: Double.Type) throws -> Double {
    try JSONScalar.floating(value, type, codingPath)
  }
  func decode(_ type: Float.Type) throws -> Float {
    try JSONScalar.floating(value, type, codingPath)
  }
  func decode<Number: Decodable & FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    try JSONScalar.whole(value, type, codingPath)
  }
  // The protocol's defaults for these throw.
  func decode(_ type: Int128.Type) throws -> Int128 {
    try JSONScalar.whole(value, type, codingPath)
  }
  func decode(_ type: UInt128.Type) throws -> UInt128 {
    try JSONScalar.whole(value, type, codingPath)
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == JSONValue.self, let value = value as? Value { return value }
    return try Value(from: self)
  }
}

/// Reads scalars; only an error builds the path.
enum JSONScalar {
  typealias Path = [any CodingKey]

  static func bool(_ value: JSONValue, _ path: @autoclosure () -> Path) throws -> Bool {
    guard case .bool(let bool) = value else { throw mismatch(value, Bool.self, path()) }
    return bool
  }

  static func text(_ value: JSONValue, _ path: @autoclosure () -> Path) throws -> String {
    guard case .string(let text) = value else { throw mismatch(value, String.self, path()) }
    return text
  }

  static func floating<Number: BinaryFloatingPoint & LosslessStringConvertible>(
    _ value: JSONValue, _ type: Number.Type, _ path: @autoclosure () -> Path
  ) throws -> Number {
    guard case .number(let digits) = value else { throw mismatch(value, type, path()) }
    guard let number = Number(digits), number.isFinite else {
      throw corrupted("\(digits.prefix(40)) does not fit in \(type)", path())
    }
    return number
  }

  static func whole<Number: FixedWidthInteger>(
    _ value: JSONValue, _ type: Number.Type, _ path: @autoclosure () -> Path
  ) throws -> Number {
    guard case .number(let digits) = value else { throw mismatch(value, type, path()) }
    if let number = Number(digits) { return number }
    // A whole number may be written with a fraction or an exponent.
    guard !digits.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 == 0x2D }), let double = Double(digits),
      let number = Number(exactly: double)
    else { throw corrupted("\(digits.prefix(40)) does not fit in \(type)", path()) }
    return number
  }

  static func mismatch(_ value: JSONValue, _ type: Any.Type, _ path: Path) -> DecodingError {
    let what = "expected \(type), found \(value.kind)"
    let context = DecodingError.Context(codingPath: path, debugDescription: what)
    return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private static func corrupted(_ what: String, _ path: Path) -> DecodingError {
    .dataCorrupted(.init(codingPath: path, debugDescription: what))
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
