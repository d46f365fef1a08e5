import Foundation
import PusherCore
import Testing

/// A request that may have an effect, and a server that cannot take it yet.
@Suite("sse --retry-post", .runsPrograms)
struct RetryPostTests {
  private static let question = #"{"question":1}"#

  private func ask(
    _ server: ScriptedServer, _ options: String...
  ) throws -> ProgramResult {
    try PusherCLI.run(
      ["sse", server.url, "-d", Self.question, "--retry-max-delay", "20ms"] + options)
  }

  /// Answers the first two requests with a status, and the next one with a stream of one event.
  private func server(_ status: Int, _ bodies: Record<String> = Record()) throws -> ScriptedServer {
    try ScriptedServer { connection in
      bodies.add(try connection.question().body)
      guard connection.number > 2 else {
        return try connection.answer(status, "Busy", [("Retry-After", "0")])
      }
      try connection.send(body: "data: 1\n\n", type: "text/event-stream")
    }
  }

  @Test(arguments: [429, 503])
  func `a POST is sent again as it was, until the server takes it`(status: Int) throws {
    let bodies = Record<String>()
    let result = try ask(server(status, bodies), "--retry-post")
    result.expect(0, prints: #"{"event":"message","data":1}"# + "\n")
    #expect(bodies.values == Array(repeating: Self.question, count: 3))
    let warning =
      "pusher-cli: warning: the server answered HTTP \(status) (Busy) and asks to wait 0 s; "
      + "retrying in "
    #expect(result.errorLines.count == 2)
    #expect(result.errorLines.allSatisfy { $0.hasPrefix(warning) }, "\(result.errorText)")
  }

  @Test func `without --retry-post a POST is not sent again, and the option is named`() throws {
    let server = try server(429)
    try ask(server).expect(
      4,
      error: "the server answered HTTP 429 (Busy) and asks to wait 0 s "
        + "(--retry-post sends the request again)")
    #expect(server.connectionCount == 1)
  }
}
