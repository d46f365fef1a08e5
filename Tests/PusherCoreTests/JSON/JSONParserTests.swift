import PusherCore
import TestSupport
import Testing

/// RFC 8259.
@Suite struct JSONParserTests {
  @Test(arguments: JSONSamples.valid)
  func `what the grammar allows is read`(text: String) {
    #expect(throws: Never.self) { try JSONParser.parse(text) }
  }

  @Test(arguments: JSONSamples.invalid)
  func `what the grammar does not allow is refused`(text: String) {
    #expect(throws: JSONError.self) { try JSONParser.parse(text) }
  }

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
  func `a number keeps its characters`(digits: String) throws {
    #expect(try JSONParser.parse(" \(digits) ") == .number(digits))
  }

  @Test func `escapes are resolved, half surrogate pairs become U+FFFD`() throws {
    let text =
      #""\"\\\/\b\f\n\r\t\u0000\u00e9\u4E2D\ud83d\ude00|\ud800|\udc00\ud800x\ud800\ud83d\ude00""#
    #expect(
      try JSONParser.parse(text)
        == .string("\"\\/\u{8}\u{C}\n\r\t\0é中😀|\u{FFFD}|\u{FFFD}\u{FFFD}x\u{FFFD}😀"))
  }

  @Test(arguments: [false, true])
  func `250 levels are read, 251 are refused, whether or not the innermost is empty`(
    objects: Bool
  ) throws {
    for inner in ["", "1"] {
      let deep = JSONSamples.nested(250, objects: objects, around: inner)
      #expect(throws: Never.self) { try JSONParser.parse(deep) }
      let deeper = JSONSamples.nested(251, objects: objects, around: inner)
      #expect(throws: JSONError.tooDeep(limit: 250)) { try JSONParser.parse(deeper) }
    }
    let hostile = JSONSamples.nested(1_000_000, objects: objects)
    #expect(throws: JSONError.tooDeep(limit: 250)) { try JSONParser.parse(hostile) }
  }

  @Test func `every part that is cut off from a value is refused`() {
    let text = Array(#"{"a":[1,-2.5e+3,"\u00e9\n\ud83d\ude00é",true,false,null,{"b":{}}]}"#.utf8)
    for length in 0..<text.count {
      withView(Array(text[..<length])) { view in
        #expect(throws: JSONError.self) { try JSONParser.parse(view) }
      }
    }
    withView(text) { view in
      #expect(throws: Never.self) { try JSONParser.parse(view) }
    }
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

@Suite struct JSONValueTests {
  @Test func `a value gives its content only as what it is`() {
    #expect(JSONValue.string("a").text == "a")
    #expect(JSONValue.number("1").text == nil)
    #expect(JSONValue.array([.null]).elements == [.null])
    #expect(JSONValue.object([]).elements == nil)
    #expect(JSONValue.object([.init("a", .null)]).members == [.init("a", .null)])
    #expect(JSONValue.array([]).members == nil)
    #expect(JSONValue.null["a"] == nil)
  }

  @Test func `an integer may be written as a string, and must fit`() {
    #expect(JSONValue.number("4009").integer == 4009)
    #expect(JSONValue.string("4009").integer == 4009)
    #expect(JSONValue.number("4.5").integer == nil)
    #expect(JSONValue.number("9223372036854775808").integer == nil)
    #expect(JSONValue.string("x").integer == nil)
    #expect(JSONValue.bool(true).integer == nil)
    #expect(JSONValue.integer(-3) == .number("-3"))
  }

  @Test func `an identifier is text, whether it was written as a string or a number`() {
    #expect(JSONValue.string("a").identifier == "a")
    #expect(JSONValue.number("10").identifier == "10")
    #expect(JSONValue.null.identifier == nil)
    #expect(JSONValue.object([]).identifier == nil)
  }
}
