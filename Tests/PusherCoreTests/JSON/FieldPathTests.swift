import TestSupport
import Testing

@testable import PusherCore
@testable import PusherLines

struct `The path to a field` {
  private func value(_ path: String, in json: String) throws -> String? {
    let path = try FieldPath(path)
    return withView(Array(json.utf8)) { path.value(in: $0)?.text }
  }

  private static let rows: [(String, String, String?)] = [
    ("a", #"{"a":1}"#, "1"), (".a", #"{"a":1}"#, "1"), ("a.b", #"{"a":{"b":"x"}}"#, #""x""#),
    ("a.0", #"{"a":[7,8]}"#, "7"), ("a[1]", #"{"a":[7,8]}"#, "8"), ("0", "[true]", "true"),
    ("[0]", "[null]", "null"), ("[1][0].a", #"[1,[{"a":[]}]]"#, "[]"),
    ("a.[0]", #"{"a":["x"]}"#, #""x""#), ("10", "[0,1,2,3,4,5,6,7,8,9,10]", "10"),
    ("choices.0.delta.content", #"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#, #""Hel""#),
    ("choices[0].delta", #"{"choices":[{"delta":{"content":1}}]}"#, #"{"content":1}"#),
    ("ä.b c", #"{"ä":{"b c":1.10}}"#, "1.10"), ("a", #"{"a":"x"}"#, #""x""#),
    ("-1", #"{"-1":1}"#, "1"), ("007", #"{"007":1}"#, "1"), ("a", #"{"a":0}"#, "0"),
    ("a", #"{"a":-1.5E+10}"#, "-1.5E+10"), ("a", #"{"a":true}"#, "true"),
    ("a", #"{"a":null}"#, "null"), ("a", #"{"a":"a\"b"}"#, #""a\"b""#),
    ("a", #"{"a":[1,2]}"#, "[1,2]"), ("a", #"{"a":{"b":{}}}"#, #"{"b":{}}"#),
    // A number is a place in an array and a name in an object, in brackets a place only.
    ("0", #"{"0":"name"}"#, #""name""#), ("0", #"["place"]"#, #""place""#),
    ("[0]", #"{"0":"name"}"#, nil), ("00", #"["place"]"#, nil),
    // Without the field.
    ("a", "{}", nil), ("a", "[]", nil), ("a", "1", nil), ("a", #""a""#, nil), ("a", "null", nil),
    ("a.b", #"{"a":1}"#, nil), ("a.b", #"{"a":"b"}"#, nil), ("a.b", #"{"a":null}"#, nil),
    ("a.b", #"{"a.b":1}"#, nil), ("1", "[0]", nil), ("999999999", "[0]", nil),
    ("99999999999999999999", "[0]", nil), ("A", #"{"a":1}"#, nil), ("a", #"{"b":{"a":1}}"#, nil),
    ("e\u{301}", #"{"é":1}"#, nil), (#"a\\n"#, #"{"a\n":1,"a\\n":2}"#, nil),
    ("[0]", #"{"0":1}"#, nil), ("a[1]", #"{"a":[1]}"#, nil), ("b.c", #"{"b":2}"#, nil),
    ("b[0]", #"{"b":2}"#, nil),
    // The last of repeated members counts, and names inside texts and parts do not.
    ("a", #"{"a":1,"b":2,"a":3}"#, "3"), ("a", #"{"a":1,"\u0061":3}"#, "3"),
    ("a", #"{"a":1,"b":[{"a":2}],"a":3,"c":{"a":4}}"#, "3"),
    ("a", #"{"\u0061":3,"a\u0061":1,"A":2}"#, "3"), ("a", #"{"a":3,"b":1}"#, "3"),
    ("a", #"{"x":"a\":1","a":3,"y":["a",{"a":1}]}"#, "3"),
    ("a.b", #"{"a":{"b":1},"a":{"c":2}}"#, nil), ("a.b", #"{"a":{"b":1},"a":2}"#, nil),
    // What looks like a member, but is none.
    (",", #"{"x,":",","k,":5}"#, nil), (",", #"{"x":",",",":1}"#, "1"),
    (":1,", #"{"k,":1,"a":2}"#, nil),
    (#"a":1,"b"#, #"{"z":0,"a":1,"b":2}"#, nil),
    ("}", #"{"a":"{","}":1}"#, "1"), ("a", #"{"b":"{\"a\":1}","c":"a"}"#, nil),
    ("a", #"{"b":"a:","c":",a:"}"#, nil), ("abcdefghi", #"{"abcdefghj":1,"abcdefgh":2}"#, nil),
    ("abcdefghi", #"{"abcdefghi":1,"xabcdefghi":2}"#, "1"),
    ("a", #"{"b":{"a":1},"a":2}"#, "2"), ("a", #"{"a":2,"b":["x","a"]}"#, "2"),
    ("a", #"{"b":"\\","a":2}"#, "2"), ("a", #"{"a":2,"b":"|"}"#, "2"),
    (#"a\"#, #"{"b":",\"a\\\":","c":",\"a\":1"}"#, nil), (#"a\"#, #"{"a\\":1,"b":2}"#, "1"),
    // A name with escapes is the name without them.
    ("ab", #"{"\u0061\u0062":1}"#, "1"), ("é", #"{"\u00e9":1}"#, "1"),
    ("😀", #"{"\ud83d\ude00":1}"#, "1"), ("/", #"{"\/":1}"#, "1"), ("\"", #"{"\"":1}"#, "1"),
    ("\\", #"{"\\":1}"#, "1"), ("\n", #"{"\n":1}"#, "1"), ("\u{FFFD}", #"{"\ud800":1}"#, "1"),
    (#"a\n"#, #"{"a\n":2,"a\\n":1}"#, "1"), ("a\n", #"{"a\n":1,"a\\n":2}"#, "1"),
  ]

  @Test(arguments: rows)
  func `names and places lead to the value`(path: String, json: String, expected: String?) throws {
    #expect(try value(path, in: json) == expected)
  }

  @Test(arguments: [false, true])
  func `deep values cost no stack, on the path and beside it, up to a limit`(objects: Bool) throws {
    let step = objects ? "a" : "0"
    let deep = JSONSamples.nested(9000, objects: objects, around: "1")
    #expect(try value("b", in: #"{"a":\#(deep),"b":2}"#) == "2")
    #expect(try value("a", in: #"{"a":\#(deep),"b":2}"#) == deep)
    let steps = Array(repeating: step, count: 64).joined(separator: ".")
    #expect(try value(steps, in: deep) == JSONSamples.nested(8936, objects: objects, around: "1"))
  }

  private static let mistakes: [(String, FieldPathError)] = [
    ("", .emptyName), (".", .emptyName), ("..", .emptyName), ("..a", .emptyName),
    ("a..b", .emptyName), ("a.", .emptyName), ("a[0].", .emptyName), ("[", .noPlace),
    ("]", .noPlace), ("[]", .noPlace), ("[a]", .noPlace), ("[0", .noPlace), ("[-1]", .noPlace),
    ("[01]", .noPlace), ("[1 ]", .noPlace), ("[0]a", .noPlace), ("[0]]", .noPlace),
    ("a]", .noPlace), ("a[", .noPlace), ("a[[0]]", .noPlace), ("[1000000000]", .noPlace),
    ("[99999999999999999999]", .noPlace),
  ]

  @Test(arguments: mistakes)
  func `a text that is no path is refused`(text: String, expected: FieldPathError) {
    #expect(throws: expected) { try FieldPath(text) }
  }

  @Test func `64 steps are a path, 65 are not`() throws {
    for step in ["a.", "[0]"] {
      func path(_ count: Int) -> String {
        String(repeating: step, count: count) + (step == "a." ? "a" : "[0]")
      }
      _ = try FieldPath(path(63))
      #expect(throws: FieldPathError.tooLong(limit: 64)) { try FieldPath(path(64)) }
    }
  }

  @Test func `a path ends at the view at every length, whatever stands behind it`() throws {
    let guarded = GuardedBytes(room: 512)
    let paths = try ["a.1", "a[1]", "b", "c"].map { try FieldPath($0) }
    for length in 0...100 {
      let text = String(repeating: "x", count: length)
      let quoted = "\"\(text)\""
      let rows = [
        (#"{"b":\#(quoted)}"#, [nil, nil, quoted, nil]),
        (#"{"\#(text)b":0,"a":["",\#(quoted)]}"#, [quoted, quoted, length == 0 ? "0" : nil, nil]),
      ]
      for (json, expected) in rows {
        let view = guarded.view(Array(json.utf8), beforeEnd: 0)
        #expect(paths.map { $0.value(in: view)?.text } == expected, "\(json)")
      }
    }
  }
}

private enum Step: CustomStringConvertible {
  case member(String)
  case element(Int)

  var description: String {
    switch self {
    case .member(let name): ".\(name)"
    case .element(let index): "[\(index)]"
    }
  }

  /// Whether a ``FieldPath`` can say it, and means nothing else.
  var hasSpelling: Bool {
    guard case .member(let name) = self else { return true }
    return !name.isEmpty && !name.utf8.contains { [UInt8](".[]".utf8).contains($0) }
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

/// Returns the value at a path in compact JSON, which ends before a protected page.
private func value(_ steps: [Step], in json: [UInt8]) -> String? {
  let guarded = GuardedBytes(room: 1 << 16)
  return withExtendedLifetime(guarded) {
    path(steps).value(in: $0.view(json, beforeEnd: 0))?.text
  }
}

/// Returns JSON without the blanks between its tokens.
private func compacted(_ json: String) throws -> [UInt8] {
  let compact = ByteBuffer()
  try withView(Array(json.utf8)) { try JSONCompactor.copy($0, into: compact) }
  return compact.view.array
}

struct `A path into JSON` {
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `random paths lead to the values of the parsed tree, in any spelling`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let tree = RandomJSON.value(depth: random.pick([1, 5]), &random)
      let text = random.pick(JSONEncoding.all).text(tree)
      let json = try compacted(text)
      for _ in 0..<4 {
        let steps = steps(into: tree, &random)
        let expected = steps.reduce(tree as JSONValue?) { $0.flatMap($1.part) }
        let found = try value(steps, in: json).map(JSONParser.parse)
        #expect(found == expected, "\(steps) in \(text)")
        guard steps.allSatisfy(\.hasSpelling) else { continue }
        let path = try FieldPath(steps.map(\.description).joined())
        let field = try withView(json) { try path.value(in: $0).map(JSONParser.parse) }
        #expect(field == expected, "\(path.text) in \(text)")
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
        let member = random.pick(members)
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
