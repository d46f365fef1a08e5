struct ObjectReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
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

struct ArrayReader: UnkeyedDecodingContainer {
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
