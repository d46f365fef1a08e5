import TestSupport
import Testing

@testable import PusherCore

private func compact(_ text: String, forTerminal: Bool = false) throws(JSONError) -> String {
  let output = buffer("before|")
  let input = buffer(text)
  do {
    try JSONCompactor.copy(input.view, into: output, forTerminal: forTerminal)
  } catch {
    #expect(output.view.text == "before|", "an error leaves the output as it was")
    throw error
  }
  let written = output.view.text
  #expect(written.hasPrefix("before|"))
  return String(written.dropFirst(7))
}

private func skip(_ text: String) throws(JSONError) -> Range<Int> {
  let input = buffer(text)
  var cursor = JSONCursor(input.view)
  cursor.skipWhitespace()
  let range = try cursor.skipValue()
  try cursor.requireEnd()
  return range
}

/// RFC 8259: the parser, the copy without white space, and the step over a value.
struct JSONGrammarTests {
  @Test(arguments: JSONSamples.valid)
  func `what the grammar allows is read, skipped and copied`(text: String) throws {
    let value = try JSONParser.parse(text)
    let compacted = try compact(text)
    #expect(try JSONParser.parse(compacted) == value)
    #expect(try compact(compacted) == compacted)
    #expect(StrictJSON.problem(in: Array(compacted.utf8)) == nil)
    let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    let first = text.utf8.prefix(while: isBlank).count
    let last = text.utf8.count - text.utf8.reversed().prefix(while: isBlank).count
    #expect(try skip(text) == first..<last)
  }

  @Test(arguments: JSONSamples.invalid)
  func `what the grammar does not allow is refused, and the output is as it was`(text: String) {
    #expect(throws: JSONError.self) { try JSONParser.parse(text) }
    #expect(throws: JSONError.self) { try compact(text) }
    #expect(throws: JSONError.self) { try skip(text) }
  }

  @Test(arguments: [false, true], ["", "1"])
  func `250 levels are read and copied, 251 are refused`(objects: Bool, inner: String) throws {
    let deep = JSONSamples.nested(250, objects: objects, around: inner)
    #expect(throws: Never.self) { try JSONParser.parse(deep) }
    #expect(try compact(deep) == deep)
    let deeper = JSONSamples.nested(251, objects: objects, around: inner)
    #expect(throws: JSONError.tooDeep(limit: 250)) { try JSONParser.parse(deeper) }
    #expect(throws: JSONError.tooDeep(limit: 250)) { try compact(deeper) }
    let hostile = JSONSamples.nested(1_000_000, objects: objects)
    #expect(throws: JSONError.tooDeep(limit: 250)) { try JSONParser.parse(hostile) }
  }

  @Test(arguments: [false, true], ["", "1"])
  func `10,000 levels are stepped over, more are refused, and no stack is spent on them`(
    objects: Bool, inner: String
  ) throws {
    let deep = JSONSamples.nested(10_000, objects: objects, around: inner)
    #expect(try skip(deep) == 0..<deep.utf8.count)
    for hostile in [
      JSONSamples.nested(10_001, objects: objects, around: inner),
      String(repeating: objects ? #"{"a":"# : "[", count: 1_000_000),
    ] {
      #expect(throws: JSONError.tooDeep(limit: 10_000)) { try skip(hostile) }
    }
  }

  @Test func `random values are stepped over to their last byte`() throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      let text = random.pick(JSONEncoding.all).text(RandomJSON.value(depth: 6, &random))
      #expect(try skip(text) == 0..<text.utf8.count)
    }
  }

  @Test func `a string of any length ends at its own quote, whatever stands behind it`() throws {
    let guarded = GuardedBytes(room: 512)
    for length in 0...140 {
      let string = [0x22] + [UInt8](repeating: 0x61, count: length) + [0x22]
      let view = guarded.view(string, beforeEnd: 0)
      var cursor = JSONCursor(view)
      #expect(try cursor.skipString() == 1..<(length + 1))
      #expect(cursor.atEnd)
      var cut = JSONCursor(view[0..<(length + 1)])
      #expect(throws: JSONError.endsEarly) { try cut.skipString() }
      #expect(JSONCursor(view[1..<max(1, length)]).plainRun() == max(1, length) - 1)
    }
  }

  @Test func `a control is found at every place of a string`() {
    for place in 0..<100 {
      var string = [0x22] + [UInt8](repeating: 0x61, count: 100) + [0x22]
      string[place + 1] = 0x1F
      withView(string) { view in
        var cursor = JSONCursor(view)
        #expect(throws: JSONError.unexpected(offset: place + 1)) { try cursor.skipString() }
      }
    }
  }
}

struct JSONParserTests {
  @Test func `members keep their order and repetitions, and the last of a name counts`() throws {
    let value = try JSONParser.parse(#"{"b":1,"a":[true,null],"b":"x"}"#)
    #expect(
      value
        == .object([
          .init("b", .number("1")), .init("a", .array([.bool(true), .null])),
          .init("b", .string("x")),
        ]))
    #expect(value["b"] == .string("x"))
    #expect(value["c"] == nil)
    #expect(value["a"]?["b"] == nil)
  }

  @Test(arguments: ["-0", "1.10", "1E+05", "1e400", "9223372036854775808", "0.30000000000000004"])
  func `a JSON number keeps its characters`(digits: String) throws {
    #expect(try JSONParser.parse(" \(digits) ") == .number(digits))
  }

  @Test func `every part that is cut off from a value is refused`() {
    let text = Array(#"{"a":[1,-2.5e+3,"\u00e9\n\ud83d\ude00é",true,false,null,{"b":{}}]}"#.utf8)
    for length in 0..<text.count {
      withView(Array(text[..<length])) { view in
        #expect(throws: JSONError.self) { try JSONParser.parse(view) }
      }
    }
    withView(text) { view in #expect(throws: Never.self) { try JSONParser.parse(view) } }
  }

  @Test func `bytes behind the view are not read`() {
    for (text, length) in [("123", 2), ("trueX", 4), (#""a"b"#, 3), ("[]]", 2), ("1e5", 1)] {
      withView(Array(text.utf8)) { view in
        #expect(throws: Never.self) { try JSONParser.parse(view[0..<length]) }
      }
    }
    withView(Array(#""abc""#.utf8)) { view in
      #expect(throws: JSONError.endsEarly) { try JSONParser.parse(view[0..<4]) }
    }
  }

  @Test func `an error says where the text is wrong`() {
    #expect(throws: JSONError.unexpected(offset: 3)) { try JSONParser.parse("[1,]") }
    #expect(throws: JSONError.unexpected(offset: 5)) { try JSONParser.parse("null x") }
    #expect(throws: JSONError.endsEarly) { try JSONParser.parse("[1,") }
    #expect("\(JSONError.unexpected(offset: 3))" == "not JSON at byte 3")
    #expect("\(JSONError.endsEarly)" == "incomplete JSON")
    #expect("\(JSONError.tooDeep(limit: 250))" == "JSON nested deeper than 250 levels")
    #expect("\(JSONError.missing(member: "event"))" == #"JSON without a valid "event""#)
  }
}

struct JSONCompactorTests {
  @Test func `white space goes, but not inside strings`() throws {
    #expect(
      try compact(" {\t\"a b\" : [ 1 ,\r\n 2 ] , \"c\\n\" : \" x \" , \"d\" : { } }\n")
        == #"{"a b":[1,2],"c\n":" x ","d":{}}"#)
  }

  @Test func `numbers, order, repeated names and escapes stay byte for byte`() throws {
    let text =
      #"{"z":1.10,"a":-0,"a":1E+05,"\u0061":1e400,"s":"\/\u00e9\u00E9\b\f\"\\\ud83d\uDE00","n":9223372036854775808}"#
    #expect(try compact(text) == text)
  }

  @Test(arguments: [
    (#""\ud800""#, #""\ufffd""#), (#""\uDC00x""#, #""\ufffdx""#),
    (#""\ud800\u0041""#, #""\ufffd\u0041""#),
    (#""\ud800\ud83d\ude00""#, #""\ufffd\ud83d\ude00""#),
    (#""\ude00\ud83d""#, #""\ufffd\ufffd""#), (#""\ud800\\udc00""#, #""\ufffd\\udc00""#),
    (#""\ud800\n""#, #""\ufffd\n""#),
    (#"{"\ud800":"\ud800"}"#, #"{"\ufffd":"\ufffd"}"#),
  ])
  func `half a surrogate pair becomes an escaped U+FFFD`(text: String, expected: String) throws {
    #expect(try compact(text) == expected)
  }

  @Test func `a depth limit of its own is kept`() throws {
    let output = ByteBuffer()
    let input = buffer("[[]]")
    try JSONCompactor.copy(input.view, into: output, depthLimit: 2)
    #expect(throws: JSONError.tooDeep(limit: 1)) {
      try JSONCompactor.copy(input.view, into: output, depthLimit: 1)
    }
    #expect(output.view.text == "[[]]")
  }

  @Test func `DEL, C1 controls and line separators are escaped for a terminal`() throws {
    #expect(
      try compact("{\"a\u{7F}\":\"\u{80}\u{9B}2J\u{9F}\u{A0}é\u{2028}\"}", forTerminal: true)
        == "{\"a\\u007f\":\"\\u0080\\u009b2J\\u009f\u{A0}é\\u2028\"}")
    #expect(try compact("\"\u{7F}\u{9B}\"") == "\"\u{7F}\u{9B}\"")
  }

  @Test func `the output is as it was also when it had to grow before the error`() {
    let long = "[\"" + String(repeating: "x", count: 100_000) + "\",]"
    #expect(throws: JSONError.self) { try compact(long) }
  }

  @Test func `a string's body is copied between quotes, with half pairs mended`() {
    let output = ByteBuffer()
    let body = buffer("a\\\"\\ud800\u{7F}")
    JSONCompactor.copyString(body.view, into: output)
    #expect(output.view.text == "\"a\\\"\\ufffd\u{7F}\"")
    output.removeAll()
    JSONCompactor.copyString(body.view, into: output, forTerminal: true)
    #expect(output.view.text == #""a\"\ufffd\u007f""#)
  }
}

struct JSONValueTests {
  @Test func `a value gives its content only as what it is`() {
    #expect(JSONValue.string("a").text == "a")
    #expect(JSONValue.number("1").text == nil && JSONValue.integer(-3) == .number("-3"))
    #expect(JSONValue.array([.null]).elements == [.null])
    #expect(JSONValue.object([]).elements == nil)
    #expect(JSONValue.object([.init("a", .null)]).members == [.init("a", .null)])
    #expect(JSONValue.array([]).members == nil)
    #expect(JSONValue.null["a"] == nil)
  }

  @Test(
    arguments: [
      (.number("4009"), 4009), (.string("4009"), 4009), (.number("4.5"), nil),
      (.number("9223372036854775808"), nil), (.string("x"), nil), (.bool(true), nil),
      (.integer(-3), -3),
    ] as [(JSONValue, Int?)])
  func `an integer may be written as a string, and must fit`(value: JSONValue, integer: Int?) {
    #expect(value.integer == integer)
  }

  @Test(
    arguments: [
      (.string("a"), "a"), (.number("10"), "10"), (.null, nil), (.object([]), nil),
    ] as [(JSONValue, String?)])
  func `a text or a number is an identifier`(value: JSONValue, identifier: String?) {
    #expect(value.identifier == identifier)
  }
}

/// Handles the maximum nesting on a thread with a stack of 64 KiB.
struct SmallStackTests {
  @Test func `values are read, compared, written and let go`() {
    let text = SmallStack.nestedJSON(jsonDepthLimit)
    let result = SmallStack.run { () -> String? in
      guard let value = try? JSONParser.parse(text), let other = try? JSONParser.parse(text),
        value == other
      else { return nil }
      return JSONWriter.text(value)
    }
    #expect(result == text)
  }

  @Test func `one level more is refused by readers, and stays a string in an event`() {
    let text = SmallStack.nestedJSON(jsonDepthLimit + 1)
    let result = SmallStack.run { () -> [Bool] in
      let message = Array(#"{"event":"e","channel":"c","data":\#(text)}"#.utf8)
      let data = withView(message) { (try? Envelope($0))?.data }
      return [(try? JSONParser.parse(text)) == nil, data == .string(text)]
    }
    #expect(result == [true, true])
  }
}
