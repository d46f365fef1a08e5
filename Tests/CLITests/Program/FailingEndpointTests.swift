import Foundation
import PusherCore
import Testing

@Suite("An endpoint that fails, at first and later", .runsPrograms) struct FailingEndpointTests {
  /// A bad answer, and what the program says about it.
  struct Answer: Sendable, CustomTestStringConvertible {
    let says: String
    let give: ScriptedServer.Script
    var testDescription: String { says }
    var isPage: Bool { says.contains("page") }
    /// Time limit of the request; short only for silence, because a busy machine answers late.
    var limit: String { says.hasPrefix("no answer") ? "400ms" : "60s" }
  }

  static let answers = [
    Answer(says: "the endpoint answered HTTP 500") {
      try $0.answer(500, "Internal Server Error", body: "<h1>Oops</h1>")
    },
    Answer(says: "the endpoint answered HTTP 503") { try $0.answer(503, body: "deploying") },
    Answer(says: "the endpoint answered HTTP 429") { try $0.answer(429, "Too Many Requests") },
    Answer(says: "the endpoint answered a page, not JSON: a login page? give --auth-header ") {
      try $0.answer(200, "OK", body: "<!doctype html><title>Log in</title>")
    },
    Answer(says: "the endpoint closed the connection inside its answer") { connection in
      try connection.send(stream: "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"au")
      connection.end()
    },
    Answer(says: "no answer within 0.4 s") { try $0.stall() },
  ]

  /// Starts an endpoint that answers correctly except to the requests in `bad`, counted from 1.
  private func endpoint(_ answer: Answer, bad: ClosedRange<Int>) throws -> ScriptedServer {
    try ScriptedServer { connection in
      _ = try connection.question()
      if bad.contains(connection.number) { return try answer.give(connection) }
      try connection.answer(200, body: #"{"auth":"test-key:signed"}"#)
    }
  }

  private func subscribe(
    to server: ScriptedServer, asking endpoint: ScriptedServer, within limit: String
  ) throws -> ProgramResult {
    try server.subscribed(
      "private-a", "-n", "1", "--retry-max-delay", "50ms", "--connect-timeout", limit,
      "--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/auth")
  }

  @Test(arguments: answers)
  func `a run that is not yet joined gives up after three questions`(answer: Answer) throws {
    let endpoint = try endpoint(answer, bad: 1...9)
    let server = try ScriptedServer.greeting()
    let result = try subscribe(to: server, asking: endpoint, within: answer.limit)
    result.expect(answer.isPage ? 5 : 4, prints: "")
    let last = result.errorLines.last ?? ""
    #expect(last.hasPrefix("pusher-cli: error: private-a refused: \(answer.says)"), "\(last)")
    // Repeating the request does not turn an HTML page into JSON.
    #expect(endpoint.connectionCount == (answer.isPage ? 1 : 3))
  }

  @Test(arguments: answers)
  func `a run that was joined asks until there is an answer again`(answer: Answer) throws {
    let endpoint = try endpoint(answer, bad: 2...5)
    let server = try ScriptedServer { connection in
      try connection.join()
      if connection.number == 1 { return connection.drop() }
      try connection.send(event: "back", channel: "private-a", data: "{}")
      try connection.stay()
    }
    let result = try subscribe(to: server, asking: endpoint, within: answer.limit)
    result.expect(prints: #"{"event":"back","channel":"private-a","data":{}}"# + "\n")
    let delays = result.errorLines.filter { $0.contains("authorisation for ") }
    #expect(delays.count == 4, "\(result.errorText)")
    #expect(delays.allSatisfy { $0.contains(answer.says) })
    #expect(server.connectionCount == 2)
  }
}
