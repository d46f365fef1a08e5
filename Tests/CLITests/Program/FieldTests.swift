import Foundation
import PusherCore
import Testing

/// One field of each event's data, in place of its line.
@Suite("--field and --join", .runsPrograms)
struct FieldTests {
  private func server(_ stream: String) throws -> ScriptedServer {
    try ScriptedServer.streaming(stream)
  }

  private func sse(
    _ stream: String, _ options: String..., environment: [String: String] = [:]
  ) throws -> ProgramResult {
    let server = try server(stream)
    return try PusherCLI.run(
      ["sse", server.url, "--timeout", "10m"] + options, environment: environment)
  }

  private func subscribe(_ data: [String], _ options: String...) throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for data in data { try connection.send(event: "e", data: data) }
    }
    return try PusherCLI.run(
      ["subscribe"] + server.address + ["news", "--timeout", "10m"] + options)
  }

  private static let prices =
    "data: {\"eur\":3}\n\ndata: x\n\ndata: {\"usd\":5}\n\n"
    + "event: price\ndata: {\"eur\":\"4\\n\"}\n\ndata: {\"eur\":[1, 2]}\n\n"

  @Test(arguments: ["choices.0.delta.content", "choices[0].delta.content"])
  func `an answer in OpenAI's shape is one text`(path: String) throws {
    let result = try sse(
      ModelStreams.chat("Hel", "lo,\\n", "\\\"world\\\" é"), "-d", "{}", "--until", "[DONE]",
      "--field", path, "--join")
    #expect(result.ending == .exited(0) && result.errorText.isEmpty, "\(result.errorText)")
    #expect(result.outputText == "Hello,\n\"world\" é\n")
  }

  @Test func `an answer in Anthropic's shape is one text`() throws {
    let result = try sse(
      ModelStreams.message("Hel", "lo"), "-d", "{}", "--until-event", "message_stop",
      "--fail-event", "error", "--field", "delta.text", "--join")
    #expect(result.ending == .exited(0) && result.errorText.isEmpty, "\(result.errorText)")
    #expect(result.outputText == "Hello\n")
  }

  @Test func `a piece whose content is null adds nothing to the text`() throws {
    let stream = ModelStreams.chunk(#"{"content":null}"#) + ModelStreams.chat("Hi")
    let result = try sse(
      stream, "--until", "[DONE]", "--field", "choices.0.delta.content", "--join")
    #expect(result.outputText == "Hi\n")
  }

  @Test func `each value is a line; events without it print nothing and do not count`() throws {
    let result = try sse(Self.prices, "--field", "eur", "-n", "3")
    #expect(result.ending == .exited(0) && result.errorText.isEmpty, "\(result.errorText)")
    #expect(result.outputText == "3\n4\n\n[1,2]\n")
  }

  @Test func `with -0 each value ends with NUL`() throws {
    let result = try sse(Self.prices, "--field", "eur", "-n", "3", "-0")
    #expect(result.outputText == "3\u{0}4\n\u{0}[1,2]\u{0}")
  }

  @Test func `a filter by name applies before the field`() throws {
    let result = try sse(Self.prices, "--field", "eur", "-e", "price", "-n", "1")
    #expect(result.outputText == "4\n\n")
  }

  @Test func `subscribe prints fields of JSON inside the data's string`() throws {
    let result = try subscribe(
      [#"{"id":1}"#, "text", #"{"id":{"n" : 2}}"#, "{}", #"{"id":"x"}"#], "--field", "id", "-n",
      "3")
    #expect(result.ending == .exited(0) && result.errorText.isEmpty, "\(result.errorText)")
    #expect(result.outputText == "1\n{\"n\":2}\nx\n")
  }

  @Test func `subscribe joins values too`() throws {
    let result = try subscribe(
      [#"{"t":"a"}"#, #"{"t":"b"}"#, "{}", #"{"t":"c"}"#], "--field", "t", "--join", "-n", "3")
    #expect(result.ending == .exited(0))
    #expect(result.outputText == "abc\n")
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
    program.send(SIGTERM)
    let result = try program.result()
    #expect(result.ending == .signalled(SIGTERM))
    #expect(result.outputText == "\n")
  }

  @Test func `on a terminal joined text keeps its layout and drives nothing`() throws {
    let server = try server(ModelStreams.chat("a\\n", "\\tb\\u001b[2J"))
    let terminal = try PseudoTerminal()
    let program = try ChildProgram(
      PusherCLI.path,
      [
        "sse", server.url, "--until", "[DONE]", "--field", "choices.0.delta.content", "--join",
        "-q",
      ], environment: PusherCLI.environment, on: terminal.path)
    #expect(try program.wait() == .exited(0))
    // The terminal writes a carriage return before each newline.
    #expect(terminal.text == "a\r\n\tb\\u{1b}[2J\r\n", "\(terminal.text.debugDescription)")
  }

  @Test func `a wrong path does not end in silence`() throws {
    let result = try sse(
      ModelStreams.chat("Hello"), "--until", "[DONE]", "--field", "choices.0.text", "--join")
    #expect(result.ending == .exited(0) && result.output.isEmpty)
    #expect(
      result.errorText
        == "pusher-cli: warning: nothing to print: 4 events came without the field 'choices.0.text'\n",
      "\(result.errorText)")
  }

  @Test func `a time limit that passes counts the events without the field`() throws {
    let server = try server(Self.prices)
    let result = try PusherCLI.sse(server, "--field", "gbp", "-n", "1", "--timeout", "300ms")
      .result()
    #expect(result.ending == .exited(124) && result.output.isEmpty)
    #expect(
      result.errorText
        == "pusher-cli: error: timed out: 0 of 1 events within 0.3 s "
        + "(5 events came without the field 'gbp')\n",
      "\(result.errorText)")
  }

  @Test func `--exec gets only events with the field, and --record gets all`() throws {
    let path = TemporaryFolder.shared.file("record")
    let result = try sse(
      Self.prices, "--field", "eur", "-n", "2", "--exec", "jq -c .data.eur", "--record", path)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == "3\n\"4\\n\"\n")
    let recorded = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(recorded.count == 4)
  }

  @Test func `with --tee the field is printed besides the command`() throws {
    let path = TemporaryFolder.shared.file("taken")
    let result = try sse(
      Self.prices, "--field", "eur", "-n", "2", "--tee", "--exec", "cat >>\(path)")
    #expect(result.outputText == "3\n4\n\n")
    #expect(
      try String(contentsOfFile: path, encoding: .utf8)
        == #"{"event":"message","data":{"eur":3}}"# + "\n"
        + #"{"event":"price","data":{"eur":"4\n"}}"# + "\n")
  }

  @Test func `the format of a variable does not apply`() throws {
    let result = try sse(
      Self.prices, "--field", "eur", "-n", "1", environment: ["PUSHER_CLI_OUTPUT": "pretty"])
    #expect(result.outputText == "3\n")
  }
}
