import Foundation
import PusherCore
import Testing

/// A request that may have an effect, and a server that cannot take it yet.
@Suite("sse --retry-post", .runsPrograms)
struct RetryPostTests {
  private static let event = #"{"event":"message","data":1}"# + "\n"
  private static let question = #"{"question":1}"#

  private static func busy(_ status: Int = 429, retryAfter: String? = "0") -> String {
    let field = retryAfter.map { "Retry-After: \($0)\r\n" } ?? ""
    return "HTTP/1.1 \(status) Busy\r\n\(field)Content-Length: 0\r\n\r\n"
  }

  /// Answers the first requests with `refusals`, and the next one with a stream of one event.
  private func server(
    _ refusals: [String], bodies: Record<String> = Record()
  ) throws -> ScriptedServer {
    try ScriptedServer { connection in
      if connection.number <= refusals.count {
        bodies.add(try connection.question().body)
        return try connection.send(stream: refusals[connection.number - 1])
      }
      bodies.add(try connection.beginStream([("Content-Length", "9")]).body)
      try connection.send(stream: "data: 1\n\n")
    }
  }

  private func ask(_ server: ScriptedServer, _ options: String...) throws -> ProgramResult {
    try PusherCLI.run(
      ["sse", server.url, "-d", Self.question, "--retry-max-delay", "20ms"] + options)
  }

  @Test(arguments: [429, 503])
  func `a POST is sent again as it was, until the server takes it`(status: Int) throws {
    let bodies = Record<String>()
    let server = try server([Self.busy(status), Self.busy(status)], bodies: bodies)
    let result = try ask(server, "--retry-post")
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == Self.event)
    #expect(bodies.values == Array(repeating: Self.question, count: 3))
    let warning =
      "pusher-cli: warning: the server answered HTTP \(status) (Busy) and asks to wait 0 s; "
      + "retrying in "
    #expect(result.errorLines.count == 2)
    #expect(result.errorLines.allSatisfy { $0.hasPrefix(warning) }, "\(result.errorText)")
  }

  @Test func `the wait that the server names is kept, up to --retry-max-delay`() throws {
    let server = try server([Self.busy(retryAfter: "7200")])
    let result = try ask(server, "--retry-post")
    #expect(result.ending == .exited(0))
    #expect(
      result.errorText.contains("asks to wait 120 min; retrying in 20 ms\n"), "\(result.errorText)")
  }

  @Test func `--max-retries limits the repetitions of a POST`() throws {
    let server = try server([Self.busy(), Self.busy(), Self.busy()])
    let result = try ask(server, "--retry-post", "--max-retries", "1")
    #expect(result.ending == .exited(4) && result.output.isEmpty)
    #expect(server.connectionCount == 2)
    #expect(
      result.errorLines.last?.hasPrefix(
        "pusher-cli: error: gave up after 1 attempt: the server answered HTTP 429 (Busy)") == true,
      "\(result.errorText)")
  }

  @Test func `without the option it is not sent again, and the option is named`() throws {
    let server = try server([Self.busy()])
    let result = try ask(server)
    #expect(result.ending == .exited(4) && server.connectionCount == 1)
    #expect(
      result.errorText == "pusher-cli: error: the server answered HTTP 429 (Busy) and asks to "
        + "wait 0 s (--retry-post sends the request again)\n")
  }

  @Test(arguments: [busy(429, retryAfter: nil), busy(503, retryAfter: nil), busy(500), busy(403)])
  func `a server that does not ask for it gets it once`(answer: String) throws {
    let server = try server([answer])
    let result = try ask(server, "--retry-post")
    #expect(result.ending != .exited(0) && result.errorLines.count == 1)
    #expect(server.connectionCount == 1)
  }

  @Test func `a connection that cannot be made ends the run`() throws {
    let result = try PusherCLI.run([
      "sse", "http://127.0.0.1:\(Loopback.closedPort())/", "-d", "{}", "--retry-post",
    ])
    #expect(result.ending == .exited(4) && result.errorLines.count == 1)
  }

  /// The server may have begun the work that was asked for.
  @Test(arguments: ["", "data: 1\n\n", "data: 1\n\ndata: 2"])
  func `after the stream has begun nothing is sent again`(stream: String) throws {
    let server = try ScriptedServer { connection in
      if connection.number == 1 {
        _ = try connection.question()
        return try connection.send(stream: Self.busy())
      }
      try connection.beginStream()
      try connection.send(stream: stream)
    }
    let result = try ask(server, "--retry-post")
    #expect(result.ending == .exited(4))
    #expect(result.outputText == (stream.isEmpty ? "" : Self.event))
    #expect(server.connectionCount == 2)
  }
}
