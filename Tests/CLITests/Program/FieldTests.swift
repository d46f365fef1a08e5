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

  private func subscribe(_ data: [String], _ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for data in data { try connection.send(event: "e", data: data) }
    }
    return try server.subscribed(["news", "--timeout", "10m"] + options)
  }

  private static let prices =
    "data: {\"eur\":3}\n\ndata: x\n\ndata: {\"usd\":5}\n\n"
    + "event: price\ndata: {\"eur\":\"4\\n\"}\n\ndata: {\"eur\":[1, 2]}\n\n"

  private static let openAI = ModelStreams.chat("Hel", "lo,\\n", "\\\"world\\\" é")
  private static let anthropic = ModelStreams.message("Hel", "lo")

  @Test(arguments: [
    (openAI, "choices.0.delta.content", "--until [DONE]", "Hello,\n\"world\" é\n"),
    (openAI, "choices[0].delta.content", "--until [DONE]", "Hello,\n\"world\" é\n"),
    (anthropic, "delta.text", "--until-event message_stop --fail-event error", "Hello\n"),
  ])
  func `an answer in the shape of OpenAI or Anthropic is one text`(
    stream: String, path: String, end: String, text: String
  ) throws {
    let server = try ScriptedServer.streaming(stream)
    let options = end.split(separator: " ").map(String.init)
    try PusherCLI.run(["sse", server.url, "-d", "{}", "--field", path, "--join"] + options).expect(
      prints: text, says: "")
  }

  @Test func `each value is a line; events without it print nothing and do not count`() throws {
    try sse(Self.prices, "--field", "eur", "-n", "3").expect(prints: "3\n4\n\n[1,2]\n", says: "")
  }

  @Test func `subscribe prints fields of JSON inside the data's string`() throws {
    try subscribe(
      [#"{"id":1}"#, "text", #"{"id":{"n" : 2}}"#, "{}", #"{"id":"x"}"#], "--field", "id", "-n", "3"
    ).expect(prints: "1\n{\"n\":2}\nx\n", says: "")
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

  @Test func `a time limit that passes counts the events without the field`() throws {
    let server = try ScriptedServer.streaming(Self.prices)
    try PusherCLI.sse(server, "--field", "gbp", "-n", "1", "--timeout", "300ms").result().expect(
      124, prints: "",
      says: "pusher-cli: error: timed out: 0 of 1 events within 0.3 s "
        + "(5 events came without the field 'gbp')\n")
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
