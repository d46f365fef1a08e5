/// Reads a `Decodable` type from a ``JSONValue``.
///
/// Numbers are taken only where they fit: a whole number as every integer type that holds it, `1.0` as one too, and no
/// number as an infinity. Of members with one name the last counts. Types that Foundation's decoder treats in its own
/// way, such as `URL` and `Date`, are read as their own `Decodable` says.
struct JSONValueDecoder: Decoder {
  let value: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ value: JSONValue, at codingPath: [any CodingKey] = []) {
    self.value = value
    self.codingPath = codingPath
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

  /// The decoder of a part.
  fileprivate func part(_ value: JSONValue, _ key: any CodingKey) -> JSONValueDecoder {
    JSONValueDecoder(value, at: codingPath + [key])
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let what = "expected \(type), found \(value.kind)"
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: what)
    return value == .null
      ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private func corrupted(_ what: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: what))
  }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard let bool = value.bool else { throw mismatch(type) }
    return bool
  }

  func decode(_ type: String.Type) throws -> String {
    guard let text = value.text else { throw mismatch(type) }
    return text
  }

  func decode(_ type: Double.Type) throws -> Double { try floating(type) }
  func decode(_ type: Float.Type) throws -> Float { try floating(type) }
  func decode(_ type: Int.Type) throws -> Int { try whole(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try whole(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try whole(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try whole(type) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == JSONValue.self, let value = value as? Value { return value }
    return try Value(from: self)
  }

  private func floating<Value: BinaryFloatingPoint & LosslessStringConvertible>(
    _ type: Value.Type
  ) throws -> Value {
    guard case .number(let digits) = value else { throw mismatch(type) }
    guard let number = Value(digits), number.isFinite else {
      throw corrupted("\(digits.prefix(40)) does not fit in \(type)")
    }
    return number
  }

  private func whole<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
    guard case .number(let digits) = value else { throw mismatch(type) }
    if let number = Value(digits) { return number }
    // A whole number may be written with a fraction or an exponent.
    guard !digits.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 == 0x2D }), let double = Double(digits),
      let number = Value(exactly: double)
    else { throw corrupted("\(digits.prefix(40)) does not fit in \(type)") }
    return number
  }
}

/// The members of an object.
private struct ObjectReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: JSONValueDecoder
  private let members: [JSONValue.Member]
  private var values = NameTable<JSONValue>()

  init(_ members: [JSONValue.Member], decoder: JSONValueDecoder) {
    self.members = members
    self.decoder = decoder
    for member in members { values[member.name] = member.value }
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { values.names.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try part(key).decodeNil() }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try part(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try part(key).decode(type) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try part(key).decode(type)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try part(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try part(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try superDecoder(named: PartKey.super) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(named: key) }

  private func superDecoder(named key: any CodingKey) throws -> any Decoder {
    decoder.part(values[key.stringValue] ?? .null, key)
  }

  private func part(_ key: Key) throws -> JSONValueDecoder {
    guard let value = values[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key,
        .init(codingPath: codingPath, debugDescription: "there is no member '\(key.stringValue)'"))
    }
    return decoder.part(value, key)
  }
}

/// The elements of an array.
private struct ArrayReader: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let decoder: JSONValueDecoder
  private(set) var currentIndex = 0

  init(elements: [JSONValue], decoder: JSONValueDecoder) {
    self.elements = elements
    self.decoder = decoder
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try next(JSONValue?.self).decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try next(type).decode(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let container = try next(type).container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try next([JSONValue].self).unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let part = try next(JSONValue.self)
    currentIndex += 1
    return part
  }

  private func next(_ type: Any.Type) throws -> JSONValueDecoder {
    let key = PartKey(index: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(
          codingPath: codingPath + [key],
          debugDescription: "there are only \(elements.count) elements"))
    }
    return decoder.part(elements[currentIndex], key)
  }
}

/// The place of a part in a path.
struct PartKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  static let `super` = PartKey(stringValue: "super")

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    self.init(index: intValue)
  }

  init(index: Int) {
    stringValue = "\(index)"
    intValue = index
  }
}

extension JSONValue {
  /// What it is, in words.
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
