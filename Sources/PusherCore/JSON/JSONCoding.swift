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

private struct ObjectReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// Above this number of members, a table is faster than a search.
  private let tableSize = 16
  private let decoder: JSONValueDecoder
  private let members: [JSONValue.Member]
  private var places: NameTable<Int>?

  init(_ members: [JSONValue.Member], decoder: JSONValueDecoder) {
    (self.members, self.decoder) = (members, decoder)
    guard members.count > tableSize else { return }
    var places = NameTable<Int>()
    for (place, member) in members.enumerated() { places[member.name] = place }
    self.places = places
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    var names = NameTable<Bool>()
    for member in members { names[member.name] = true }
    return names.names.compactMap(Key.init(stringValue:))
  }

  func contains(_ key: Key) -> Bool { found(key) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

  // The protocol's defaults for these throw.
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try part(key).decode(type) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try part(key).decode(type)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try part(key).decode(type)
  }

  func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type, forKey key: Key) throws
    -> KeyedDecodingContainer<NestedKey>
  { try part(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try part(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { superDecoder(named: PartKey.super) }
  func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(named: key) }

  private func superDecoder(named key: any CodingKey) -> any Decoder {
    JSONValueDecoder(found(key) ?? .null, in: decoder, at: key)
  }

  private func part(_ key: Key) throws -> JSONValueDecoder {
    JSONValueDecoder(try value(key), in: decoder, at: key)
  }

  /// The last member with the name counts.
  private func found(_ key: any CodingKey) -> JSONValue? {
    let name = key.stringValue
    if let places { return places[name].map { members[$0].value } }
    return members.last { $0.name.isSame(as: name) }?.value
  }

  private func value(_ key: Key) throws -> JSONValue {
    if let value = found(key) { return value }
    throw DecodingError.keyNotFound(
      key,
      .init(codingPath: codingPath, debugDescription: "there is no member '\(key.stringValue)'"))
  }
}

private struct ArrayReader: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let decoder: JSONValueDecoder
  private(set) var currentIndex = 0

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
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(
          codingPath: codingPath + [PartKey(intValue: currentIndex)],
          debugDescription: "there are only \(elements.count) elements"))
    }
    return JSONValueDecoder(
      elements[currentIndex], in: decoder, at: PartKey(intValue: currentIndex))
  }
}

struct PartKey: CodingKey {
  /// `nil` for an index.
  private let name: String?
  let intValue: Int?
  var stringValue: String { name ?? intValue.map(String.init) ?? "" }

  static let `super` = PartKey(stringValue: "super")

  init(stringValue: String) {
    name = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    name = nil
    self.intValue = intValue
  }
}

/// Encodes a value with members in the order of encoding; ``JSONValue/init(encoding:)`` uses it.
final class JSONValueEncoder: Encoder {
  private enum Content {
    case nothing
    case value(JSONValue)
    case object(ObjectContent)
    case array(ArrayContent)
  }

  fileprivate final class ObjectContent {
    var names: [String] = []
    var parts = NameTable<JSONValueEncoder>()

    func set(_ part: JSONValueEncoder, for name: String) {
      if parts[name] == nil { names.append(name) }
      parts[name] = part
    }
  }

  fileprivate final class ArrayContent { var parts: [JSONValueEncoder] = [] }

  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  private var content = Content.nothing

  init(at codingPath: [any CodingKey] = []) { self.codingPath = codingPath }

  /// The encoded value; an empty object if there is none.
  var value: JSONValue {
    switch content {
    case .nothing: .object([])
    case .value(let value): value
    case .object(let object):
      .object(object.names.map { .init($0, object.parts[$0]?.value ?? .null) })
    case .array(let array): .array(array.parts.map(\.value))
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .object(let object) = content {
      return KeyedEncodingContainer(ObjectWriter(object: object, codingPath: codingPath))
    }
    let object = ObjectContent()
    content = .object(object)
    return KeyedEncodingContainer(ObjectWriter(object: object, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array(let array) = content { return ArrayWriter(array: array, codingPath: codingPath) }
    let array = ArrayContent()
    content = .array(array)
    return ArrayWriter(array: array, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  fileprivate func set(_ value: JSONValue) { content = .value(value) }

  fileprivate func set(_ number: some BinaryFloatingPoint & LosslessStringConvertible) throws {
    guard number.isFinite else {
      throw EncodingError.invalidValue(
        number, .init(codingPath: codingPath, debugDescription: "JSON has no number for \(number)"))
    }
    set(.number("\(number)"))
  }
}

extension JSONValueEncoder: SingleValueEncodingContainer {
  func encodeNil() { set(.null) }
  func encode(_ value: Bool) { set(.bool(value)) }
  func encode(_ value: String) { set(.string(value)) }
  func encode(_ value: Double) throws { try set(value) }
  func encode(_ value: Float) throws { try set(value) }
  func encode<Number: Encodable & FixedWidthInteger>(_ value: Number) { set(.number("\(value)")) }
  func encode(_ value: Int128) { set(.number("\(value)")) }
  func encode(_ value: UInt128) { set(.number("\(value)")) }

  func encode(_ value: some Encodable) throws {
    if let value = value as? JSONValue { return set(value) }
    try value.encode(to: self)
  }
}

private struct ObjectWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let object: JSONValueEncoder.ObjectContent
  let codingPath: [any CodingKey]

  func encodeNil(forKey key: Key) { part(key).set(.null) }
  func encode(_ value: some Encodable, forKey key: Key) throws { try part(key).encode(value) }

  func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type, forKey key: Key)
    -> KeyedEncodingContainer<NestedKey>
  { part(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    part(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { part(PartKey.super) }
  func superEncoder(forKey key: Key) -> any Encoder { part(key) }

  private func part(_ key: any CodingKey) -> JSONValueEncoder {
    let part = JSONValueEncoder(at: codingPath + [key])
    object.set(part, for: key.stringValue)
    return part
  }
}

private struct ArrayWriter: UnkeyedEncodingContainer {
  let array: JSONValueEncoder.ArrayContent
  let codingPath: [any CodingKey]

  var count: Int { array.parts.count }

  func encodeNil() { part().set(.null) }
  func encode(_ value: some Encodable) throws { try part().encode(value) }

  func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type)
    -> KeyedEncodingContainer<NestedKey>
  { part().container(keyedBy: keyType) }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { part().unkeyedContainer() }
  func superEncoder() -> any Encoder { part() }

  private func part() -> JSONValueEncoder {
    let part = JSONValueEncoder(at: codingPath + [PartKey(intValue: count)])
    array.parts.append(part)
    return part
  }
}
