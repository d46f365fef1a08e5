import TestSupport
import Testing

@testable import PusherCore
@testable import PusherLines

private enum Step: CustomStringConvertible {
  case member(String)
  case element(Int)

  var description: String {
    switch self {
    case .member(let name): ".\(name)"
    case .element(let index): "[\(index)]"
    }
  }

  func part(of value: JSONValue) -> JSONValue? {
    switch self {
    case .member(let name): return value.members?.last { $0.name.isSame(as: name) }?.value
    case .element(let index):
      guard let elements = value.elements, index < elements.count else { return Optional.none }
      return elements[index]
    }
  }
}

private func path(_ steps: [Step]) -> JSONPath {
  var path = JSONPath()
  for step in steps {
    switch step {
    case .member(let name): path.append(name: name.utf8)
    case .element(let index): path.append(index: index)
    }
  }
  return path
}

/// Returns the value at a path in JSON, which ends before a protected page.
private func value(_ steps: [Step], in json: String) throws -> String? {
  let guarded = GuardedBytes(room: 1 << 16)
  return try withExtendedLifetime(guarded) {
    try path(steps).value(in: $0.view(Array(json.utf8), beforeEnd: 0))?.text
  }
}

@Suite("A path into JSON") struct JSONPathTests {
  @Test(arguments: [
    (#"{"a":1,"b":[{"a":2}],"a":3,"c":{"a":4}}"#, "3"), (#"{"a":1,"\u0061":3}"#, "3"),
    (#"{"\u0061":3,"a\u0061":1,"A":2}"#, "3"), (#"{ "a" : 3 , "b" : 1 }"#, "3"),
    (#"{"x":"a\":1","a":3,"y":["a",{"a":1}]}"#, "3"),
  ])
  func `the last of repeated members counts, and names inside texts and parts do not`(
    json: String, expected: String
  ) throws {
    #expect(try value([.member("a")], in: json) == expected)
  }

  @Test func `a value has its own bytes`() throws {
    for text in ["0", "-1.5E+10", "true", "null", #""a\"b""#, "[1 , 2]", #"{"b" : {}}"#] {
      #expect(try value([.member("a")], in: #"{"a": \#(text) }"#) == text)
    }
  }

  @Test func `a name with a backslash is not the name whose escape is written alike`() throws {
    let json = #"{"a\n":1,"a\\n":2}"#
    #expect(try value([.member(#"a\n"#)], in: json) == "2")
    #expect(try value([.member("a\n")], in: json) == "1")
    #expect(try value([.member(#"a\\n"#)], in: json) == nil)
  }

  @Test func `a step that the value does not have leads nowhere`() throws {
    let json = #"{"a":[1],"b":2,"0":3}"#
    for steps: [Step] in [
      [.member("c")], [.element(0)], [.member("a"), .element(1)], [.member("a"), .member("0")],
      [.member("b"), .member("c")], [.member("b"), .element(0)],
    ] {
      #expect(try value(steps, in: json) == nil, "\(steps)")
    }
  }

  @Test func `cut JSON is an error, wherever the value is`() throws {
    let json = #"{"a":{"b":[1,{"c":"}"}]},"d":-1.5e3}"#
    for count in 0..<json.utf8.count {
      let cut = String(json.prefix(count))
      for steps: [Step] in [
        [.member("a")], [.member("d")], [.member("a"), .member("b"), .element(1), .member("c")],
      ] {
        #expect(throws: JSONError.self, "\(cut)") { try value(steps, in: cut) }
      }
    }
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `random paths lead to the values of the parsed tree`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let tree = RandomJSON.value(depth: 5, &random)
      let json = JSONEncoding.all[random.below(JSONEncoding.all.count)].text(tree)
      for _ in 0..<4 {
        let steps = steps(into: tree, &random)
        let expected = steps.reduce(tree as JSONValue?) { $0.flatMap($1.part) }
        let found = try value(steps, in: json).map(JSONParser.parse)
        #expect(found == expected, "\(steps) in \(json)")
      }
    }
  }

  /// A path that often leads to a value.
  private func steps(into tree: JSONValue, _ random: inout SeededGenerator) -> [Step] {
    var steps: [Step] = []
    var value = tree
    while steps.isEmpty || random.below(4) > 0 {
      switch value {
      case .object(let members) where !members.isEmpty:
        let member = members[random.below(members.count)]
        steps.append(.member(member.name))
        value = member.value
      case .array(let elements) where !elements.isEmpty:
        let index = random.below(elements.count)
        steps.append(.element(index))
        value = elements[index]
      default: return steps + [random.below(2) == 0 ? .element(random.below(3)) : .member("x")]
      }
    }
    return steps
  }
}
