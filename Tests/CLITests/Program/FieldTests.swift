import Foundation
import PusherCore
import Testing

/// One field of each event's data, in place of its line.
@Suite("--field and --join", .runsPrograms)
struct FieldTests {
  private func sse(_ stream: String, _ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer.streaming(stream)
    return try PusherCLI.run(["sse", server.url, "--timeout", "10m"] + options)
  }

  private static let prices =
    "data: {\"eur\":3}\n\ndata: x\n\ndata: {\"usd\":5}\n\n"
    + "event: price\ndata: {\"eur\":\"4\\n\"}\n\ndata: {\"eur\":[1, 2]}\n\n"

  @Test func `each value is a line; events without it print nothing and do not count`() throws {
    try sse(Self.prices, "--field", "eur", "-n", "3").expect(prints: "3\n4\n\n[1,2]\n", says: "")
  }

  @Test func `a joined value leaves at once, and a signal gives the text its line end`() throws {
    let gate = Gate()
    let server = try ScriptedServer.streaming { connection in
      try connection.send(stream: ModelStreams.chunk(#"{"content":"Hel|"}"#))
      try connection.wait(for: gate)
      try connection.send(stream: ModelStreams.chunk(#"{"content":"lo|"}"#))
    }
    let program = try PusherCLI.sse(server, "--field", "choices.0.delta.content", "--join")
    #expect(try program.line(endedBy: UInt8(ascii: "|")) == "Hel")
    gate.open()
    #expect(try program.line(endedBy: UInt8(ascii: "|")) == "lo")
    let result = try program.result(of: SIGTERM)
    #expect(result.outputText == "\n")
  }

  @Test func `a wrong path does not end in silence`() throws {
    try sse(ModelStreams.chat("Hello"), "--until", "[DONE]", "--field", "choices.0.text", "--join")
      .expect(
        prints: "",
        says:
          "pusher-cli: warning: nothing to print: 4 events came without the field 'choices.0.text'\n"
      )
  }

  @Test func `--exec gets only events with the field, and --record gets all`() throws {
    let path = TemporaryFolder.shared.file("record")
    try sse(Self.prices, "--field", "eur", "-n", "2", "--exec", "jq -c .data.eur", "--record", path)
      .expect(prints: "3\n\"4\\n\"\n")
    let recorded = try fileText(path).split(separator: "\n")
    #expect(recorded.count == 4)
  }

  @Test func `with --tee the field is printed besides the command`() throws {
    let path = TemporaryFolder.shared.file("taken")
    let result = try sse(
      Self.prices, "--field", "eur", "-n", "2", "--tee", "--exec", "cat >>\(path)")
    #expect(result.outputText == "3\n4\n\n")
    #expect(
      try fileText(path)
        == #"{"event":"message","data":{"eur":3}}"# + "\n"
        + #"{"event":"price","data":{"eur":"4\n"}}"# + "\n")
  }
}
