import TestSupport
import Testing

@testable import PusherCore
@testable import PusherLines

private func fault(_ text: String) -> WhereFault? {
  do throws(WhereFault) {
    _ = try WhereClause(text)
    return nil
  } catch { return error }
}

/// Evaluates against a line of these bytes, which ends before a protected page.
private func holds(_ text: String, _ line: String) throws -> Bool {
  let clause = try WhereClause(text)
  let scratch = ByteBuffer()
  let bytes = Array(line.utf8)
  let guarded = GuardedBytes(room: bytes.count + 64)
  return withExtendedLifetime(guarded) {
    clause.holds(for: EventLine($0.view(bytes, beforeEnd: 0)), scratch)
  }
}

/// Evaluates against a line with this data.
private func holds(_ text: String, data: String) throws -> Bool {
  try holds(text, #"{"event":"e","channel":"c","data":"# + data + "}\n")
}

struct `--where: expressions` {
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

  @Test func `expressions are equal if their bytes are`() throws {
    #expect(try WhereClause("data.a == 1") == WhereClause("data.a == 1"))
    #expect(try WhereClause("data.a == 1") != WhereClause("data.a==1"))
    #expect(try WhereClause("data.\u{E9}") != WhereClause("data.e\u{301}"))
  }
}

struct `--where: values` {
  private static let paths: [(String, String, Bool)] = [
    ("data", "null", true), ("data.a", #"{"a":null}"#, true), ("data.a", #"{"b":1}"#, false),
    ("data.a", "[1]", false), ("data.a", "1", false), ("data.a", #""a""#, false),
    ("data.a", "{}", false), ("data.a.b", #"{"a":{"b":[]}}"#, true),
    ("data.a.b", #"{"a":1,"b":2}"#, false), ("data[0]", "[]", false), ("data[0]", "[null]", true),
    ("data[1]", "[[1,2],3]", true), ("data[2]", "[[1,2],3]", false),
    ("data[0][1]", "[[1,2],3]", true), ("data[0]", #"{"0":1}"#, false),
    ("data.0", #"{"0":1}"#, true), ("data.0", "[1]", false),
    ("data.a[1].b", #"{"a":[{"b":1},{"c":[{}],"b":{"d":"}"}}]}"#, true),
    ("id", "1", false), ("event", "1", true), ("user_id", "1", false),
    // Escaped names, and other names.
    ("data.a", #"{"\u0061":1}"#, true), ("data.a\u{E9}", #"{"\u0061\u00e9":1}"#, true),
    ("data.\u{1F600}", #"{"\ud83d\ude00":1}"#, true), ("data.a/b", #"{"a\/b":1}"#, true),
    ("data.a", #"{"a\n":1}"#, false), ("data.a", #"{"aa":1}"#, false),
    ("data.a", #"{"":1}"#, false), ("data.a", #"{"A":1}"#, false), ("data.aa", #"{"a":1}"#, false),
    ("data.\u{E9}", #"{"e\u0301":1}"#, false),
    // Repeated members.
    ("data.a == 2", #"{"a":1,"a":2}"#, true), ("data.a == 1", #"{"a":1,"a":2}"#, false),
    ("data.a.b", #"{"a":{"b":1},"a":{"c":1}}"#, false),
    ("data.a.b", #"{"a":{"c":1},"a":{"b":1}}"#, true),
    ("data.a == 2", #"{"a":1,"\u0061":2}"#, true),
    ("data.a.b == 4", #"{"a":{"b":1,"b":2},"a":{"b":3,"b":4}}"#, true),
    // Brackets and quotes in texts do not end a container.
    ("data.a == 1", #"{"x":{"y":"}]\"{[","z":["]}"]},"a":1}"#, true),
    (#"data.x.y == "}]\"{[""#, #"{"x":{"y":"}]\"{[","z":["]}"]},"a":1}"#, true),
  ]

  @Test(arguments: paths)
  func `a path alone asks for existence, and leads to the last member of its name`(
    text: String, data: String, expected: Bool
  ) throws {
    #expect(try holds(text, data: data) == expected)
  }

  @Test func `all fields of the line can be asked`() throws {
    let line =
      #"{"received_at":"t","event":"e","channel":null,"user_id":"7","id":"8","data":{"x":[1,2]}}"#
      + "\n"
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
  func `--where compares numbers by their values`(left: String, right: String, order: Int) throws {
    try check(left, right, order)
  }

  private func check(_ left: String, _ right: String, _ order: Int) throws {
    for (name, truth) in [
      ("==", order == 0), ("!=", order != 0), ("<", order < 0), ("<=", order <= 0),
      (">", order > 0), (">=", order >= 0),
    ] {
      let holds = try holds("data \(name) \(right)", data: left)
      #expect(holds == truth, "\(left) \(name) \(right)")
    }
  }

  private static let texts: [(String, String, Int)] = [
    ("a", "a", 0), ("a", "b", -1), ("b", "a", 1), ("", "", 0), ("", "a", -1), ("ab", "a", 1),
    ("A", "a", -1), ("z", "\u{E9}", -1), ("\u{FFFF}", "\u{1F600}", -1), ("10", "9", -1),
    ("\u{E9}", "e\u{301}", 1), ("2026-11-25", "2026-12-01", -1),
    // By their characters where they are escaped.
    (#"a\u0062"#, "ab", 0), (#"a\u0062c"#, "abd", -1), (#"a\u0062"#, "aa", 1), (#"ab\n"#, "ab", 1),
    (#"a\\b"#, #"a\\b"#, 0), (#"a\\b"#, #"a\\c"#, -1), (#"a\/"#, #"a\\"#, -1), (#"b\n"#, "a", 1),
    (#"\n"#, "", 1), ("a", #"a\n"#, -1),
  ]

  @Test(arguments: texts)
  func `--where compares texts by their bytes`(left: String, right: String, order: Int) throws {
    try check("\"\(left)\"", "\"\(right)\"", order)
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

  private static let values = [
    #""1""#, "1", "true", "false", "null", "[1]", #"{"a":1}"#, #""true""#, #""null""#,
  ]
  private static let operands = [#""1""#, "1", "true", "false", "null"]

  @Test(arguments: values, operands)
  func `only != holds for a value of another kind`(value: String, operand: String) throws {
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

  @Test func `a missing value counts as null for --where`() throws {
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
}

struct `--where: filters and patterns` {
  @Test func `a filter wants all of its conditions, and there is none without conditions`() throws {
    #expect(WhereFilter([]) == nil)
    let filter = try #require(WhereFilter([WhereClause("data.a == 1"), WhereClause("data.b")]))
    let passes = { (line: String) in withView(Array(line.utf8)) { filter.passes(EventLine($0)) } }
    #expect(passes(#"{"event":"e","data":{"a":1,"b":2}}"# + "\n"))
    #expect(!passes(#"{"event":"e","data":{"a":1}}"# + "\n"))
    #expect(!passes(#"{"event":"e","data":{"a":2,"b":2}}"# + "\n"))
  }

  @Test(arguments: [
    (#"*a/b"#, #""xa\/b""#, true), (#"*a/b"#, #""xa\/bx""#, false), ("\u{E9}", #""\u00e9""#, true),
    ("?", #""\ud83d\ude00""#, true), ("", #""""#, true), (#"App\\*"#, #""App\\Events""#, true),
    ("*", "1", false), ("*", "true", false), ("*", "null", false), ("*", #"["a"]"#, false),
    ("*", #"{"a":1}"#, false),
  ])
  func `a pattern is for the whole of a text, without its escapes`(
    pattern: String, data: String, fits: Bool
  ) throws {
    #expect(try holds("data ~ \"\(pattern)\"", data: data) == fits)
  }

  @Test(arguments: ["a", #"\u00e9"#, "\u{1F600}", #"\\"#])
  func `a pattern reads a text to its end, however long it is`(piece: String) throws {
    let text = String(repeating: piece, count: 30_000)
    #expect(try holds(#"data ~ "*end""#, data: "\"\(text)end\""))
    #expect(try !holds(#"data ~ "*end""#, data: "\"\(text)en\""))
    #expect(try holds(#"data ~ "*x*""#, data: "\"\(text)x\(text)\""))
  }
}
