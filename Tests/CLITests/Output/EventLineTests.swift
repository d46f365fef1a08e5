import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// Shape of a line, and the six rules for `data`.
struct EventLineTests {
  private func line(
    _ text: String, named name: String? = nil, receivedAt: String? = nil,
    _ change: (inout EventLineStyle) -> Void = { _ in }
  ) throws -> String {
    var style = EventLineStyle()
    change(&style)
    let made = ByteBuffer()
    let output = ByteBuffer()
    let maker = LineMaker(output: made, service: .pusher)
    if let receivedAt { maker.setReceivedAt(receivedAt) }
    try withView(Array(text.utf8)) { maker.write(try Envelope($0), named: name) }
    style.write(EventLine(made.view), to: output)
    if style.isPlain { #expect(output.array.dropLast() == made.array.dropLast()) }
    if style.palette == nil {
      #expect(output.array.last == style.terminator)
      #expect(StrictJSON.problem(in: output.array.dropLast()) == nil)
    }
    return String(output.view.text.dropLast())
  }

  private func data(_ wire: String) throws -> String {
    let line = try line(#"{"event":"e","channel":"c","data":\#(wire)}"#)
    let start = #"{"event":"e","channel":"c","data":"#
    #expect(line.hasPrefix(start) && line.hasSuffix("}"))
    return String(line.dropFirst(start.count).dropLast())
  }

  @Test func `the fields stand in their order, whatever the message's own`() throws {
    #expect(
      try line(
        #"{"data":"{\"on\":true}","user_id":"7","extra":1,"channel":"presence-lobby","event":"client-typing"}"#,
        receivedAt: "2026-11-21T01:39:31.121Z")
        == #"{"received_at":"2026-11-21T01:39:31.121Z","event":"client-typing","channel":"presence-lobby","user_id":"7","data":{"on":true}}"#
    )
  }

  @Test func `a message without channel and data has both as null`() throws {
    #expect(try line(#"{"event":"e"}"#) == #"{"event":"e","channel":null,"data":null}"#)
  }

  @Test(
    arguments: [
      (#""7""#, #""7""#), ("7", #""7""#), (#""a\"\u00e9""#, #""a\"\u00e9""#),
      (#""\ud800""#, #""\ufffd""#), ("null", nil), ("true", nil), ("{}", nil),
      (#"{"a":"b"}"#, nil), (#"["u"]"#, nil), (#"["\"]u"]"#, nil), (#"[{"u":"\\"}]"#, nil),
    ] as [(String, String?)])
  func `a user id is a string, also when it came as a number, and any other is left out`(
    wire: String, expected: String?
  ) throws {
    let member = expected.map { #""user_id":\#($0),"# } ?? ""
    #expect(
      try line(#"{"event":"e","channel":"c","user_id":\#(wire),"data":1}"#)
        == #"{"event":"e","channel":"c",\#(member)"data":1}"#)
  }

  @Test func `escapes in names stay as they are, half surrogate pairs are mended`() throws {
    #expect(
      try line(#"{"event":"\u00e9\"\/\n","channel":"\ud800\\x","data":1}"#)
        == #"{"event":"\u00e9\"\/\n","channel":"\ufffd\\x","data":1}"#)
  }

  @Test func `an event can be written under another name`() throws {
    #expect(
      try line(#"{"event":"pusher_internal:x","channel":"c","data":1}"#, named: "a\"b")
        == #"{"event":"a\"b","channel":"c","data":1}"#)
  }

  @Test(arguments: [
    "1", "1.10", "-0", "1e400", "true", "null", "[]", #"{"a":[1,{"b":"c"}],"a":2}"#,
    #"{"s":"\u00e9\/"}"#,
  ])
  func `rule 1, a value that is no string is embedded`(wire: String) throws {
    #expect(try data(wire) == wire)
    #expect(try data(" \(wire)\n") == wire)
  }

  @Test(arguments: [
    (#""{\"id\":1,\"total\":1.10}""#, #"{"id":1,"total":1.10}"#),
    (#""{ \"b\" : [ 1 , 2 ] ,\n\"a\":\"x y\", \"b\":-0 }""#, #"{"b":[1,2],"a":"x y","b":-0}"#),
    (#""{\u0022a\u0022:1}""#, #"{"a":1}"#),
    (#""\"\\u00e9\\\/\\n\"""#, #""\u00e9\/\n""#),
    (#""\"\u00e9\u2028\"""#, "\"é\u{2028}\""),
    (#""42""#, "42"), (#"" true ""#, "true"), (#""null""#, "null"), (#""\"\"""#, #""""#),
    (#""9223372036854775808""#, "9223372036854775808"),
  ])
  func `rule 2, a string that holds JSON is embedded verbatim without its white space`(
    wire: String, expected: String
  ) throws {
    #expect(try data(wire.replacing("\n", with: "\\n")) == expected)
  }

  @Test(arguments: [
    (#""\"\\ud800\"""#, #""\ufffd""#), (#""\"\ud800\"""#, "\"\u{FFFD}\""),
    (#""\ud800""#, "\"\u{FFFD}\""),
    (#"{"\ud800":"\udc00x"}"#, #"{"\ufffd":"\ufffdx"}"#),
    (#""\"\\ud83d\ude00\"""#, "\"\\ufffd\u{FFFD}\""),
  ])
  func `rule 3, half a surrogate pair becomes U+FFFD`(wire: String, expected: String) throws {
    #expect(try data(wire) == expected)
  }

  @Test(arguments: [
    ("hello", #""hello""#), ("", #""""#), (" ", #"" ""#), ("{", #""{""#),
    (#"{\"a\":1,}"#, #""{\"a\":1,}""#),
    ("01", #""01""#), ("NaN", #""NaN""#), (#"\u0000\u001b[2J"#, #""\u0000\u001b[2J""#),
    (#"a\nb\tc\"d\\e\/f"#, #""a\nb\tc\"d\\e/f""#), (#"\ud83d\ude00"#, #""😀""#),
    ("{} {}", #""{} {}""#),
    (#"\ufeff{}"#, "\"\u{FEFF}{}\""), (#"\"\n\""#, #""\"\n\"""#),
  ])
  func `rule 4, a string that holds no JSON is that string`(body: String, expected: String) throws {
    #expect(try data("\"\(body)\"") == expected)
  }

  @Test func `rule 4, what is nested deeper than 250 is a string of its text`() throws {
    for objects in [false, true] {
      let fits = JSONSamples.nested(250, objects: objects, around: "1")
      let deep = JSONSamples.nested(251, objects: objects, around: "1")
      let quoted = JSONEncoding.minimal.quoted
      #expect(try data(fits) == fits)
      #expect(try data(quoted(fits)) == fits)
      #expect(try data(deep) == quoted(deep))
      #expect(try data(quoted(deep)) == quoted(deep))
    }
  }

  @Test func `rule 5, missing data of an event is null`() throws {
    #expect(try data("null") == "null")
    #expect(
      try line(#"{"event":"e","channel":"c"}"#) == #"{"event":"e","channel":"c","data":null}"#)
  }

  @Test func `for a terminal every field has its controls escaped`() throws {
    let text =
      "{\"event\":\"e\u{9B}\",\"channel\":\"c\u{7F}\",\"user_id\":\"\u{85}\",\"data\":\"\u{9B}2J\"}"
    #expect(
      try line(text) { $0.forTerminal = true }
        == #"{"event":"e\u009b","channel":"c\u007f","user_id":"\u0085","data":"\u009b2J"}"#)
    #expect(
      try line("{\"event\":\"e\",\"data\":{\"a\":\"\u{7F}\"}}", named: "n\u{9B}") {
        $0.forTerminal = true
      }
        == #"{"event":"n\u009b","channel":null,"data":{"a":"\u007f"}}"#)
  }

  @Test func `colours stand around keys, event and channel, and a channel keeps its own`() throws {
    let paint = { (style: inout EventLineStyle) in
      style.palette = EventLinePalette(
        key: "<k>", event: "<e>", channels: ["<1>", "<2>"], reset: "</>")
    }
    let text = #"{"event":"e","channel":"c","data":"1"}"#
    let first = try line(text, paint)
    #expect(first == (try line(text, paint)))
    #expect(
      ["<1>", "<2>"].map {
        #"{<k>"event"</>:<e>"e"</>,<k>"channel"</>:\#($0)"c"</>,<k>"data"</>:1}"#
      }.contains(first))
    #expect(
      try line(#"{"event":"e"}"#, paint)
        == #"{<k>"event"</>:<e>"e"</>,<k>"channel"</>:null,<k>"data"</>:null}"#)
  }

  @Test(arguments: [
    #"{"event":"a\"b\\","data":1}"#, #"{"event":"e","id":"\\","data":{"id":"x"}}"#,
    #"{"event":"e","channel":null,"data":null}"#,
    #"{"event":"e","channel":"\"","user_id":"1","repaired":true,"data":"\"}"}"#,
    #"{"event":"e","channel":"c","data":null,"data_base64":"AA=="}"#,
    #"{"received_at":"2026-11-21T01:39:31.121Z","event":"e","channel":"c","data":[null]}"#,
  ])
  func `the parts of a line are its members`(text: String) throws {
    let value = try JSONValue(parsing: text)
    let output = ByteBuffer()
    withView(Array((text + "\n").utf8)) { view in
      let line = EventLine(view)
      #expect(line.name == value["event"]?.text)
      #expect(line.channel.map(JSONString.decode) == value["channel"]?.text)
      #expect(line.hasChannel == (value["channel"] != nil))
      #expect(line.userID?.text == value["user_id"]?.text)
      #expect(line.id.map(JSONString.decode) == value["id"]?.text)
      #expect(line.isRepaired == (value["repaired"] != nil))
      #expect(line.base64 != nil || line.shownData == value["data"])
      #expect(line.base64?.text == value["data_base64"]?.text)
      EventLineStyle(forTerminal: true).write(line, to: output)
    }
    #expect(output.view.text == text + "\n")
  }

  @Test(
    arguments: [
      (nil, "null"), ("c", #""c""#), (#"a"b\"#, #""a\"b\\""#), ("\u{0}\n", #""\u0000\n""#),
      (#"""#, #""\"""#), (#"\"#, #""\\""#), (#"\u12"#, #""\\u12""#), ("", #""""#),
    ] as [(String?, String)])
  func `an event of our own is written with any channel name`(
    channel: String?, expected: String
  ) {
    let output = ByteBuffer()
    let writer = LineMaker(output: output, service: .pusher)
    writer.write(event: "pusher:error", channel: channel, data: .object([.init("code", .null)]))
    #expect(
      output.view.text
        == "{\"event\":\"pusher:error\",\"channel\":\(expected),\"data\":{\"code\":null}}\n")
    #expect(StrictJSON.problem(in: output.array.dropLast()) == nil)
  }

  @Test func `data nested as deep as is allowed is embedded on a small stack`() {
    let text = SmallStack.nestedJSON(jsonDepthLimit)
    let line = SmallStack.run { () -> String in
      let output = ByteBuffer()
      let writer = LineMaker(output: output, service: .pusher)
      withView(Array(#"{"event":"e","channel":"c","data": \#(text)}"#.utf8)) {
        if let envelope = try? Envelope($0) { writer.write(envelope) }
      }
      return output.view.text
    }
    #expect(line == #"{"event":"e","channel":"c","data":\#(text)}"# + "\n")
  }
}
