import PusherCore
import TestSupport
import Testing

/// The protocol page, section "Message format".
struct EnvelopeTests {
  private func read(_ text: String, _ body: (Envelope) -> Void = { _ in }) throws {
    try withView(Array(text.utf8)) { body(try Envelope($0)) }
  }

  @Test(arguments: [
    #"{"event":"e","channel":"c","data":"[1]","user_id":"7"}"#,
    #"{"user_id":"7","data":"[1]","channel":"c","event":"e"}"#,
    " {\n\t\"event\" : \"e\" , \"channel\" :\"c\",\r\n\"data\": \"[1]\" , \"user_id\":\"7\"\t} \n",
    #"{"extra":{"event":"x","data":["}"]},"event":"e","channel":"c","data":"[1]","user_id":"7","z":[]}"#,
    #"{"event":"x","channel":"x","data":"x","user_id":"x","event":"e","channel":"c","data":"[1]","user_id":"7"}"#,
    #"{"event":1,"event":"e","channel":{},"channel":"c","data":null,"data":"[1]","user_id":[],"user_id":"7"}"#,
    #"{"\u0065vent":"e","ch\u0061nnel":"c","dat\u0061":"[1]","user\u005fid":"7"}"#,
    #"{"Event":"x","event ":"x","events":"x","event":"e","channel":"c","data":"[1]","user_id":"7"}"#,
  ])
  func `members are found in any order; the last of a name counts`(text: String) throws {
    try read(text) { envelope in
      #expect(envelope.eventName == "e")
      #expect(envelope.channelName == "c")
      #expect(envelope.userIDToken?.text == "7")
      #expect(envelope.dataString?.text == "[1]")
      #expect(envelope.data == .array([.number("1")]))
    }
  }

  @Test func `escapes in names are resolved for reading, and kept in the tokens`() throws {
    try read(#"{"event":"\u00e9\"\/","channel":"a\\b\ud83d\ude00"}"#) { envelope in
      #expect(envelope.eventName == "é\"/")
      #expect(envelope.eventToken.text == #"\u00e9\"\/"#)
      #expect(envelope.channelName == #"a\b😀"#)
      #expect(envelope.channelToken?.text == #"a\\b\ud83d\ude00"#)
    }
  }

  @Test(arguments: [
    #"{"event":"e"}"#, #"{"event":"e","channel":null,"data":null,"user_id":null}"#,
    #"{"event":"e","channel":1,"user_id":true}"#,
    #"{"event":"e","channel":["c"],"user_id":{"a":1}}"#,
    #"{"event":"e","channel":{"channel":"c"},"user_id":["u"]}"#,
    #"{"event":"e","channel":"c","channel":null,"data":"1","data":null,"user_id":"7","user_id":false}"#,
  ])
  func `a member that is absent, null or of another kind is not there`(text: String) throws {
    try read(text) { envelope in
      #expect(envelope.channelName == nil)
      #expect(envelope.userIDToken == nil)
      #expect(envelope.dataToken == nil)
      #expect(envelope.data == .null)
    }
  }

  @Test(arguments: ["7", "-1", "10000000000", "1.5", "0"])
  func `a user id may be a number`(number: String) throws {
    try read(#"{"event":"e","user_id":\#(number)}"#) { #expect($0.userIDToken?.text == number) }
  }

  @Test(arguments: [
    ("1", JSONValue.number("1")), ("true", .bool(true)),
    (#"{"a":"b"}"#, .object([.init("a", .string("b"))])),
    ("[]", .array([])), (#""text""#, .string("text")), (#""""#, .string("")),
    (#""42""#, .number("42")),
    (#""\"s\"""#, .string("s")), (#""null""#, .null),
    (#""{\"a\":1}""#, .object([.init("a", .number("1"))])),
    (#""{""#, .string("{")),
  ])
  func `data is a value, a string of one, or any string`(data: String, expected: JSONValue) throws {
    try read(#"{"event":"e","data":\#(data)}"#) { #expect($0.data == expected) }
  }

  @Test(arguments: [
    #"{}"#, #"{"channel":"c","data":"{}"}"#, #"{"event":null}"#, #"{"event":1}"#, #"{"event":{}}"#,
    #"{"event":"e","event":null}"#,
  ])
  func `an object without an event's name is no message, and the error says so`(text: String) {
    #expect(throws: JSONError.missing(member: "event")) { try read(text) }
  }

  @Test(
    arguments: JSONSamples.invalid + [
      "[]", "1", "null", #""e""#, #"["event"]"#, #"{"event":"e"} 1"#,
    ])
  func `what is not one JSON object is no message`(text: String) {
    #expect(throws: JSONError.self) { try read(text) }
  }

  @Test(arguments: JSONSamples.invalid)
  func `a member that is not JSON spoils the message, wherever it stands`(text: String) {
    for member in ["data", "extra", "channel"] {
      // A list of two values ends the member early, so the rest may be a valid message again.
      guard !text.hasSuffix(","), !text.hasSuffix("}"), !text.hasPrefix("1,") else { continue }
      #expect(throws: JSONError.self) { try read(#"{"event":"e","\#(member)":\#(text)}"#) }
    }
  }
}
