import Foundation
import Testing

@Suite("What reaches a terminal", .runsPrograms) struct TerminalTextTests {
  /// C1, DEL, bidirectional marks, and a line separator.
  private static let foreign = "a\u{9B}31m\u{7F}\u{202E}\u{2066}\u{200F}\u{061C}\u{2028}z"
  private static let escaped = #"a\u009b31m\u007f\u202e\u2066\u200f\u061c\u2028z"#

  private static let credentials = ["--key", "k"]

  private func shown(_ arguments: [String], ending: Ending = .exited(0)) throws -> String {
    let terminal = try PseudoTerminal()
    let program = try PusherCLI.start(
      arguments, on: terminal, environment: ["PUSHER_APP_SECRET": "s"])
    #expect(try program.wait() == ending)
    return terminal.text
  }

  private func expectSafe(_ text: String, _ escaped: String = escaped) {
    #expect(text.contains(escaped), "\(text.debugDescription)")
    let isSafe = text.unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      case 0x0A, 0x0D: true
      case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
      default: true
      }
    }
    #expect(isSafe, "\(text.debugDescription)")
  }

  @Test func `answers of the HTTP API are shown safely`() throws {
    let users = try ScriptedServer.answering(200, body: #"{"users":[{"id":"\#(Self.foreign)"}]}"#)
    expectSafe(try shown(["users", "presence-a", "--app-id", "1"] + users.address))
    let channels = try ScriptedServer.answering(200, body: #"{"channels":{"\#(Self.foreign)":{}}}"#)
    expectSafe(try shown(["channels", "--app-id", "1"] + channels.address))
    let info = try ScriptedServer.answering(
      200, body: #"{"channels":{"\#(Self.foreign)\u001b[2J":{}}}"#)
    expectSafe(
      try shown(
        ["trigger", "--app-id", "1", "-c", "a", "-e", "b", "1", "--info", "user_count"]
          + info.address), Self.escaped + #"\u001b[2J"#)
  }

  @Test func `what is signed or would be sent is shown safely`() throws {
    let data = ["-c", "a", "-e", "b", Self.foreign, "--dry-run"]
    expectSafe(try shown(["trigger", "--app-id", "1"] + Self.credentials + data))
    let user = ["--socket-id", "1.2", "--user-id", Self.foreign]
    expectSafe(try shown(["auth"] + Self.credentials + user))
    expectSafe(try shown(["sign", "user"] + Self.credentials + user))
    expectSafe(
      try shown(
        ["verify", "webhook", "--data", Self.foreign, "--signature", "aa"] + Self.credentials,
        ending: .exited(3)))
  }

  @Test(arguments: [
    ["-o", "json"], ["-o", "raw"], ["-o", "pretty"], ["-F", "%d"], ["-F", "%j"],
  ])
  func `events are shown safely in every form`(form: [String]) throws {
    let server = try ScriptedServer.joined { try $0.send(event: "e", data: Self.foreign) }
    let text = try shown(
      ["subscribe", "news", "-n", "1", "-q", "--color", "never"] + server.address + form)
    let isText = [["-o", "raw"], ["-o", "pretty"], ["-F", "%d"]].contains(form)
    expectSafe(
      text, isText ? #"\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}z"# : Self.escaped)
  }

  @Test func `webhooks are shown safely`() throws {
    let terminal = try PseudoTerminal()
    let file = TemporaryFolder.shared.file("port")
    let listener = try PusherCLI.start(
      [
        "webhook", "listen", "--local", "--listen", "127.0.0.1:0", "--port-file", file, "-n", "1",
        "-q",
      ], on: terminal)
    let port = try listener.port(in: file)
    let body =
      #"{"time_ms":1,"events":[{"name":"client_event","channel":"a","data":"\#(Self.foreign)"}]}"#
    let signed = try PusherCLI.run("sign", "webhook", "--local", "--data", body).outputText
    let signature = try #require(signed.firstMatch(of: /"signature":"([0-9a-f]+)"/)?.1)
    _ = try PusherCLI.tool([
      "curl", "-s", "-H", "X-Pusher-Key: local", "-H", "X-Pusher-Signature: \(signature)",
      "-H", "Content-Type: application/json", "--data-binary", body, "http://127.0.0.1:\(port)/",
    ])
    #expect(try listener.wait() == .exited(0))
    expectSafe(terminal.text)
  }
}
