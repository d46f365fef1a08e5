import Foundation
import PusherCore
import TestSupport
import Testing

@Suite("What breaks a rule on its way to the program", .runsPrograms)
struct MalformedInputTests {
  /// Bytes that a WebSocket server must not send; the connection fails (RFC 6455 section 7.1.7).
  struct Violation: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: [UInt8]
    /// Code of the client's close frame (RFC 6455 section 7.4.1).
    var code: UInt16
  }

  static let violations = [
    Violation(testDescription: "invalid UTF-8", bytes: [0x81, 2, 0xC3, 0x28], code: 1007),
    Violation(testDescription: "a reserved bit", bytes: [0xC1, 2, 0x7B, 0x7D], code: 1002),
    Violation(testDescription: "a reserved opcode", bytes: [0x83, 0], code: 1002),
    Violation(testDescription: "a masked frame", bytes: [0x81, 0x80, 1, 2, 3, 4], code: 1002),
    Violation(testDescription: "a long control frame", bytes: [0x89, 126, 0, 126], code: 1002),
    Violation(testDescription: "a continuation of nothing", bytes: [0x80, 0], code: 1002),
    Violation(
      testDescription: "a frame of 1 TiB", bytes: [0x81, 127, 0, 0, 1, 0, 0, 0, 0, 0], code: 1009),
    Violation(
      testDescription: "a length with its first bit set",
      bytes: [0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 1], code: 1002),
  ]

  @Test(arguments: violations)
  func `a broken frame is reported, and the connection made anew`(violation: Violation) throws {
    let closes = Record<ScriptedEvent>()
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: "\(connection.number)")
      if connection.number == 1 {
        try connection.send(bytes: violation.bytes)
        closes.add(try connection.event())
        connection.end()
      } else {
        try connection.stay()
      }
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "--retry-max-delay", "100ms"
    ).result()
    #expect(result.ending == .exited(0))
    #expect(
      result.outputText == #"{"event":"tick","channel":"news","data":1}"# + "\n"
        + #"{"event":"tick","channel":"news","data":2}"# + "\n")
    let close = try waitFor("the server notes the close") { closes.values.first }
    guard case .closed(let code, _) = close else {
      Issue.record("\(closes.values)")
      return
    }
    #expect(code == violation.code)
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
    #expect(result.ending == .exited(0))
    #expect(result.outputText == #"{"event":"tick","channel":"news","data":{}}"# + "\n")
    #expect(result.errorLines.count == Self.messages.count + 1, "\(result.errorText)")
    #expect(result.errorLines.allSatisfy { $0.contains("warning: skipped a message") })
    #expect(server.connectionCount == 1)
  }

  @Test func `with -L they are lines of their own, which jq reads`() throws {
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

  @Test func `odd messages of the protocol itself do no harm`() throws {
    let server = try ScriptedServer.joined { connection in
      for message in [
        #"{"event":"pusher:connection_established","data":"{}"}"#,
        #"{"event":"pusher:error","data":null}"#, #"{"event":"pusher:error"}"#,
        #"{"event":"pusher_internal:subscription_succeeded","channel":"other","data":"{}"}"#,
        #"{"event":"pusher_internal:member_added","channel":"news","data":"nonsense"}"#,
        #"{"event":"pusher_internal:member_removed","data":{}}"#,
        #"{"event":"pusher:pong"}"#, #"{"event":"pusher:unheard_of","data":{}}"#,
      ] { try connection.send(text: message) }
      try connection.send(event: "tick", data: "{}")
    }
    let program = try PusherCLI.subscribe(to: server, "news", "-e", "tick", "-n", "1")
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText == #"{"event":"tick","channel":"news","data":{}}"# + "\n")
    #expect(server.connectionCount == 1)
  }

  @Test func `random bytes behind a good start never make a broken line`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      var generator = SeededGenerator(seed: UInt64(connection.number))
      try connection.send(event: "tick", data: "{}")
      try connection.send(
        bytes: (0..<4096).map { _ in UInt8.random(in: 0...255, using: &generator) })
      connection.end()
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "8", "--retry-max-delay", "100ms"
    ).result()
    #expect(result.ending == .exited(0))
    let line = #"{"event":"tick","channel":"news","data":{}}"# + "\n"
    #expect(result.outputText == String(repeating: line, count: 8))
  }
}
