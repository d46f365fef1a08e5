import Foundation
import PusherCore
import TestSupport
import Testing

/// Foundation's coders decide: same JSON, same types, same values.
struct `JSON values as types of your own` {
  private struct Order: Codable, Equatable {
    enum State: String, Codable { case open, paid }

    struct Item: Codable, Equatable {
      var name: String
      var prices: [Double]
    }

    var id: Int
    var state: State
    var note: String?
    var items: [Item]
    var tags: [String: Bool]
    var extra: JSONValue?
  }

  private static let text = """
    {"id":7,"state":"paid","items":[{"name":"é","prices":[1.10,2,1e2]},{"name":"","prices":[]}],\
    "tags":{"a":true,"b":false},"extra":{"deep":[null,7]},"unknown":1}
    """

  @Test func `a type is read as Foundation reads it`() throws {
    let order = try JSONValue(parsing: Self.text).decode(Order.self)
    #expect(order == (try JSONDecoder().decode(Order.self, from: Data(Self.text.utf8))))
    #expect(order.items[0].prices == [1.1, 2, 100] && order.note == nil)
  }

  @Test func `an event is decoded, and one without JSON says which event it was`() throws {
    let event = PusherEvent(eventName: "order", channelName: "a", data: Self.text)
    #expect(try event.decode(Order.self).id == 7)
    let number: Int = try PusherEvent(eventName: "n", data: "42").decode()
    #expect(number == 42)
    for data in [nil, "no JSON"] {
      let error = try #require(throws: DecodingError.self) {
        try PusherEvent(eventName: "order", data: data).decode(Order.self)
      }
      #expect("\(error)".contains("event order"))
    }
  }

  @Test(
    arguments: [
      ("1", 1), ("1.0", 1), ("1e2", 100), ("-0", 0), ("127", 127), ("-128", -128), ("128", nil),
      ("-129", nil), ("1.5", nil), ("1e400", nil), ("true", nil), ("\"1\"", nil), ("null", nil),
      ("[]", nil), ("{}", nil),
    ] as [(String, Int8?)])
  func `a whole number is one in any form, as to Foundation`(text: String, value: Int8?) throws {
    #expect((try? JSONValue(parsing: text).decode(Int8.self)) == value)
    #expect((try? JSONDecoder().decode(Int8.self, from: Data(text.utf8))) == value)
    if value == nil {
      #expect(throws: DecodingError.self) { try JSONValue(parsing: text).decode(Int8.self) }
    }
  }

  @Test func `large numbers keep every digit, and values of any kind theirs`() throws {
    let exact = try JSONValue(parsing: #"{"a":1.10,"b":1e400}"#)
    #expect(try exact.decode([String: JSONValue].self)["a"] == .number("1.10"))
    #expect(try JSONValue(encoding: ["x": exact]).jsonText == #"{"x":{"a":1.10,"b":1e400}}"#)
    let large = "340282366920938463463374607431768211455"
    #expect(try JSONValue(parsing: large).decode(UInt128.self) == .max)
    struct Large: Decodable {
      let number: UInt128
      let negative: Int128
    }
    let member = try JSONValue(parsing: #"{"number":\#(large),"negative":-1}"#).decode(Large.self)
    #expect(member.number == .max && member.negative == -1)
    #expect(try JSONValue(parsing: "[\(large)]").decode([UInt128].self) == [.max])
    #expect(try JSONValue(encoding: UInt128.max).jsonText == large)
    #expect(try JSONValue(parsing: "18446744073709551615").decode(UInt64.self) == .max)
    #expect(throws: DecodingError.self) { try JSONValue(parsing: "1e400").decode(Double.self) }
    #expect(throws: DecodingError.self) { try JSONValue(parsing: "1e39").decode(Float.self) }
  }

  @Test(arguments: [
    (#"{"id":"x"}"#, "id"), (#"{"id":1,"state":"lost"}"#, "state"),
    (#"{"id":1,"state":"open","items":[{"name":"a","prices":[1,"x"]}]}"#, "items.0.prices.1"),
    (#"{"id":1,"state":"open","items":[{"prices":[]}]}"#, "items.0"), ("[]", ""), ("null", ""),
  ])
  func `an error names the path as Foundation does`(text: String, path: String) throws {
    func place(of decode: () throws -> Order) throws -> String? {
      switch try #require(throws: DecodingError.self, performing: { try decode() }) {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .keyNotFound(_, let context), .dataCorrupted(let context):
        return context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
          .joined(separator: ".")
      @unknown default: return nil
      }
    }
    #expect(try place { try JSONValue(parsing: text).decode(Order.self) } == path)
    let data = Data(text.utf8)
    #expect(try place { try JSONDecoder().decode(Order.self, from: data) } == path)
  }

  @Test func `the last member of a name counts, and names are compared by their bytes`() throws {
    #expect(try JSONValue(parsing: #"{"a":1,"a":2}"#).decode([String: Int].self) == ["a": 2])
    struct Named: Decodable {
      var number: Int
      private enum CodingKeys: String, CodingKey { case number = "\u{E9}" }
    }
    let composed = try JSONValue(parsing: "{\"\u{E9}\":1,\"e\u{301}\":2}")
    #expect(try composed.decode(Named.self).number == 1)
  }

  @Test func `a type is written in the order of its members, and read by Foundation`() throws {
    let order = try JSONValue(parsing: Self.text).decode(Order.self)
    let value = try JSONValue(encoding: order)
    #expect(value.members?.map(\.name) == ["id", "state", "items", "tags", "extra"])
    #expect(value["extra"]?.jsonText == #"{"deep":[null,7]}"#)
    #expect(try JSONDecoder().decode(Order.self, from: Data(value.jsonText.utf8)) == order)
  }

  @Test func `what JSON has no number for is refused with its path`() throws {
    for number in [Double.nan, .infinity, -.infinity] {
      let error = try #require(throws: EncodingError.self) {
        try JSONValue(encoding: ["a": [number]])
      }
      guard case .invalidValue(_, let context) = error else { return unexpected(error) }
      #expect(context.codingPath.map(\.stringValue) == ["a", "0"])
    }
  }

  private class Animal: Codable {
    var legs: Int
    init(legs: Int) { self.legs = legs }
  }

  private final class Dog: Animal {
    var name: String
    private enum Keys: String, CodingKey { case name }

    init(name: String) {
      self.name = name
      super.init(legs: 4)
    }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      name = try container.decode(String.self, forKey: .name)
      try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(name, forKey: .name)
      try super.encode(to: container.superEncoder())
    }
  }

  @Test func `a class and what it inherits, nested containers and bare values`() throws {
    let value = try JSONValue(encoding: Dog(name: "rex"))
    #expect(value.jsonText == #"{"name":"rex","super":{"legs":4}}"#)
    let dog = try value.decode(Dog.self)
    #expect(dog.name == "rex" && dog.legs == 4)
    #expect(try JSONValue(encoding: [Int?.some(1), nil]).jsonText == "[1,null]")
    #expect(try JSONValue(encoding: "text").jsonText == #""text""#)
    #expect(try JSONValue(encoding: [[1], []]).jsonText == "[[1],[]]")
    struct Empty: Codable {}
    #expect(try JSONValue(encoding: Empty()).jsonText == "{}")
  }

  /// Returns values without duplicate names and without numbers that `Double` cannot hold, which
  /// other coders lose.
  private func random(_ random: inout SeededGenerator, depth: Int = 0) -> JSONValue {
    let count = random.below(4)
    switch random.below(depth > 3 ? 4 : 6) {
    case 0: return .null
    case 1: return .bool(count > 1)
    case 2: return .number("\(random.below(2_000_001) - 1_000_000)")
    case 3: return .string(String("aé\u{1F600}\"\\\n".shuffled(using: &random)))
    case 4: return .array((0..<count).map { _ in self.random(&random, depth: depth + 1) })
    default:
      return .object((0..<count).map { .init("k\($0)", self.random(&random, depth: depth + 1)) })
    }
  }

  private func sorted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): .array(elements.map(sorted))
    case .object(let members):
      .object(members.map { .init($0.name, sorted($0.value)) }.sorted { $0.name < $1.name })
    default: value
    }
  }

  @Test func `values pass through our coder and Foundation's, and stay what they are`() throws {
    var generator = SeededGenerator(seed: 14)
    for _ in 0..<500 {
      let value = random(&generator)
      #expect(try JSONValue(encoding: value) == value)
      #expect(try value.decode(JSONValue.self) == value)
      let data = try JSONEncoder().encode(value)
      #expect(sorted(try JSONDecoder().decode(JSONValue.self, from: data)) == sorted(value))
      #expect(
        sorted(try JSONValue(parsing: String(decoding: data, as: UTF8.self))) == sorted(value))
    }
  }

  @Test func `parts are found by name and index, and nothing by a wrong one`() throws {
    let value = try JSONValue(parsing: #"{"a":[1,{"b":"c"}]}"#)
    #expect(value["a"]?[1]?["b"]?.text == "c")
    #expect(value["a"]?[2] == nil && value["a"]?[-1] == nil && value[0] == nil)
  }

  @Test func `literals take variables, and a value describes itself as JSON`() {
    let (name, count, price, isNew) = ("rex"[...], 3 as UInt8, 1.5, true)
    let value: JSONValue = [
      "name": .init(name), "count": .init(count), "price": .init(price), "new": .init(isNew),
    ]
    #expect("\(value)" == #"{"name":"rex","count":3,"price":1.5,"new":true}"#)
  }

  @Test func `equal values are one in a set`() throws {
    var generator = SeededGenerator(seed: 5)
    let values = (0..<200).map { _ in random(&generator) }
    let texts = Set(values.map(\.jsonText))
    #expect(Set(values + values).count == texts.count)
  }
}
