import Foundation
import PusherCore
import Testing

/// NDJSON, JSON text sequences and single answers in place of an event stream.
@Suite("sse: bodies that are no event stream", .runsPrograms)
struct StreamBodyTests {
  private static let ndjson = "application/x-ndjson"

  private func line(_ data: String) -> String { #"{"event":"message","data":\#(data)}"# + "\n" }

  /// A server that sends a body of known length to each request.
  private func server(_ body: String, type: String) throws -> ScriptedServer {
    try ScriptedServer { try $0.answer(body: body, type: type) }
  }

  private func sse(_ server: ScriptedServer, _ options: String...) throws -> ProgramResult {
    try PusherCLI.run(["sse", server.url, "--timeout", "10m"] + options)
  }

  @Test(arguments: [ndjson, "application/jsonl", "Application/X-NDJSON; charset=utf-8"])
  func `JSON lines are known by their type, and each is printed at once`(type: String) throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.beginAnswer(type: type)
      try connection.send(stream: "{\"a\": 1.10}\n\r\n[2]\r\nsome text\n")
      try connection.remain()
    }
    let program = try PusherCLI.sse(server)
    let lines = [line(#"{"a":1.10}"#), line("[2]"), line(#""some text""#)].joined()
    #expect(try program.lines(3).joined(separator: "\n") + "\n" == lines)
  }

  @Test func `the texts of a JSON sequence may have lines`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.beginAnswer(type: "application/json-seq")
      try connection.send(stream: "\u{1E}{\"a\":\n1}\n\u{1E}2\n")
      try connection.remain()
    }
    let result = try sse(server, "-n", "2")
    #expect(result.outputText == line(#"{"a":1}"#) + line("2"))
  }

  @Test func `--lines reads a body of any type, and asks for lines`() throws {
    let accepted = Record<[String]>()
    let server = try ScriptedServer { connection in
      accepted.add(try connection.question().head.headers.all("Accept"))
      try connection.send(body: "{\"type\":\"ADDED\"}\n", type: "application/json")
    }
    let result = try sse(server, "--lines", "-n", "1")
    #expect(result.outputText == line(#"{"type":"ADDED"}"#))
    #expect(
      accepted.values == [
        [
          "application/x-ndjson, application/jsonl, application/json-seq, application/json, "
            + "*/*;q=0.1"
        ]
      ])
    let mislabelled = try self.server("{}\n", type: "text/event-stream")
    #expect(try sse(mislabelled, "--lines", "-n", "1").outputText == line("{}"))
  }

  @Test func `the answer to a request with data ends the run with 0, and its last line counts`()
    throws
  {
    let server = try server("{\"n\":1}\n{\"n\":2}", type: Self.ndjson)
    let result = try sse(server, "-d", "{}")
    #expect(result.ending == .exited(0))
    #expect(result.outputText == line(#"{"n":1}"#) + line(#"{"n":2}"#))
    #expect(result.errorText.isEmpty, "\(result.errorText)")
    #expect(server.connectionCount == 1)
  }

  @Test func `without data the lines are asked for again, as a stream is`() throws {
    let server = try ScriptedServer { connection in
      try connection.answer(body: "\(connection.number)\n", type: Self.ndjson)
    }
    let result = try sse(server, "-n", "2", "--reconnect-delay", "10ms")
    #expect(result.outputText == line("1") + line("2"))
    #expect(server.connectionCount == 2)
  }

  @Test func `a line that was cut is reported as an incomplete event, and not printed`() throws {
    let server = try server("{\"n\":1}\n{\"n\":", type: Self.ndjson)
    let result = try sse(server, "-d", "{}")
    #expect(result.ending == .exited(4))
    #expect(result.outputText == line(#"{"n":1}"#))
    #expect(
      result.errorText
        == "pusher-cli: error: the stream ended in the middle of an event, which is not printed\n")
  }

  @Test func `after a close that nothing announces the last line counts only if it is whole`()
    throws
  {
    for (last, isWhole) in [("{\"n\":2}", true), ("2", false)] {
      let server = try ScriptedServer { connection in
        _ = try connection.question()
        try connection.beginAnswer(type: Self.ndjson)
        try connection.send(stream: "1\n\(last)")
      }
      let result = try sse(server, "-d", "{}")
      #expect(result.ending == .exited(4))
      #expect(result.outputText == line("1") + (isWhole ? line(last) : ""))
      let reason = isWhole ? "without marking the stream's end" : "in the middle of an event"
      #expect(result.errorText.contains(reason), "\(result.errorText)")
    }
  }

  @Test(arguments: [["--lines"], ["--accept-json"]])
  func `--max-event limits a line and a document`(options: [String]) throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.beginAnswer(type: "application/json")
      try connection.send(stream: "[" + String(repeating: "1,", count: 1000))
      try connection.remain()
    }
    let result = try PusherCLI.run(
      ["sse", server.url, "--max-event", "1k"] + options)
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText
        == "pusher-cli: error: an event's data is larger than 1024 bytes "
        + "(--max-event SIZE raises the limit)\n")
  }

  @Test func `a compressed body is read too`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.beginAnswer([("Content-Encoding", "deflate")], type: Self.ndjson)
      let packed = ByteBuffer()
      let plain = ByteBuffer()
      plain.append("{\"n\":1}\n2\n")
      Deflater(windowBits: 15).deflate(plain.view.raw, into: packed)
      try connection.send(packed)
      try connection.remain()
    }
    #expect(try sse(server, "-n", "2").outputText == line(#"{"n":1}"#) + line("2"))
  }

  @Test func `every form of output takes lines`() throws {
    let server = try server(
      #"{"message":{"content":"Hel"}}"# + "\n" + #"{"message":{"content":"lo"},"done":true}"#
        + "\n", type: Self.ndjson)
    let joined = try sse(server, "-d", "{}", "--field", "message.content", "--join")
    #expect(joined.outputText == "Hello\n")
    let chosen = try sse(server, "-d", "{}", "--where", "data.done == true", "-F", "%e %d")
    #expect(
      chosen.outputText == #"message {"message":{"content":"lo"},"done":true}"# + "\n")
  }

  @Test func `--accept-json prints an answer as one event, and reads a stream as ever`() throws {
    let accepted = Record<[String]>()
    let server = try ScriptedServer { connection in
      accepted.add(try connection.question().head.headers.all("Accept"))
      if connection.number == 1 {
        try connection.send(
          body: "{\n  \"jsonrpc\": \"2.0\"\n}\n", type: "application/json; charset=utf-8")
      } else {
        try connection.send(body: "data: 1\n\n", type: "text/event-stream")
      }
    }
    let document = try sse(server, "--accept-json", "-d", "{}", "-v")
    #expect(document.ending == .exited(0))
    #expect(document.outputText == line(#"{"jsonrpc":"2.0"}"#))
    #expect(
      document.errorText.contains("/stream, the answer is one event\n"), "\(document.errorText)")
    #expect(try sse(server, "--accept-json", "-d", "{}").outputText == line("1"))
    #expect(accepted.values == Array(repeating: ["application/json, text/event-stream"], count: 2))
  }

  @Test func `a JSON answer is refused without an option, and the message names both`() throws {
    let result = try sse(server("{}", type: "application/json"))
    #expect(result.ending == .exited(5))
    #expect(
      result.errorText
        == "pusher-cli: error: the answer is not an event stream, but of type application/json "
        + "(--accept-json takes it as one event, --lines each of its lines)\n")
  }
}

/// An answer without an event, the options that read it, and the message after its beginning.
struct EventlessAnswer: Sendable, CustomTestStringConvertible {
  let testDescription: String
  var options = ["-d", "{}"]
  let type: String
  var body: String
  let message: String

  static let all = [
    EventlessAnswer(
      testDescription: "a page", options: ["--reconnect", "never"],
      type: "text/event-stream", body: "<html>\n<body>hi</body>\n",
      message: "23 bytes of text/event-stream, beginning with '<html> <body>hi</body>'"),
    EventlessAnswer(
      testDescription: "a page without a last line end", type: "text/event-stream", body: "<html>",
      message: "6 bytes of text/event-stream, beginning with '<html>'"),
    EventlessAnswer(
      testDescription: "comments alone", type: "text/event-stream", body: ": ok\n\n",
      message: "6 bytes of text/event-stream, beginning with ': ok'"),
    EventlessAnswer(
      testDescription: "JSON named an event stream", type: "text/event-stream",
      body: #"{"error":"no"}"#,
      message: #"14 bytes of text/event-stream, beginning with '{"error":"no"}' "#
        + "(--lines reads each line as an event)"),
    EventlessAnswer(
      testDescription: "no byte", type: "text/event-stream", body: "",
      message: "an empty body of text/event-stream"),
    EventlessAnswer(
      testDescription: "no line", type: "application/x-ndjson", body: "\n\n",
      message: "2 bytes of application/x-ndjson"),
    EventlessAnswer(
      testDescription: "no document", options: ["--accept-json", "-d", "{}"],
      type: "application/json", body: "", message: "an empty body of application/json"),
    EventlessAnswer(
      testDescription: "a long text", type: "text/event-stream",
      body: String(repeating: "\u{1B}[2J ", count: 99),
      message: "495 bytes of text/event-stream, beginning with '"
        + Array(repeating: "[2J", count: 12).joined(separator: " ") + "…'"),
  ]
}

@Suite("sse: an answer without an event", .runsPrograms)
struct EventlessAnswerTests {
  @Test(arguments: EventlessAnswer.all)
  func `an answer without an event never ends the run in silence or with 0`(
    _ answer: EventlessAnswer
  ) throws {
    let server = try ScriptedServer { try $0.answer(body: answer.body, type: answer.type) }
    let result = try PusherCLI.run(["sse", server.url] + answer.options)
    #expect(result.ending == .exited(5))
    #expect(result.output.isEmpty)
    #expect(
      result.errorText
        == "pusher-cli: error: the answer ended without an event: \(answer.message)\n")
  }

  @Test func `an event that is left out is an event`() throws {
    let server = try ScriptedServer {
      try $0.answer(body: "event: a\ndata: 1\n\n", type: "text/event-stream")
    }
    let result = try PusherCLI.sse(server, "-d", "{}", "-x", "a").result()
    #expect(result.ending == .exited(0) && result.errorText.isEmpty, "\(result.errorText)")
  }

  @Test func `a run that asks again warns about a page, but not about a stream without events`()
    throws
  {
    let server = try ScriptedServer { connection in
      switch connection.number {
      case 1: try connection.answer(body: "<p>starting</p>", type: "text/event-stream")
      case 2: try connection.answer(body: ": nothing yet\n\n", type: "text/event-stream")
      default: try connection.answer(body: "data: 1\n\n", type: "text/event-stream")
      }
    }
    let result = try PusherCLI.sse(server, "-n", "1", "--reconnect-delay", "10ms").result()
    #expect(result.ending == .exited(0))
    let losses = result.errorLines.filter { $0.contains("retrying in") }
    #expect(losses.count == 1, "\(result.errorText)")
    #expect(
      losses.first?.hasPrefix(
        "pusher-cli: warning: the answer ended without an event: 15 bytes of text/event-stream, "
          + "beginning with '<p>starting</p>'; retrying in ") == true, "\(result.errorText)")
  }

  @Test func `the last of several attempts counts`() throws {
    let server = try ScriptedServer { connection in
      try connection.answer(body: "<p>", type: "text/event-stream")
    }
    let result = try PusherCLI.sse(
      server, "--max-retries", "1", "--reconnect-delay", "10ms"
    ).result()
    #expect(result.ending == .exited(5))
    #expect(
      result.errorLines.last.map(String.init)
        == "pusher-cli: error: gave up after 1 attempt: the answer ended without an event: "
        + "3 bytes of text/event-stream, beginning with '<p>'", "\(result.errorText)")
  }
}
