import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

struct `Event streams: JSON lines` {
  /// Returns the lines of a stream, by the writer's own choice and by the general way.
  private func lines(
    _ stream: String, receivedAt: String? = nil, _ change: (inout EventLineStyle) -> Void = { _ in }
  ) throws -> String {
    var style = EventLineStyle()
    change(&style)
    let parser = EventStreamParser()
    parser.input.append(stream)
    let (output, general, fast) = (ByteBuffer(), ByteBuffer(), ByteBuffer())
    let makers = [
      LineMaker(output: fast, service: nil),
      LineMaker(output: general, service: nil, usesFastWay: false),
    ]
    if let receivedAt { for maker in makers { maker.setReceivedAt(receivedAt) } }
    while let event = try parser.next() {
      for written in [fast, general] { written.removeAll() }
      for maker in makers { maker.write(event) }
      #expect(fast.array == general.array, "\(fast.view.text) \(general.view.text)")
      style.write(EventLine(fast.view), to: output)
    }
    return output.view.text
  }

  @Test func `a line has event, id when there is one, and data`() throws {
    let stream = "data: {\"a\": 1}\n\nid: 7\nevent: up\ndata: [1, 2]\n\n"
    #expect(
      try lines(stream) == #"{"event":"message","data":{"a":1}}"# + "\n"
        + #"{"event":"up","id":"7","data":[1,2]}"# + "\n")
  }

  @Test func `the time stands first and the terminator last`() throws {
    let line = try lines("data: 1\n\n", receivedAt: "2026-11-21T01:39:31.121Z") {
      $0.terminator = 0
    }
    #expect(
      line == #"{"received_at":"2026-11-21T01:39:31.121Z","event":"message","data":1}"# + "\0")
  }

  @Test(
    arguments: [
      ("{}", "{}"), ("[ ]", "[]"), ("42", "42"), ("-0.5e+10", "-0.5e+10"), ("true", "true"),
      ("null", "null"), (#""a\"b""#, #""a\"b""#),
      (
        #"{"a":[{"b":[]},{}] , "c" : "\u00e9\/"}"#,
        #"{"a":[{"b":[]},{}],"c":"\u00e9\/"}"#
      ), ("", #""""#), ("hello", #""hello""#),
      ("[DONE]", #""[DONE]""#), ("01", #""01""#), ("{a:1}", #""{a:1}""#), ("[1,]", #""[1,]""#),
      (#"{"a":1,}"#, #""{\"a\":1,}""#), ("1 2", #""1 2""#), ("tru", #""tru""#),
      (#""open"#, #""\"open""#), ("a\tb", #""a\tb""#), ("\u{7F}é", "\"\u{7F}é\""),
      (#""\ud83d\ude00""#, #""\ud83d\ude00""#), (#""\ud83d""#, #""\ufffd""#),
      (#""\x""#, #""\"\\x\"""#), ("{\"a\"\0:1}", #""{\"a\"\u0000:1}""#),
    ])
  func `data that is JSON is embedded, any other is a string`(data: String, json: String) throws {
    #expect(try lines("data: \(data)\n\n") == #"{"event":"message","data":"# + json + "}\n")
  }

  @Test func `JSON over many lines is embedded in one`() throws {
    #expect(
      try lines("data: {\ndata:   \"a\": [\ndata: 1,\ndata: 2]\ndata: }\n\n")
        == #"{"event":"message","data":{"a":[1,2]}}"# + "\n")
    #expect(
      try lines("data: two\ndata: lines\n\n") == #"{"event":"message","data":"two\nlines"}"# + "\n")
  }

  @Test func `names and ids with signs of JSON are escaped`() throws {
    #expect(
      try lines("event: a\"b\\\nid: \"\u{1}\ndata: 1\n\n")
        == #"{"event":"a\"b\\","id":"\"\u0001","data":1}"# + "\n")
  }

  @Test func `data nested beyond what jq reads stays a string`() throws {
    for depth in [61, 62, 63, 64, 250, 251] {
      let data = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      let json = depth > 250 ? "\"\(data)\"" : data
      #expect(try lines("data: \(data)\n\n") == #"{"event":"message","data":\#(json)}"# + "\n")
    }
  }

  @Test func `events of our own have no id`() {
    let output = ByteBuffer()
    let maker = LineMaker(output: output, service: nil)
    maker.write(
      event: "pusher-cli:exit", channel: nil, data: .object([.init("status", .integer(0))]))
    #expect(output.view.text == #"{"event":"pusher-cli:exit","data":{"status":0}}"# + "\n")
  }
}
