import Foundation
import PusherCore
import TestSupport
import Testing

@Suite("What breaks a rule on its way to the program", .runsPrograms) struct MalformedInputTests {
  private static func tick(_ data: String = "{}") -> String {
    #"{"event":"tick","channel":"news","data":\#(data)}"# + "\n"
  }

  /// Bytes that a WebSocket server must not send; the connection fails (RFC 6455 section 7.1.7).
  ///
  /// The number is the code of the client's close frame (RFC 6455 section 7.4.1).
  static let violations: [(name: String, bytes: [UInt8], code: UInt16)] = [
    ("invalid UTF-8", [0x81, 2, 0xC3, 0x28], 1007),
    ("a masked frame", [0x81, 0x80, 1, 2, 3, 4], 1002),
    ("a frame of 1 TiB", [0x81, 127, 0, 0, 1, 0, 0, 0, 0, 0], 1009),
  ]

  @Test(arguments: violations)
  func `a broken frame is reported, and the connection made anew`(
    name: String, bytes: [UInt8], code: UInt16
  ) throws {
    let closes = Record<ScriptedEvent>()
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: "\(connection.number)")
      guard connection.number == 1 else { try connection.stay() }
      try connection.send(bytes: bytes)
      closes.add(try connection.event())
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "--retry-max-delay", "100ms"
    ).result()
    result.expect(0, prints: Self.tick("1") + Self.tick("2"))
    let close = try waitFor("the server notes the close") { closes.values.first }
    guard case .closed(code, _) = close else {
      Issue.record("\(close)")
      return
    }
    #expect(result.errorLines.first?.contains("broke the protocol") == true, "\(result.errorText)")
  }

  /// Text messages that are not events, and a binary message.
  static let messages = [
    "", "{", "nonsense", "[]", "null", "42", #""event""#, "{}", #"{"data":{}}"#, #"{"event":null}"#,
    #"{"event":7,"data":{}}"#, #"{"event":"e","channel":"news","data":}"#,
    #"{"event":"e","channel":"news","data":"x"} trailing"#, #"{"event":"e","data":"\x"}"#,
    "{\"event\":\"e\",\"data\":\"line\nend\"}", "{\"event\":\"e\0\"}",
  ]

  @Test func `messages that are no events are reported, and the stream goes on`() throws {
    let server = try ScriptedServer.joined { connection in
      for message in Self.messages { try connection.send(text: message) }
      try connection.send(binary: [0, 1, 2])
      try connection.send(event: "tick", data: "{}")
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-n", "1").result()
    result.expect(0, prints: Self.tick())
    #expect(result.errorLines.count == Self.messages.count + 1, "\(result.errorText)")
    #expect(result.errorLines.allSatisfy { $0.contains("warning: skipped a message") })
    #expect(server.connectionCount == 1)
  }

  @Test func `with -L messages that break a rule are lines of their own, which jq reads`() throws {
    let server = try ScriptedServer.joined { connection in
      for message in Self.messages { try connection.send(text: message) }
      try connection.send(event: "tick", data: "{}")
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-n", "1", "-L").result()
    let frames = try Jq.run(
      "-r", #"select(.event == "pusher-cli:bad_frame").data.base64"#, on: result.output)
    #expect(
      frames.split(separator: "\n", omittingEmptySubsequences: false)
        == Self.messages.map { Substring(Data($0.utf8).base64EncodedString()) } + [""])
  }

  @Test(arguments: ["raw", "pretty"])
  func `data nested too deep for a value is shown as its text`(format: String) throws {
    let deep = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
    let server = try ScriptedServer.joined {
      try $0.send(text: #"{"event":"deep","channel":"news","data":\#(deep)}"#)
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-n", "1", "-o", format).result()
    result.expect(0)
    // The page wraps the text.
    #expect(result.outputText.filter { !$0.isWhitespace }.contains(deep), "\(result.outputText)")
  }

  @Test func `a name with a line end does not break the head of a pretty event`() throws {
    let server = try ScriptedServer.joined {
      try $0.send(text: #"{"event":"one\ntwo\u001b[2J","channel":"news","data":"1"}"#)
    }
    let result = try PusherCLI.subscribe(to: server, "news", "-n", "1", "-o", "pretty").result()
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.count == 1 && lines[0].hasSuffix(#"news  one\ntwo\u{1b}[2J  1"#), "\(lines)")
  }

  @Test func `each of several errors of the server is told`() throws {
    let server = try ScriptedServer.joined { connection in
      for number in 1...3 {
        try connection.send(
          text: #"{"event":"pusher:error","data":{"code":null,"message":"trouble \#(number)"}}"#)
      }
      try connection.send(event: "tick", data: "1")
    }
    try PusherCLI.subscribe(to: server, "news", "-n", "1").result()
      .expect(0, telling: "trouble 1", "trouble 2", "trouble 3")
  }
}
