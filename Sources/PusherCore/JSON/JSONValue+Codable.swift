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
