import Foundation
import PusherCore
import Testing

/// A stream that ends before the event that the run waits for: the wiring of `TruthTableTests`.
@Suite("A run that ends before its wish ends with 5 and says so", .runsPrograms)
struct UnmetWishTests {
  private static let two = "data: 1\n\nevent: tick\ndata: 2\n\n"
  private static let lines =
    #"{"event":"message","data":1}"# + "\n" + #"{"event":"tick","data":2}"# + "\n"

  /// Ways to mark the end of a stream.
  enum Mark: CaseIterable { case lastChunk, countedBody }

  private func server(_ stream: String, _ mark: Mark = .countedBody) throws -> ScriptedServer {
    try ScriptedServer { connection in
      switch mark {
      case .countedBody: try connection.answer(body: stream, type: "text/event-stream")
      case .lastChunk:
        try connection.beginStream([("Transfer-Encoding", "chunked")])
        try connection.send(chunk: stream)
        try connection.send(stream: "0\r\n\r\n")
      }
    }
  }

  private func sse(
    _ stream: String, _ options: [String], _ mark: Mark = .countedBody
  ) throws -> ProgramResult {
    let server = try server(stream, mark)
    return try PusherCLI.run(["sse", server.url] + options)
  }

  private func expect(
    _ result: ProgramResult, _ sentence: String, printed: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(result.ending == .exited(5), sourceLocation: sourceLocation)
    #expect(result.outputText == printed, sourceLocation: sourceLocation)
    #expect(
      result.errorText == "pusher-cli: error: \(sentence)\n", sourceLocation: sourceLocation)
  }

  @Test(arguments: Mark.allCases, [["--reconnect", "never"], ["-d", "{}"]])
  func `every wish is named at every mark of the end`(mark: Mark, rest: [String]) throws {
    for (options, sentence) in [
      (["-n", "3"], "the stream ended after 2 of 3 events"),
      (["--until", "[DONE]"], "the stream ended after 2 events; --until '[DONE]' never came"),
      (
        ["--until-event", "done"],
        "the stream ended after 2 events; --until-event 'done' never came"
      ),
    ] {
      expect(try sse(Self.two, options + rest, mark), sentence, printed: Self.lines)
    }
  }

  @Test func `status 204 is a mark of the end`() throws {
    let server = try ScriptedServer { connection in
      if connection.number == 1 {
        try connection.beginStream()
        try connection.send(stream: "retry: 10\n" + Self.two)
      } else {
        _ = try connection.question()
        try connection.answer(204, "No Content")
      }
    }
    let result = try PusherCLI.sse(server, "--until", "[DONE]").result()
    expect(
      result,
      "the server has no more events (HTTP 204) after 2 events; --until '[DONE]' never came",
      printed: Self.lines)
  }

  @Test func `a wish that is met, and none at all, give 0`() throws {
    for options in [["-n", "2"], ["--until", "2"], ["--until-event", "tick"], []] {
      let result = try sse(Self.two, options + ["--reconnect", "never"])
      #expect(result.ending == .exited(0) && result.errorText.isEmpty, "\(result.errorText)")
    }
  }

  @Test func `the sentence names what was left out`() throws {
    for (options, sentence) in [
      (
        ["-d", "{}", "-e", "done", "-n", "1"],
        "the stream ended after 0 of 1 events (2 other events came, none matches -e: 'message', "
          + "'tick')"
      ),
      (
        ["-d", "{}", "--where", "data > 9", "-n", "1"],
        "the stream ended after 0 of 1 events (2 other events came, --where left out 2)"
      ),
      (
        ["-d", "{}", "--field", "text", "-n", "1"],
        "the stream ended after 0 of 1 events (2 events came without the field 'text')"
      ),
      (
        ["-d", "{}", "--field", "text", "--until", "[DONE]"],
        "the stream ended after 0 events; --until '[DONE]' never came (2 events came without the "
          + "field 'text', one of them: 2)"
      ),
    ] { expect(try sse(Self.two, options), sentence, printed: "") }
  }

  @Test func `an error in the middle of an answer is quoted`() throws {
    let error = #"{"error":{"message":"overloaded"}}"#
    let stream = #"data: {"text":"Hel"}"# + "\n\ndata: \(error)\n\n"
    expect(
      try sse(stream, ["-d", "{}", "--field", "text", "--join", "--until", "[DONE]"]),
      "the stream ended after 1 event; --until '[DONE]' never came (1 event came without the "
        + "field 'text': \(error))", printed: "Hel\n")
    for options in [["--until", "[DONE]"], ["-n", "2"], []] {
      let whole = stream + #"data: {"text":"lo"}"# + "\n\ndata: [DONE]\n\n"
      let result = try sse(whole, ["-d", "{}", "--field", "text", "--join"] + options)
      #expect(result.ending == .exited(0))
      #expect(result.outputText == "Hello\n")
      let count = options.isEmpty ? "2 events" : "1 event"
      let before = options.isEmpty ? ", one of them: " : ": "
      #expect(
        result.errorText
          == "pusher-cli: warning: \(count) came without the field 'text'\(before)\(error)\n",
        "\(result.errorText)")
    }
  }

  @Test func `a server that closes the socket is a lost connection, and the wish is named`() throws
  {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "a", data: "1")
      try connection.close(code: 1000)
    }
    for (options, words) in [
      (["--reconnect", "never", "-n", "3"], "; 1 of 3 events came"),
      (["--reconnect", "never", "--until-event", "b"], "; --until-event 'b' never came"),
      (["--reconnect", "never"], ""),
    ] {
      let result = try PusherCLI.run(["subscribe"] + server.address + ["news"] + options)
      #expect(result.ending == .exited(4))
      #expect(
        result.errorText == "pusher-cli: error: closed by the server with code 1000\(words)\n",
        "\(result.errorText)")
    }
  }

  @Test func `--max-retries used up is a lost connection too`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      if connection.number == 1 {
        try connection.send(stream: "retry: 10\ndata: 1\n\n")
      } else {
        connection.drop()
      }
    }
    let result = try PusherCLI.sse(server, "--until", "[DONE]", "--max-retries", "1").result()
    #expect(result.ending == .exited(4))
    #expect(
      result.errorLines.last?.hasPrefix("pusher-cli: error: gave up after 1 attempt: ") == true)
    #expect(
      result.errorLines.last?.hasSuffix("; --until '[DONE]' never came") == true,
      "\(result.errorText)")
  }

  @Test func `a close without a mark names --until, unless the run waits for an event`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: Self.two)
    }
    let loss = "the server closed the connection without marking the stream's end"
    for (options, words) in [
      (["-d", "{}"], " (if an event marks the end, name it with --until or --until-event)"),
      (["-d", "{}", "--until", "[DONE]"], "; --until '[DONE]' never came"),
    ] {
      let result = try PusherCLI.run(["sse", server.url] + options)
      #expect(result.ending == .exited(4))
      #expect(result.errorText == "pusher-cli: error: \(loss)\(words)\n", "\(result.errorText)")
    }
  }

  @Test(arguments: [true, false])
  func `on a terminal joined text ends its line before the message`(isMarked: Bool) throws {
    let text = #"data: {"text":"Hel"}"# + "\n\n"
    let server = try ScriptedServer { connection in
      try connection.beginStream(isMarked ? [("Content-Length", "\(text.utf8.count)")] : [])
      try connection.send(stream: text)
    }
    let terminal = try PseudoTerminal()
    let program = try ChildProgram(
      "/bin/sh",
      [
        "-c", #"exec "$0" "$@" 2>&1"#, PusherCLI.path, "sse", server.url, "-d", "{}", "--field",
        "text", "--join", "--until", "[DONE]", "-q",
      ], environment: PusherCLI.environment, on: terminal.path)
    #expect(try program.wait() == .exited(isMarked ? 5 : 4))
    #expect(
      terminal.text.hasPrefix("Hel\r\n") && terminal.text.contains("error:"),
      "\(terminal.text.debugDescription)")
  }

  @Test func `trigger - that has nothing to send says so`() throws {
    let server = try LocalServer()
    for (input, words) in [("", ""), ("\n \n", ""), (#"{"event":"pusher-cli:exit"}"# + "\n", "")] {
      let file = TemporaryFolder.shared.file("lines")
      try input.write(toFile: file, atomically: true, encoding: .utf8)
      let result = try PusherCLI.run(
        ["trigger", "-"] + server.address, environment: LocalServer.environment("local-secret"),
        input: .file(file))
      #expect(result.ending == .exited(0))
      #expect(
        result.errorLines.last
          == "pusher-cli: warning: nothing was sent: standard input has no event\(words)",
        "\(result.errorText)")
    }
  }
}
