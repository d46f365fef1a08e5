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
      try connection.beginStream(type: type)
      try connection.send(stream: "{\"a\": 1.10}\n\r\n[2]\r\nsome text\n")
      try connection.remain()
    }
    let lines = try PusherCLI.sse(server).lines(3).map { $0 + "\n" }
    #expect(lines == [line(#"{"a":1.10}"#), line("[2]"), line(#""some text""#)])
  }

  @Test func `the texts of a JSON sequence may have lines`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream(type: "application/json-seq")
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
    let types = "application/x-ndjson, application/jsonl, application/json-seq, application/json"
    #expect(accepted.values == [["\(types), */*;q=0.1"]])
    let mislabelled = try self.server("{}\n", type: "text/event-stream")
    #expect(try sse(mislabelled, "--lines", "-n", "1").outputText == line("{}"))
  }

  @Test func `the answer to data ends the run with 0, and its last line counts`() throws {
    let server = try server("{\"n\":1}\n{\"n\":2}", type: Self.ndjson)
    try sse(server, "-d", "{}").expect(0, prints: line(#"{"n":1}"#) + line(#"{"n":2}"#), says: "")
    #expect(server.connectionCount == 1)
  }

  @Test func `without data the lines are asked for again, as a stream is`() throws {
    let server = try ScriptedServer { connection in
      try connection.answer(body: "\(connection.number)\n", type: Self.ndjson)
    }
    let result = try sse(server, "-n", "2", "--retry-delay", "10ms")
    #expect(result.outputText == line("1") + line("2"))
    #expect(server.connectionCount == 2)
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
    try sse(server, "--accept-json", "-d", "{}", "-v").expect(
      0, prints: line(#"{"jsonrpc":"2.0"}"#), telling: "/stream, the answer is one event\n")
    #expect(try sse(server, "--accept-json", "-d", "{}").outputText == line("1"))
    #expect(accepted.values == Array(repeating: ["application/json, text/event-stream"], count: 2))
  }
}
