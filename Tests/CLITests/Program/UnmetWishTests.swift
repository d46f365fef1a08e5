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
    return try PusherCLI.start(["sse", server.url] + options).result()
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

  @Test(.needs(.certificates)) func `TLS's closing alert is a mark of the end`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: certificates.trusted) { connection in
      try connection.beginStream()
      try connection.send(stream: Self.two)
    }
    let result = try PusherCLI.sse(
      server, "-n", "3", "--reconnect", "never", "--cacert", certificates.authority
    ).result()
    expect(result, "the stream ended after 2 of 3 events", printed: Self.lines)
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

  @Test func `--timeout gives 124 to --until too`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: Self.two)
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "--until", "[DONE]", "-W", "300ms").result()
    #expect(result.ending == .exited(124))
    #expect(
      result.errorText
        == "pusher-cli: error: timed out: 2 events within 0.3 s; --until '[DONE]' never came\n")
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
      let result = try PusherCLI.start(["subscribe"] + server.address + ["news"] + options).result()
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
      let result = try PusherCLI.start(["sse", server.url] + options).result()
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
      let result = try PusherCLI.start(
        ["trigger", "-"] + server.address, environment: LocalServer.environment("local-secret"),
        input: .file(file)
      ).result()
      #expect(result.ending == .exited(0))
      #expect(
        result.errorLines.last
          == "pusher-cli: warning: nothing was sent: standard input has no event\(words)",
        "\(result.errorText)")
    }
  }
}

/// An event whose content is a failure.
@Suite("--fail-where", .runsPrograms)
struct FailWhereTests {
  private static let stream =
    "data: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: {\"error\":\"busy\"}\n\ndata: {\"n\":3}\n\n"
  private static let failure =
    #"pusher-cli: error: the server sent 'message': {"error":"busy"}"# + "\n"

  private func sse(_ options: [String]) throws -> ProgramResult {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: Self.stream)
      try connection.remain()
    }
    return try PusherCLI.start(["sse", server.url, "--timeout", "10m"] + options).result()
  }

  @Test(arguments: [
    [], ["-o", "raw"], ["-o", "pretty"], ["-F", "%e"], ["--field", "n"], ["-0"], ["-t"],
    ["--exec", "cat"], ["--where", "data.n"], ["-x", "nothing"], ["--until", "[DONE]"],
    ["--until-event", "mess?ge2"],
  ])
  func `--fail-where ends every form of output with 5 and the event's data`(options: [String])
    throws
  {
    let result = try sse(options + ["--fail-where", "data.error"])
    #expect(result.ending == .exited(5))
    #expect(result.errorText == Self.failure, "\(result.errorText)")
    let separator: Character = options == ["-0"] ? "\0" : "\n"
    #expect(result.outputText.split(separator: separator).count == 2, "\(result.outputText)")
  }

  @Test(arguments: [["-e", "other"], ["-x", "message"], ["--where", "data.n > 5"]])
  func `an event that is left out ends the run too`(options: [String]) throws {
    let result = try sse(options + ["--fail-where", "data.error"])
    #expect(result.ending == .exited(5) && result.output.isEmpty)
    #expect(result.errorText == Self.failure, "\(result.errorText)")
  }

  @Test func `one condition of several is enough, and the first end decides`() throws {
    let second = try sse(["--fail-where", "data.warning", "--fail-where", #"data.error == "busy""#])
    #expect(second.ending == .exited(5) && second.errorText == Self.failure)
    let counted = try sse(["--fail-where", "data.error", "-n", "2"])
    #expect(counted.ending == .exited(0) && counted.errorText.isEmpty)
  }

  @Test func `-L names the option, and --record gets the event`() throws {
    let path = TemporaryFolder.shared.file("record")
    let result = try sse(["--fail-where", "data.error", "-L", "--record", path])
    let last = result.outputText.split(separator: "\n").last ?? ""
    #expect(last.contains(#""status":5,"reason":"fail-where","events":2"#), "\(last)")
    let recorded = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(recorded.count == 3 && recorded.last?.hasSuffix(#""data":{"error":"busy"}}"#) == true)
  }

  @Test(arguments: [[], ["-v"], ["-F", "%d"], ["-e", "other"], ["--field", "n"]])
  func `subscribe ends too, on its fast path and off it`(options: [String]) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "a", data: #"{"n":1}"#)
      try connection.send(event: "b", data: #"{"status":"failed"}"#)
      try connection.send(event: "a", data: #"{"n":2}"#)
      try connection.stay()
    }
    let result = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--fail-where", #"data.status == "failed""#, "--timeout", "10m"] + options
    ).result()
    #expect(result.ending == .exited(5))
    #expect(
      result.errorLines.contains(
        #"pusher-cli: error: the server sent 'b': {"status":"failed"}"#), "\(result.errorText)")
    #expect(result.outputText.split(separator: "\n").count == (options == ["-e", "other"] ? 0 : 1))
  }

  @Test func `a receiver gets the events before it`() throws {
    let receiver = try ForwardReceiver()
    let result = try sse(["--fail-where", "data.error", "--forward", receiver.url])
    #expect(result.ending == .exited(5))
    #expect(result.errorLines.first.map { "\($0)\n" } == Self.failure, "\(result.errorText)")
  }
}
