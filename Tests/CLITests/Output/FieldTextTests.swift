import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

struct `--field: the printed bytes` {
  private func written(
    _ data: [String], at path: String = "a", joins: Bool = false,
    _ change: (inout EventLineStyle) -> Void = { _ in }
  ) throws -> String {
    let output = ByteBuffer()
    let field = try Self.field(path, joins: joins, output, change)
    for text in data where Self.find(field, in: text) { field.write() }
    field.end()
    return output.view.text
  }

  private static func field(
    _ path: String = "a", joins: Bool = false, _ output: ByteBuffer = ByteBuffer(),
    _ change: (inout EventLineStyle) -> Void = { _ in }
  ) throws -> FieldText {
    var style = EventLineStyle()
    change(&style)
    return FieldText(try FieldPath(path), joins: joins, output: output, style: style)
  }

  /// Looks for the field in the line of an event with this data.
  private static func find(_ field: FieldText, in data: String) -> Bool {
    let output = ByteBuffer()
    let message = JSONWriter.text(["event": "e", "data": .string(data)])
    Envelope.with(Array(message.utf8)) { LineMaker(output: output, service: .pusher).write($0) }
    return field.find(in: EventLine(output.view).data) { data }
  }

  @Test(arguments: [
    (#""x""#, "x"), (#""""#, ""), (#""a\"b\\c\/d""#, #"a"b\c/d"#), (#""\u00e9\ud83d\ude00""#, "é😀"),
    (#""line\none\ttab""#, "line\none\ttab"), (#""\u001b[2J""#, "\u{1B}[2J"),
    (#""\ud800""#, "\u{FFFD}"),
  ])
  func `--field prints text without quotes and escapes`(value: String, printed: String) throws {
    #expect(try written([#"{"a":\#(value)}"#]) == printed + "\n")
  }

  @Test(arguments: [
    ("1.10", "1.10"), ("-0", "-0"), ("1e400", "1e400"), ("true", "true"), ("null", "null"),
    ("[ ]", "[]"), ("[1 ,\n 2]", "[1,2]"), (#"{ "b" : "c d" }"#, #"{"b":"c d"}"#),
    (#"["\ud800"]"#, #"["\ufffd"]"#), (#""\"""#, "\""),
  ])
  func `any other value is its JSON on one line`(value: String, printed: String) throws {
    #expect(try written([#"{"a":\#(value)}"#]) == printed + "\n")
  }

  @Test func `data without the field prints nothing`() throws {
    #expect(try written([#"{"a":1}"#, "{}", "[DONE]", "", #"{"a":2}"#]) == "1\n2\n")
    let field = try Self.field()
    #expect(field.absence(isQuoted: true) == nil)
    for _ in 0..<2 { _ = Self.find(field, in: "{}") }
    #expect(field.absence(isQuoted: false) == "2 events came without the field 'a'")
  }

  @Test(
    arguments: #"""
      {} => 1 event came without the field 'a': {}
      {} [DONE] => 2 events came without the field 'a', one of them: [DONE]
      {"error":"x"} {} => 2 events came without the field 'a', one of them: {"error":"x"}
      {"error":null} => 1 event came without the field 'a': {"error":null}
      {} {"error":{"code":1}}
        => 2 events came without the field 'a', one of them: {"error":{"code":1}}
      """# as Table)
  func `an object with an error is quoted always, other data on demand`(row: Table.Row) throws {
    let field = try Self.field()
    for text in row.input.split(separator: " ") { _ = Self.find(field, in: String(text)) }
    let isError = row.input.contains("error") && !row.input.contains("null")
    #expect(field.holdsError == isError)
    row.expect(field.absence(isQuoted: true) ?? "")
    if isError { row.expect(field.absence(isQuoted: false) ?? "") }
  }

  @Test func `--field ends each value with the terminator`() throws {
    #expect(try written([#"{"a":1}"#, #"{"a":"x"}"#]) { $0.terminator = 0 } == "1\0x\0")
  }

  @Test func `joined values get one line end, at the end`() throws {
    let pieces = ["Hel", "", "lo\\n", "world"].map { #"{"a":"\#($0)"}"# }
    #expect(try written(pieces, joins: true) == "Hello\nworld\n")
    #expect(try written([#"{"a":1}"#, #"{"a":2}"#], joins: true) == "12\n")
  }

  @Test func `joined, null counts as absent, and no text gets no line end`() throws {
    #expect(try written([#"{"a":"x"}"#, #"{"a":null}"#, #"{"a":"y"}"#], joins: true) == "xy\n")
    #expect(try written([#"{"a":null}"#, #"{"a":""}"#, "{}"], joins: true).isEmpty)
  }

  @Test func `a second end of a joined field adds nothing`() throws {
    let output = ByteBuffer()
    let field = try Self.field(joins: true, output)
    if Self.find(field, in: #"{"a":1}"#) { field.write() }
    field.end()
    field.end()
    #expect(output.view.text == "1\n")
  }

  @Test func `a terminal gets no control characters, but joined text keeps its layout`() throws {
    let data = [#"{"a":"1\n\t\r\u001b[2J\u009b\u202e"}"#, "{\"a\":[\"\u{7F}\u{2066}\"]}"]
    #expect(
      try written(data) { $0.forTerminal = true }
        == #"1\n\t\r\u{1b}[2J\u{9b}\u{202e}"# + "\n" + #"["\u007f\u2066"]"# + "\n")
    #expect(
      try written(data, joins: true) { $0.forTerminal = true }
        == "1\n\t" + #"\r\u{1b}[2J\u{9b}\u{202e}["\u007f\u2066"]"# + "\n")
  }

  @Test(arguments: [
    (#""data":"{\"a\":\"x\\n\"}""#, "x\n\n"), (#""data":{"a":[1, 2]}"#, "[1,2]\n"),
    (#""data":"{\"a\":1}","data":"{\"a\":2}""#, "2\n"), (#""data":"a""#, ""), (#""data":null"#, ""),
    (#""data":"""#, ""), (#""channel":"c""#, ""), (#""a":1"#, ""), (#""data":"\"{}\"""#, ""),
  ])
  func `the data of a message is the field's JSON, as a string or as it is`(
    member: String, printed: String
  ) throws {
    let output = ByteBuffer()
    let field = try Self.field("a", output)
    Envelope.with(Array(#"{"event":"e",\#(member)}"#.utf8)) { envelope in
      let made = ByteBuffer()
      LineMaker(output: made, service: .pusher).write(envelope)
      if field.find(in: EventLine(made.view).data, source: { envelope.dataText }) { field.write() }
    }
    #expect(output.view.text == printed)
  }
}
