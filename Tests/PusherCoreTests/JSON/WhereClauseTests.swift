import TestSupport
import Testing

@testable import PusherCore
@testable import PusherLines

private func clause(_ text: String) throws(WhereFault) -> WhereClause { try WhereClause(text) }

private func fault(_ text: String) -> WhereFault? {
  do throws(WhereFault) {
    _ = try clause(text)
    return nil
  } catch { return error }
}

/// Evaluates against a line of these bytes, which ends before a protected page.
private func holds(_ text: String, _ line: String) throws -> Bool {
  let clause = try clause(text)
  let scratch = ByteBuffer()
  let bytes = Array(line.utf8)
  let guarded = GuardedBytes(room: bytes.count + 64)
  return withExtendedLifetime(guarded) {
    clause.holds(for: $0.view(bytes, beforeEnd: 0), scratch)
  }
}

/// Evaluates against a line with this data.
private func holds(_ text: String, data: String) throws -> Bool {
  try holds(text, #"{"event":"e","channel":"c","data":"# + data + "}\n")
}

@Suite("--where: expressions")
struct WhereParserTests {
  @Test(arguments: [
    "data", "event", "channel", "user_id", "id", "data.id", "data[0]", "data[0][12].a",
    "data.user-id", "data.\u{E9}.$x:y", " data ", "data.a==1", "data.a == 1",
    "\tdata.a  ==\t1 ", #"data.a == "x""#, "data.a != null",
    "data.a == true", "data.a == false", "data.a <= -1.5e+3", #"data.a > "2026""#,
    #"data.a ~ "x""#, #"data.a~"x""#, "data.a[999999999]", #"data.a == "\ud83d\ude00\n""#,
  ])
  func `an expression is a path, alone or with an operator and a value`(text: String) {
    #expect(fault(text) == nil)
  }

  private static let refused: [(String, WhereFault)] = [
    ("", .noName), (" ", .noName), (".data", .noName), ("data.", .noName),
    ("data..a", .noName), ("data. a", .noName), ("[0]", .noName), ("== 1", .noName),
    (#""data" == 1"#, .noName), ("data.[0]", .noName),
    ("status == 1", .unknownField("status")), ("Data", .unknownField("Data")),
    ("data[]", .badIndex), ("data[-1]", .badIndex), ("data[0", .badIndex), ("data[a]", .badIndex),
    ("data[1000000000]", .badIndex), ("data[99999999999999999999]", .badIndex),
    ("data[0 ]", .badIndex),
    ("data.a = 1", .unknownOperator("= 1")), ("data.a 1", .unknownOperator("1")),
    ("data.a !", .unknownOperator("!")), ("data[0]a", .unknownOperator("a")),
    ("data.a and data.b", .unknownOperator("and data.b")),
    ("data.a ==", .noValue), ("data.a == ", .noValue), ("data.a ~", .noValue),
    (#"data.a == "x"#, .badText), (#"data.a == "\x""#, .badText), (#"data.a ~ "\.""#, .badText),
    (#"data.a == "\u12""#, .badText), ("data.a == \"\n\"", .badText),
    ("data.a == paid", .unknownValue("paid")), ("data.a == 'x'", .unknownValue("'x'")),
    ("data.a == -", .unknownValue("-")), ("data.a == .5", .unknownValue(".5")),
    ("data.a == +1", .unknownValue("+1")), ("data.a == [1]", .unknownValue("[1]")),
    ("data.a == {}", .unknownValue("{}")), ("data.a === 1", .unknownValue("= 1")),
    ("data.a == 01", .trailing("1")), (#"data.a == "x" && data.b"#, .trailing("&& data.b")),
    ("data.a == truex", .trailing("x")), ("data.a == 1 2", .trailing("2")),
    ("data.a < true", .noOrder(operator: "<")), ("data.a >= null", .noOrder(operator: ">=")),
    ("data.a ~ 1", .patternIsNoText), ("data.a ~ null", .patternIsNoText),
  ]

  @Test(arguments: refused)
  func `everything else is refused with its reason`(text: String, reason: WhereFault) {
    #expect(fault(text) == reason, "\(text)")
  }

  @Test func `an unknown word is shown up to 40 bytes`() {
    let long = String(repeating: "x", count: 41)
    #expect(fault("data == \(long.dropLast())") == .unknownValue(String(long.dropLast())))
    #expect(fault("data == \(long)") == .unknownValue(String(long.dropLast()) + "…"))
  }

  @Test func `an expression has up to 4096 bytes`() {
    let name = String(repeating: "a", count: WhereClause.longestText - 5)
    #expect(fault("data." + name) == nil)
    #expect(fault("data." + name + "a") == .tooLong(limit: 4096))
  }

  @Test func `a path has up to 64 names and indices`() {
    #expect(fault("data" + String(repeating: "[0]", count: 63)) == nil)
    #expect(fault("data" + String(repeating: "[0]", count: 64)) == .pathTooLong(limit: 64))
    #expect(fault("data" + String(repeating: ".a", count: 64)) == .pathTooLong(limit: 64))
  }

  @Test func `expressions are equal if their bytes are`() throws {
    #expect(try clause("data.a == 1") == clause("data.a == 1"))
    #expect(try clause("data.a == 1") != clause("data.a==1"))
    #expect(try clause("data.\u{E9}") != clause("data.e\u{301}"))
  }
}

@Suite("--where: values")
struct WhereClauseTests {
  private static let existence: [(String, String, Bool)] = [
    ("data", "null", true), ("data.a", #"{"a":null}"#, true), ("data.a", #"{"b":1}"#, false),
    ("data.a", "[1]", false), ("data.a", "1", false), ("data.a", #""a""#, false),
    ("data.a", "{}", false), ("data.a.b", #"{"a":{"b":[]}}"#, true),
    ("data.a.b", #"{"a":1,"b":2}"#, false), ("data[0]", "[]", false), ("data[0]", "[null]", true),
    ("data[1]", "[[1,2],3]", true), ("data[2]", "[[1,2],3]", false),
    ("data[0][1]", "[[1,2],3]", true), ("data[0]", #"{"0":1}"#, false),
    ("data.0", #"{"0":1}"#, true), ("data.0", "[1]", false),
    ("data.a[1].b", #"{"a":[{"b":1},{"c":[{}],"b":{"d":"}"}}]}"#, true),
    ("id", "1", false), ("event", "1", true), ("user_id", "1", false),
  ]

  @Test(arguments: existence)
  func `a path alone asks for existence`(path: String, data: String, expected: Bool) throws {
    #expect(try holds(path, data: data) == expected)
  }

  @Test func `all fields of the line can be asked`() throws {
    let line =
      #"{"received_at":"t","event":"e","channel":null,"user_id":"7","id":"8","data":{"x":[1,2]}}"#
    for text in [
      #"event == "e""#, "channel == null", #"user_id == "7""#, #"id == "8""#, "data.x[1] == 2",
    ] {
      #expect(try holds(text, line), "\(text)")
    }
  }

  private static let numbers: [(String, String, Int)] = [
    ("1", "1", 0), ("1", "1.0", 0), ("1", "10e-1", 0), ("1", "0.1E1", 0), ("100", "1e2", 0),
    ("0", "-0", 0), ("0", "0.000e99", 0), ("0.05", "5e-2", 0), ("-1.50", "-1.5", 0),
    ("1", "2", -1), ("2", "1", 1), ("9", "10", -1), ("1.5", "1.45", 1), ("-1", "-2", 1),
    ("-1", "1", -1), ("0", "-1", 1), ("-0.001", "0", -1), ("0.5", "0", 1), ("123", "1234", -1),
    ("12.3", "12", 1), ("12", "12.3", -1), ("-12", "-12.3", 1),
    ("9007199254740993", "9007199254740992", 1),
    ("18446744073709551616", "18446744073709551615", 1),
    ("1e400", "1e399", 1), ("1e400", "1e400", 0), ("1e-400", "0", 1), ("-1e400", "1e-400", -1),
    ("1e99999999999999999999", "1e400", 1), ("1e-99999999999999999999", "1e-400", -1),
    ("999999999999999999", "1000000000000000000", -1), ("-999999999999999999", "-1e18", 1),
    ("123456789012345678", "123456789012345678.0", 0), ("1000", "1e3", 0), ("-7", "-8", 1),
    ("0e99999999999999999999", "0", 0), ("1e99999999999999999999", "1e-99999999999999999999", 1),
  ]

  @Test(arguments: numbers)
  func `numbers are compared by their exact values`(left: String, right: String, order: Int) throws
  {
    let expected: [(String, Bool)] = [
      ("==", order == 0), ("!=", order != 0), ("<", order < 0), ("<=", order <= 0),
      (">", order > 0), (">=", order >= 0),
    ]
    for (name, truth) in expected {
      #expect(try holds("data \(name) \(right)", data: left) == truth, "\(left) \(name) \(right)")
    }
  }

  private static let texts: [(String, String, Int)] = [
    ("a", "a", 0), ("a", "b", -1), ("b", "a", 1), ("", "", 0), ("", "a", -1), ("ab", "a", 1),
    ("A", "a", -1), ("z", "\u{E9}", -1), ("\u{FFFF}", "\u{1F600}", -1), ("10", "9", -1),
    ("\u{E9}", "e\u{301}", 1), ("2026-11-25", "2026-12-01", -1),
  ]

  @Test(arguments: texts)
  func `texts are compared by their bytes`(left: String, right: String, order: Int) throws {
    let expected: [(String, Bool)] = [
      ("==", order == 0), ("!=", order != 0), ("<", order < 0), ("<=", order <= 0),
      (">", order > 0), (">=", order >= 0),
    ]
    for (name, truth) in expected {
      #expect(
        try holds("data \(name) \"\(right)\"", data: "\"\(left)\"") == truth,
        "\(left) \(name) \(right)")
    }
  }

  private static let escapes: [(String, String)] = [
    (#"\u0061"#, "a"), ("a", #"\u0061"#), (#"\/"#, "/"), (#"\"\\"#, #"\"\\"#),
    (#"\ud83d\ude00"#, "\u{1F600}"), ("\u{1F600}", #"\uD83D\uDE00"#), (#"\ud83d"#, #"\ufffd"#),
    (#"\ude00"#, "\u{FFFD}"), (#"\ud83d\u0061"#, "\u{FFFD}a"), (#"\n\t\b\f\r"#, #"\n\t\b\f\r"#),
    (#"\u0000"#, #"\u0000"#),
  ]

  @Test(arguments: escapes)
  func `escapes stand for their characters on both sides`(value: String, operand: String) throws {
    #expect(try holds("data == \"\(operand)\"", data: "\"\(value)\""))
    #expect(try !holds("data == \"\(operand)x\"", data: "\"\(value)\""))
  }

  private static let escapedOrders: [(String, String, Int)] = [
    (#"a\u0062"#, "ab", 0), (#"a\u0062c"#, "abd", -1), (#"a\u0062"#, "aa", 1), (#"ab\n"#, "ab", 1),
    (#"a\\b"#, #"a\\b"#, 0), (#"a\\b"#, #"a\\c"#, -1), (#"a\/"#, #"a\\"#, -1), (#"b\n"#, "a", 1),
    (#"\n"#, "", 1), ("a", #"a\n"#, -1),
  ]

  @Test(arguments: escapedOrders)
  func `texts with escapes are ordered by their characters`(
    value: String, operand: String, order: Int
  ) throws {
    #expect(try holds("data == \"\(operand)\"", data: "\"\(value)\"") == (order == 0))
    #expect(try holds("data < \"\(operand)\"", data: "\"\(value)\"") == (order < 0))
    #expect(try holds("data > \"\(operand)\"", data: "\"\(value)\"") == (order > 0))
  }

  @Test(arguments: [
    (#"{"\u0061":1}"#, "data.a == 1"), (#"{"\u0061\u00e9":1}"#, "data.a\u{E9} == 1"),
    (#"{"\ud83d\ude00":1}"#, "data.\u{1F600} == 1"), (#"{"a\/b":1}"#, "data.a/b == 1"),
  ])
  func `an escaped name is found`(data: String, text: String) throws {
    #expect(try holds(text, data: data))
  }

  @Test(arguments: [
    (#"{"a\n":1}"#, "data.a"), (#"{"aa":1}"#, "data.a"), (#"{"":1}"#, "data.a"),
    (#"{"A":1}"#, "data.a"), (#"{"a":1}"#, "data.aa"), (#"{"e\u0301":1}"#, "data.\u{E9}"),
  ])
  func `another name is not`(data: String, text: String) throws {
    #expect(try !holds(text, data: data))
  }

  private static let values = [
    #""1""#, "1", "true", "false", "null", "[1]", #"{"a":1}"#, #""true""#, #""null""#,
  ]
  private static let operands = [#""1""#, "1", "true", "false", "null"]

  @Test(arguments: values, operands)
  func `a value of another kind makes all comparisons false except !=`(
    value: String, operand: String
  ) throws {
    let isSame = value == operand
    #expect(try holds("data == \(operand)", data: value) == isSame)
    #expect(try holds("data != \(operand)", data: value) == !isSame)
    guard operand == "1" || operand == #""1""# else { return }
    // Two texts are of one kind, and have an order.
    guard isSame || !value.hasPrefix("\"") || !operand.hasPrefix("\"") else { return }
    for name in ["<", ">"] { #expect(try !holds("data \(name) \(operand)", data: value)) }
    for name in ["<=", ">="] {
      #expect(try holds("data \(name) \(operand)", data: value) == isSame)
    }
  }

  @Test func `a missing value counts as null`() throws {
    for data in ["{}", "1", "[]", #"{"b":1}"#, "null"] {
      #expect(try holds("data.a == null", data: data))
      #expect(try !holds("data.a != null", data: data))
      #expect(try holds("data.a != 1", data: data))
      for text in ["data.a == 1", "data.a < 1", "data.a >= 1", #"data.a == """#, "data.a == true"] {
        #expect(try !holds(text, data: data), "\(text)")
      }
      #expect(try !holds(#"data.a ~ """#, data: data))
    }
    #expect(try holds("data.a != null", data: #"{"a":0}"#))
  }

  private static let repeated: [(String, String, Bool)] = [
    (#"{"a":1,"a":2}"#, "data.a == 2", true), (#"{"a":1,"a":2}"#, "data.a == 1", false),
    (#"{"a":{"b":1},"a":{"c":1}}"#, "data.a.b", false),
    (#"{"a":{"c":1},"a":{"b":1}}"#, "data.a.b", true),
    (#"{"a":1,"\u0061":2}"#, "data.a == 2", true),
    (#"{"a":{"b":1,"b":2},"a":{"b":3,"b":4}}"#, "data.a.b == 4", true),
  ]

  @Test(arguments: repeated)
  func `of repeated members the last one counts`(data: String, text: String, expected: Bool) throws
  {
    #expect(try holds(text, data: data) == expected)
  }

  @Test func `white space and every place of a member make no difference`() throws {
    let line =
      " { \"event\" : \"e\" ,\n \"data\" :\t{ \"a\" : [ 1 , { \"b\" : 2 } ] , \"c\" : 3 } } \n"
    for text in ["data.a[0] == 1", "data.a[1].b == 2", "data.c == 3", #"event == "e""#] {
      #expect(try holds(text, line), "\(text)")
    }
  }

  @Test func `brackets and quotes in texts do not end a container`() throws {
    let data = #"{"x":{"y":"}]\"{[","z":["]}"]},"a":1}"#
    #expect(try holds("data.a == 1", data: data))
    #expect(try holds(#"data.x.y == "}]\"{[""#, data: data))
  }
}

@Suite("--where: hostile lines and patterns")
struct WhereLimitTests {
  @Test(arguments: [false, true])
  func `deep values cost no stack, on the path and beside it`(objects: Bool) throws {
    let deep = JSONSamples.nested(9000, objects: objects, around: "1")
    #expect(try holds("data.b == 1", data: #"{"a":\#(deep),"b":1}"#))
    #expect(try holds("data.a", data: #"{"a":\#(deep),"b":1}"#))
    let path = "data" + String(repeating: objects ? ".a" : "[0]", count: 63)
    #expect(try holds(path, data: deep))
  }

  @Test func `cut lines make every condition false, and changed bytes are harmless`() throws {
    let whole = #"{"event":"e","data":{"a":[1,{"b":"x\u00e9"},null],"c":-1.5e3}}"#
    let line = Array(whole.utf8)
    let scratch = ByteBuffer()
    let clauses = try [
      "data.c", #"data.a[1].b == "x""#, "data.a[2] == null", "data.c < 0", #"event ~ "e""#,
    ].map(clause)
    let guarded = GuardedBytes(room: 512)
    for end in 0...line.count {
      let view = guarded.view(Array(line[..<end]), beforeEnd: 0)
      for clause in clauses { _ = clause.holds(for: view, scratch) }
      if end < line.count { #expect(!clauses[0].holds(for: view, scratch)) }
    }
    var random = SeededGenerator(seed: 39)
    for _ in 0..<20_000 {
      var bytes = line
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      let view = guarded.view(bytes, beforeEnd: 0)
      for clause in clauses { _ = clause.holds(for: view, scratch) }
    }
  }

  @Test func `a filter wants all of its conditions, and there is none without conditions`() throws {
    #expect(WhereFilter([]) == nil)
    let filter = try #require(WhereFilter([clause("data.a == 1"), clause("data.b")]))
    let passes = { (line: String) in withView(Array(line.utf8)) { filter.passes($0) } }
    #expect(passes(#"{"data":{"a":1,"b":2}}"#))
    #expect(!passes(#"{"data":{"a":1}}"#))
    #expect(!passes(#"{"data":{"a":2,"b":2}}"#))
    #expect(!passes(""))
  }

  @Test func `a pattern is for the whole of a text, without its escapes`() throws {
    #expect(try holds(#"data ~ "*a/b""#, data: #""xa\/b""#))
    #expect(try !holds(#"data ~ "*a/b""#, data: #""xa\/bx""#))
    #expect(try holds("data ~ \"\u{E9}\"", data: #""\u00e9""#))
    #expect(try holds(#"data ~ "?""#, data: #""\ud83d\ude00""#))
    #expect(try holds(#"data ~ """#, data: #""""#))
    #expect(try holds(#"data ~ "App\\*""#, data: #""App\\Events""#))
    for data in ["1", "true", "null", #"["a"]"#, #"{"a":1}"#] {
      #expect(try !holds(#"data ~ "*""#, data: data))
    }
  }

  @Test(arguments: ["a", #"\u00e9"#, "\u{1F600}", #"\\"#])
  func `a pattern reads a text to its end, however long it is`(piece: String) throws {
    let text = String(repeating: piece, count: 100_000)
    #expect(try holds(#"data ~ "*end""#, data: "\"\(text)end\""))
    #expect(try !holds(#"data ~ "*end""#, data: "\"\(text)en\""))
    #expect(try holds(#"data ~ "*x*""#, data: "\"\(text)x\(text)\""))
  }
}
