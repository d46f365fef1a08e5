import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// Messages designed to mislead the fast way.
struct EventTranscoderTests {
  private let rig = LineRig()

  private func message(_ body: String, event: String = "e", channel: String = "c") -> String {
    #"{"event":"\#(event)","channel":"\#(channel)","data":"\#(body)"}"#
  }

  private func dataFirst(_ body: String, event: String = "e", channel: String = "c") -> String {
    #"{"event":"\#(event)","data":"\#(body)","channel":"\#(channel)"}"#
  }

  private func line(_ data: String) -> [UInt8] {
    Array("{\"event\":\"e\",\"channel\":\"c\",\"data\":\(data)}\n".utf8)
  }

  @Test(arguments: [
    (#"{\"id\":1,\"total\":1.10}"#, #"{"id":1,"total":1.10}"#),
    ("{}", "{}"), ("[]", "[]"), ("{ }", "{}"), ("[ ]", "[]"), ("42", "42"), ("-0", "-0"),
    ("true", "true"), ("false", "false"), ("null", "null"), (#"\"\""#, #""""#),
    (#"\"text\""#, #""text""#), ("1e400", "1e400"), ("9223372036854775808", "9223372036854775808"),
    ("1E+05", "1E+05"), ("0.0", "0.0"), ("12345678", "12345678"),
    ("1234567890123456789", "1234567890123456789"),
    (#"{\"a\":\"\\n\\t\\\"\\\\\\/\\b\\f\\r\"}"#, #"{"a":"\n\t\"\\\/\b\f\r"}"#),
    (#"{\"a\":\"\\\/x\/y\"}"#, #"{"a":"\/x/y"}"#),
    (#"{\"a\":\"\\u00e9\\uD83D\\uDE00\\u0000\"}"#, #"{"a":"\u00e9\uD83D\uDE00\u0000"}"#),
    ("{\\\"a\\\":\\\"é中😀\u{2028}\u{7F}\u{9B}\\\"}", "{\"a\":\"é中😀\u{2028}\u{7F}\u{9B}\"}"),
    (#" {\"a\" : [1, 2 ,3] , \"b\": {} }"#, #"{"a":[1,2,3],"b":{}}"#),
    (#"{\"a\":1,\"a\":2}"#, #"{"a":1,"a":2}"#),
    (#"[[],[{}],{\"\":[null]}]"#, #"[[],[{}],{"":[null]}]"#),
  ])
  func `common data takes the fast way in both orders`(body: String, data: String) {
    for text in [message(body), dataFirst(body)] where !(text.utf8.count <= 32) {
      let outcome = rig.check(text)
      #expect(outcome.fast == .written)
      #expect(outcome.line == line(data))
    }
  }

  @Test(arguments: [
    "", " ", "hello", "{", "}", "[", "]", "[1,]", "[,1]", "{,}", "[1 2]", "{}{}", "{} {}", "[}",
    "{]",
    "nul", "nulll", "truefalse", "NaN", "+1", "01", "-01", "00", "0123456789", "1.", ".5", "1.e1",
    "1e", "1e+", "-", "0x1", "1 ", "[1] ", "{} x",
    #"{\"a\"}"#, #"{\"a\":}"#, #"{\"a\":1,}"#, #"{\"a\" 1}"#, #"{a:1}"#, #"{\"a\":1 \"b\":2}"#,
    #"\"a"#, #"a\""#, #"\"\\\""#, #"\"\\x\""#, #"\"\\u12\""#, #"\"\\u12g4\""#, #"\"\\u\""#,
    #"\"\\ud800\""#, #"\"\\udc00\""#, #"\"\\ud800\\u0041\""#, #"\"\\ud800\\ud800\\udc00\""#,
    #"\"\\ud83dx\\ude00\""#, #"\"\\\\u0041\""#, #"\"\ud800\""#, #"\"\udc00\\udc00\""#,
    #"\u007b\u007d"#, #"\"\u0022"#, #"\"\u0000\""#, #"\"\n\""#, #"\n{}"#, #"{\n}"#, #"[1,\t2]"#,
    #"\/"#, #"\\"#, #"\\\""#, #"\b"#, #"\ufeff{}"#, #"\"a\/b\\\/c\""#, "\u{FEFF}{}", "{}\u{A0}",
    "\u{7F}",
  ])
  func `unusual or broken data gives the same line on both ways, or goes the general one`(
    body: String
  ) {
    for text in [message(body), dataFirst(body)] {
      #expect(rig.check(text).line != nil)
    }
  }

  @Test func `data of any depth gives the same line, and up to 62 levels on the fast way`() {
    for depth in [1, 2, 7, 8, 31, 32, 60, 61, 62, 63, 64, 65, 66, 127, 128, 249, 250, 251, 300] {
      for objects in [false, true] {
        let inner = JSONSamples.nested(depth, objects: objects, around: "1")
        let body = inner.replacing("\"", with: "\\\"")
        let outcome = rig.check(message(body))
        #expect((outcome.fast == .written) == (depth <= 62), "depth \(depth)")
        let data = depth <= 250 ? inner : JSONEncoding.minimal.quoted(inner)
        #expect(outcome.line == line(data))
        rig.check(dataFirst(body))
        rig.check(message(String(body.dropLast())))
        rig.check(message(body + (objects ? "}" : "]")))
      }
    }
  }

  @Test(arguments: [
    #"{"event":"order.created","channel":"private-orders","data":"{\"id\":1,\"s\":\"é\\n\\u00e9\\ud83d\\ude00\",\"n\":[-1.5e+3,true,null]}"}"#,
    #"{"event":"order.created","data":"{\"id\":1,\"s\":\"\\\"x\\\\\\/\"}","channel":"private-orders"}"#,
    #"{"event":"e","channel":"presence-c","user_id":"7","data":{"a":[1,{"b":null}]}}"#,
  ])
  func `a message cut at any byte is not read on into what follows in the buffer`(text: String) {
    let bytes = Array(text.utf8)
    for length in 0..<bytes.count {
      let rest = Array(bytes[length...])
      for behind in [rest, [], Array("\"}".utf8), Array(repeating: 0x39, count: 20)] {
        for offset in [0, 7] {
          let outcome = rig.check(Array(bytes[..<length]), behind: behind, offset: offset)
          #expect(outcome.fast == .unusual)
          #expect(outcome.line == nil)
        }
      }
    }
    #expect(rig.check(bytes, behind: []).line != nil)
  }

  @Test func `more bytes behind the closing brace belong to the message and break it`() {
    for tail in ["}", " x", "{", "\0", "1", #","a":1}"#] {
      let outcome = rig.check(message("1") + tail)
      #expect(outcome.fast == .unusual && outcome.line == nil)
    }
    #expect(rig.check(message("1") + " \n").line == line("1"))
  }

  @Test func `a NUL at any place is refused, and what stands behind it is not read`() {
    for text in [message(#"{\"a\":\"bcdefghijklmnop\"}"#), dataFirst(#"[1,\"x\"]"#)] {
      let bytes = Array(text.utf8)
      for place in 0...bytes.count {
        var broken = bytes
        broken.insert(0, at: place)
        let inserted = rig.check(broken)
        #expect(inserted.fast == .unusual && inserted.line == nil)
        guard place < bytes.count else { continue }
        broken = bytes
        broken[place] = 0
        #expect(rig.check(broken).fast == .unusual)
      }
    }
  }

  @Test func `names of any length come out whole, and digits too`() {
    for length in 1...70 {
      let name = String(repeating: "n", count: length)
      let digits = String(repeating: "7", count: length)
      for text in [
        message(digits, event: name), message("-\(digits).\(digits)e\(digits)", channel: name),
        dataFirst("[\(digits)]", event: name, channel: name),
      ] {
        #expect(rig.check(text).fast == .written)
      }
      rig.check(message("0\(digits)"))
      rig.check(message("\(digits)x"))
    }
  }

  @Test(arguments: [
    // The text of a channel member inside the data string, at its end and in its middle.
    #"{"event":"e","data":"[\"a\",\"channel\":\"c\"]","channel":"c"}"#,
    #"{"event":"e","data":"{\"a\":\"b\",\"channel\":\"fake\"}","channel":"real"}"#,
    #"{"event":"e","data":"{\"a\":\"b\",\"channel\":\"fake\"}"}"#,
    #"{"event":"e","data":"\"x\\\",\\\"channel\\\":\\\"fake\\\"}\""}"#,
    #"{"event":"e","data":"x\",\"channel\":\"fake"}"#,
    #"{"event":"e","data":"[1]","channel":"a\"b"}"#,
    #"{"event":"e","data":"[1]","channel":"a","channel":"b"}"#,
    #"{"event":"e","data":"[1]","data":"[2]","channel":"b"}"#,
    #"{"event":"e","data":"[1]","extra":"x","channel":"b"}"#,
    #"{"event":"e","data":"[1]","extra":",\"channel\":\"b"}"#,
    #"{"event":"e","data":"[1],","channel":"b"}"#, #"{"event":"e","data":"[1]" ,"channel":"b"}"#,
    #"{"event":"e","data":"[1]","channel":"b" }"#,
    #"{"event":"e","data":"[1]","channel":"b","user_id":"7"}"#,
    #"{"event":"e","data":"[1]","channel":null}"#, #"{"event":"e","data":"[1]","channel":""}"#,
    #"{"event":"e","data":"[1]"}"#, #"{"event":"e","data":[1,"],"channel":"b"}"#,
    #"{"event":"e","data":[",","channel"],"channel":"bbbbbbbb"}"#,
  ])
  func `the channel is found behind the data only where it really stands`(text: String) {
    rig.check(text)
    rig.check(text, behind: text)
    rig.check(text, behind: "")
  }

  @Test func `a channel name behind the data may be long, or too long for the search`() {
    for length in [1, 200, 230, 240, 241, 242, 243, 244, 245, 250, 255, 256, 257, 300] {
      let outcome = rig.check(
        dataFirst(#"{\"a\":1}"#, channel: String(repeating: "c", count: length)))
      if length <= 200 { #expect(outcome.fast == .written) }
    }
  }

  @Test(arguments: [
    #"{"event":"pusher:ping","data":"{}"}"#, #"{"event":"pusher:cache_miss","channel":"cache-c"}"#,
    #"{"event":"pusher_internal:member_added","channel":"presence-c","data":"{\"user_id\":\"3\"}"}"#,
    #"{"event":"pusher","channel":"c","data":"{}"}"#,
    #"{"event":"e","channel":"private-encrypted-c","data":"{\"nonce\":\"bg==\",\"ciphertext\":\"Yw==\"}"}"#,
    #"{"event":"e","data":"{\"nonce\":\"bg==\",\"ciphertext\":\"Yw==\"}","channel":"private-encrypted-c"}"#,
    #"{"event":"e","channel":"presence-c","user_id":"7","data":"{}"}"#,
    #"{"event":"\u0065","channel":"c","data":"{}"}"#,
    #"{"event":"e","channel":"\u0063","data":"{}"}"#, #"{"event":"e\"","channel":"c","data":"{}"}"#,
    #"{"event":"e","channel":"c","data":{}}"#, #"{"event":"e","channel":"c","data":""}"#,
    #"{"event":"e","channel":"c","data":null}"#, #"{"event":"e","channel":"c"}"#, #"{"event":"e"}"#,
    #"{"event":"","channel":"c","data":""}"#, #"{"channel":"c","event":"e","data":"{}"}"#,
    #"{"event":"e","channel":"c","data":"{}","x":1}"#,
    #"{"event":"e","channel":"c","data":"{}","data":"[]"}"#,
    #"{"event": "e","channel":"c","data":"{}"}"#,
    #"{ "event":"e","channel":"c","data":"{}"}"#,
    #" {"event":"e","channel":"c","data":"{}"}"#,
    #"{"event":"e" ,"channel":"c","data":"{}"}"#,
    #"{"event":"e","channel":"c","data": "{}"}"#,
    #"{"event":"e","channel":"c","data":"{}" }"#,
  ])
  func `an event of an uncommon shape goes the general way`(text: String) {
    let outcome = rig.check(text)
    #expect(outcome.fast == .unusual)
    #expect(outcome.line != nil)
  }

  @Test(arguments: [
    "", "{", "{}", "[]", "null", "1", "\"", #"{"event"}"#, #"{"event":1}"#, #"{"event":null}"#,
    #"{"event":"e","event":1}"#, #"{"event":"e",}"#, #"{"event":"e","channel":"c","data":"{}",}"#,
    #"{"event":"e","channel":"c","data":"{}"}}"#, #"{"event":"e","channel":"c","data":"{}""#,
    #"{"event":"e""channel":"c","data":"{}"}"#, #"{"event":"e","channel":"c""data":"{}"}"#,
    #"{"event":"e","channel":"c","data":"\x"}"#,
    "{\"event\":\"e\",\"channel\":\"c\",\"data\":\"\n\"}",
    "{\"event\":\"e\t\",\"channel\":\"c\",\"data\":\"{}\"}",
    #"{"event":"e\","channel":"c","data":"{}"}"#,
    #"{"event":"e","channel":"c","data":01}"#, #"{"event":"e","channel":"c","data":}"#,
  ])
  func `what is no message gives no line on either way`(text: String) {
    let outcome = rig.check(text)
    #expect(outcome.fast == .unusual && outcome.line == nil)
  }

  @Test(arguments: [nil, "2026-11-21T01:39:31.121Z"], [UInt8(0x0A), 0])
  func `both ways write the time and the terminator alike`(time: String?, terminator: UInt8) {
    let rig = LineRig(receivedAt: time, terminator: terminator)
    let outcome = rig.check(message(#"{\"a\":1}"#))
    #expect(outcome.fast == .written)
    let start = time.map { #"{"received_at":"\#($0)","# } ?? "{"
    #expect(
      outcome.line
        == Array((start + #""event":"e","channel":"c","data":{"a":1}}"#).utf8) + [terminator])
  }

  @Test func `an event that is not wanted leaves nothing in the output`() {
    let wanted = EventFilter(include: ["order.*"])
    let bytes = Array(message("{}", event: "order.created").utf8)
    #expect(rig.check(bytes, filter: wanted).fast == .written)
    #expect(rig.check(Array(message("{}", event: "other").utf8), filter: wanted).fast == .filtered)
    #expect(rig.check(bytes, filter: EventFilter(exclude: ["*created"])).fast == .filtered)
    #expect(rig.check(Array(message("{", event: "order.x").utf8), filter: wanted).fast == .unusual)
  }

  @Test func `a service's own prefix decides which events are its own`() {
    let service = PusherService(
      eventPrefix: "eventflit:", internalPrefix: "eventflit_internal:", clusterHost: "",
      clusterAPIHost: "", defaultCluster: "", protocolVersion: 7)
    let output = ByteBuffer()
    let writer = LineMaker(output: output, service: service)
    let fast = { (event: String) in
      withView(Array(self.message("{}", event: event).utf8)) { writer.writeFast($0, filter: nil) }
    }
    #expect(fast("pusher:ping") == .written)
    #expect(fast("eventflit:ping") == .unusual)
    #expect(fast("eventfl") == .written)
  }

  @Test func `a line longer than the output's free space makes room for itself`() {
    let output = ByteBuffer(capacity: 64)
    let writer = LineMaker(output: output, service: .pusher)
    let body = #"[\"\#(String(repeating: #"\\n"#, count: 50_000))\"]"#
    for _ in 0..<3 {
      let result = withView(Array(message(body).utf8)) { writer.writeFast($0, filter: nil) }
      #expect(result == .written)
    }
    let expected = line(#"["\#(String(repeating: #"\n"#, count: 50_000))"]"#)
    #expect(output.array == expected + expected + expected)
  }
}

/// The fast way may decline, but it writes exactly the same as the general way.
struct GeneratedMessageTests {
  @Test(arguments: [UInt64(11), 12, 13, 14])
  func `generated messages give one line on both ways, and common shapes are fast`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let rig = LineRig()
    var written = 0
    for _ in 0..<1000 {
      let message = RandomMessage(&random)
      let outcome = rig.check(message.bytes, offset: Int.random(in: 0..<16, using: &random))
      #expect(outcome.line != nil)
      if outcome.fast == .written { written += 1 }
      if message.isCommon, outcome.fast != .written {
        Issue.record("declined: \(String(decoding: message.bytes, as: UTF8.self))")
      }
    }
    #expect(written > 400)
  }
}
