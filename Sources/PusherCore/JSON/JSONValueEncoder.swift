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

  func singleValueContainer() -> any SingleValueEncodingContainer { ValueWriter(encoder: self) }
  fileprivate func set(_ value: JSONValue) { content = .value(value) }

  fileprivate func set(_ number: some BinaryFloatingPoint & LosslessStringConvertible) throws {
    guard number.isFinite else {
      throw EncodingError.invalidValue(
        number, .init(codingPath: codingPath, debugDescription: "JSON has no number for \(number)"))
    }
    set(.number("\(number)"))
  }

  fileprivate func encode(_ value: some Encodable) throws {
    if let value = value as? JSONValue { return set(value) }
    try value.encode(to: self)
  }
}

private struct ValueWriter: SingleValueEncodingContainer {
  let encoder: JSONValueEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() { encoder.set(.null) }
  func encode(_ value: Bool) { encoder.set(.bool(value)) }
  func encode(_ value: String) { encoder.set(.string(value)) }
  func encode(_ value: Double) throws { try encoder.set(value) }
  func encode(_ value: Float) throws { try encoder.set(value) }
  func encode<Number: Encodable & FixedWidthInteger>(_ value: Number) {
    encoder.set(.number("\(value)"))
  }

  func encode(_ value: Int128) { encoder.set(.number("\(value)")) }
  func encode(_ value: UInt128) { encoder.set(.number("\(value)")) }
  func encode(_ value: some Encodable) throws { try encoder.encode(value) }
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
