import Foundation
import PusherCore
import Testing

@Suite("An authorisation endpoint that fails, at first and later", .runsPrograms)
struct FailingEndpointTests {
  enum Answer: String, Sendable, CaseIterable {
    case status500, status503, status429, html, cutShort, silent
  }

  private static func give(_ answer: Answer, on connection: ScriptedConnection) throws {
    switch answer {
    case .status500: try connection.answer(500, "Internal Server Error", body: "<h1>Oops</h1>")
    case .status503: try connection.answer(503, "Service Unavailable", body: "deploying")
    case .status429: try connection.answer(429, "Too Many Requests")
    case .html: try connection.answer(200, "OK", body: "<!doctype html><title>Log in</title>")
    case .cutShort:
      try connection.send(bytes: Array("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"au".utf8))
      connection.end()
    case .silent: try connection.stall()
    }
  }

  /// Starts an endpoint that answers correctly except to the requests in `bad`, counted from 1.
  private func endpoint(_ answer: Answer, bad: ClosedRange<Int>) throws -> ScriptedServer {
    try ScriptedServer { connection in
      _ = try connection.question()
      if bad.contains(connection.number) { return try Self.give(answer, on: connection) }
      try connection.answer(200, body: #"{"auth":"test-key:signed"}"#)
    }
  }

  private func subscribe(
    to server: ScriptedServer, asking endpoint: ScriptedServer
  ) throws -> ProgramResult {
    try PusherCLI.run(
      ["subscribe"] + server.address + [
        "private-a", "-n", "1", "--retry-max-delay", "50ms", "--connect-timeout", "400ms",
        "--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/auth",
      ])
  }

  private static func says(_ answer: Answer) -> String {
    switch answer {
    case .status500: "the endpoint answered HTTP 500"
    case .status503: "the endpoint answered HTTP 503"
    case .status429: "the endpoint answered HTTP 429"
    case .html: "the endpoint answered a page, not JSON: a login page? give --auth-header "
    case .cutShort: "the endpoint closed the connection inside its answer"
    case .silent: "no answer within 0.4 s"
    }
  }

  @Test(arguments: Answer.allCases)
  func `a run that is not yet joined gives up after three questions`(answer: Answer) throws {
    let endpoint = try endpoint(answer, bad: 1...9)
    let server = try ScriptedServer.greeting()
    let result = try subscribe(to: server, asking: endpoint)
    #expect(result.ending == .exited(answer == .html ? 5 : 4), "\(result.errorText)")
    #expect(result.output.isEmpty)
    let last = result.errorLines.last ?? ""
    #expect(last.hasPrefix("pusher-cli: error: private-a refused: \(Self.says(answer))"), "\(last)")
    // Repeating the request does not turn an HTML page into JSON.
    #expect(endpoint.connectionCount == (answer == .html ? 1 : 3))
  }

  @Test(arguments: Answer.allCases)
  func `a run that was joined asks until there is an answer again`(answer: Answer) throws {
    let endpoint = try endpoint(answer, bad: 2...5)
    let server = try ScriptedServer { connection in
      try connection.join()
      if connection.number == 1 { return connection.drop() }
      try connection.send(event: "back", channel: "private-a", data: "{}")
      try connection.stay()
    }
    let result = try subscribe(to: server, asking: endpoint)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == #"{"event":"back","channel":"private-a","data":{}}"# + "\n")
    let delays = result.errorLines.filter { $0.contains("authorisation for ") }
    #expect(delays.count == 4, "\(result.errorText)")
    #expect(delays.allSatisfy { $0.contains(Self.says(answer)) })
    #expect(server.connectionCount == 2)
  }
}
