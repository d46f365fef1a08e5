import TestSupport
import Testing

@testable import PusherCore
@testable import PusherLines

@Suite("The path to a field") struct FieldPathTests {
  private func value(_ path: String, in json: String) throws -> String? {
    let path = try FieldPath(path)
    return withView(Array(json.utf8)) { path.value(in: $0)?.text }
  }

  @Test(arguments: [
    ("a", #"{"a":1}"#, "1"), (".a", #"{"a":1}"#, "1"), ("a.b", #"{"a":{"b":"x"}}"#, #""x""#),
    ("a.0", #"{"a":[7,8]}"#, "7"), ("a[1]", #"{"a":[7,8]}"#, "8"), ("0", "[true]", "true"),
    ("[0]", "[null]", "null"), ("[1][0].a", #"[1,[{"a":[]}]]"#, "[]"),
    ("a.[0]", #"{"a":["x"]}"#, #""x""#), ("10", "[0,1,2,3,4,5,6,7,8,9,10]", "10"),
    (
      "choices.0.delta.content", #"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
      #""Hel""#
    ),
    ("choices[0].delta", #"{"choices":[{"delta":{ "content" : 1 }}]}"#, #"{ "content" : 1 }"#),
    ("ä.b c", #"{"ä":{"b c":1.10}}"#, "1.10"), ("a", " {\n\"a\" : \"x\" }\r\n", #""x""#),
    ("-1", #"{"-1":1}"#, "1"), ("007", #"{"007":1}"#, "1"),
  ])
  func `names and places lead to the bytes of the value`(
    path: String, json: String, expected: String
  ) throws {
    #expect(try value(path, in: json) == expected)
  }

  @Test func `a number is a place in an array and a name in an object, in brackets a place only`()
    throws
  {
    #expect(try value("0", in: #"{"0":"name"}"#) == #""name""#)
    #expect(try value("0", in: #"["place"]"#) == #""place""#)
    #expect(try value("[0]", in: #"{"0":"name"}"#) == nil)
    #expect(try value("00", in: #"["place"]"#) == nil)
  }

  @Test(arguments: [
    ("a", "{}"), ("a", "[]"), ("a", "1"), ("a", #""a""#), ("a", "null"), ("a.b", #"{"a":1}"#),
    ("a.b", #"{"a":"b"}"#), ("a.b", #"{"a":null}"#), ("a.b", #"{"a.b":1}"#), ("1", "[0]"),
    ("999999999", "[0]"), ("99999999999999999999", "[0]"), ("A", #"{"a":1}"#),
    ("a", #"{"b":{"a":1}}"#), ("e\u{301}", #"{"é":1}"#),
  ])
  func `without the field there is no value`(path: String, json: String) throws {
    #expect(try value(path, in: json) == nil)
  }

  @Test func `the last of repeated members counts, however its name is written`() throws {
    #expect(try value("a", in: #"{"a":1,"b":2,"a":3}"#) == "3")
    #expect(try value("a", in: #"{"a":1,"\u0061":2}"#) == "2")
    #expect(try value("a.b", in: #"{"a":{"b":1},"a":{"c":2}}"#) == nil)
    #expect(try value("a.b", in: #"{"a":{"b":1},"a":2}"#) == nil)
  }

  @Test(arguments: [
    (#"{"\u0061\u0062":1}"#, "ab"), (#"{"\u00e9":1}"#, "é"), (#"{"\ud83d\ude00":1}"#, "😀"),
    (#"{"\/":1}"#, "/"), (#"{"\"":1}"#, "\""), (#"{"\\":1}"#, "\\"), (#"{"\n":1}"#, "\n"),
    (#"{"\ud800":1}"#, "\u{FFFD}"),
  ])
  func `a name with escapes is the name without them`(json: String, path: String) throws {
    #expect(try value(path, in: json) == "1")
  }

  @Test(arguments: JSONSamples.invalid)
  func `a container with a mistake has no fields, not even before the mistake`(text: String) throws
  {
    for path in ["a", "[1]"] { #expect(try value(path, in: text) == nil) }
    // That one is whole inside an object, with a brace after the object.
    if text == "{}}" { return }
    #expect(try value("a", in: #"{"a":1,"b":\#(text)}"#) == nil)
  }

  @Test func `any depth has fields, up to a limit that spares the stack`() throws {
    for objects in [false, true] {
      let path = objects ? "a" : "0"
      let deep = JSONSamples.nested(250, objects: objects, around: "1")
      #expect(try value(path, in: deep) != nil)
      let steps = Array(repeating: path, count: 64).joined(separator: ".")
      #expect(
        try value(steps, in: deep) == JSONSamples.nested(186, objects: objects, around: "1"))
    }
    #expect(try value("0", in: String(repeating: "[", count: 1_000_000)) == nil)
    #expect(try value("a", in: String(repeating: #"{"a":"#, count: 1_000_000)) == nil)
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
    let path = try FieldPath("a.1")
    for length in 0...100 {
      let text = String(repeating: "x", count: length)
      let json = Array(#"{"\#(text)b":0,"a":["","\#(text)"]}"#.utf8)
      for count in 0...json.count {
        let found = path.value(in: guarded.view(Array(json[..<count]), beforeEnd: 0))
        #expect(found?.text == (count == json.count ? "\"\(text)\"" : nil))
      }
    }
  }

  @Test(arguments: 0..<6 as Range<UInt64>)
  func `every value of a random tree is found by its path`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let tree = RandomJSON.object(depth: 4, &random)
      let encoding = JSONEncoding.all[Int.random(in: 0..<JSONEncoding.all.count, using: &random)]
      try withView(Array(encoding.text(tree).utf8)) { try check(tree, "", in: $0) }
    }
  }

  private func check(_ value: JSONValue, _ path: String, in json: ByteView) throws {
    if !path.isEmpty {
      let found = try #require(try FieldPath(path).value(in: json), "\(path) in \(json.text)")
      #expect(try JSONParser.parse(found) == value, "\(path) in \(json.text)")
    }
    switch value {
    case .array(let elements):
      for (place, element) in elements.enumerated() {
        try check(element, "\(path)[\(place)]", in: json)
      }
    case .object(let members):
      for name in Set(members.map(\.name)) where !name.isEmpty && Self.isPlain(name) {
        try check(try #require(value[name]), path + (path.isEmpty ? "" : ".") + name, in: json)
      }
    default: break
    }
  }

  /// A name with these bytes has no spelling in a path.
  private static func isPlain(_ name: String) -> Bool {
    !name.utf8.contains { [UInt8](".[]".utf8).contains($0) }
  }
}
