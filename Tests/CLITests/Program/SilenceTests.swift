import Foundation
import PusherCore
import Testing

/// Streams that stay open and bring nothing, by a clock that only the test moves.
@Suite("sse: silence", .needs(.movedClock), .runsPrograms)
struct SilenceTests {
  private let clock: MovedClock
  init() throws { clock = try MovedClock(standsStill: true) }

  /// Sends one event on each connection, and a second one after the gate opens.
  private func server(_ more: Gate = Gate()) throws -> ScriptedServer {
    try ScriptedServer.streaming { connection in
      try connection.send(stream: "data: 1\n\n")
      try connection.wait(for: more)
      try connection.send(stream: "data: 2\n\n")
    }
  }

  private func start(_ server: ScriptedServer, _ options: [String]) throws -> ChildProgram {
    let program = try PusherCLI.start(
      ["sse", server.url] + options, environment: clock.environment())
    _ = try program.outputLine(containing: #""data":1"#)
    return program
  }

  @Test(arguments: [
    ([], 300, "5 min"), (["--activity-timeout", "2s"], 2, "2 s"),
  ])
  func `five minutes without a byte are a loss, which names the time and the option`(
    options: [String], seconds: Int, words: String
  ) throws {
    let server = try server()
    let program = try start(server, options + ["--reconnect", "never"])
    try clock.move(.seconds(seconds - 1), seenBy: program)
    #expect(try clock.move(.seconds(1), untilEndOf: program) == .exited(4))
    try program.result().expect(
      4,
      error: "the server sent nothing for \(words) (--activity-timeout TIME sets the limit)")
  }

  @Test(arguments: [["--activity-timeout", "2h"], ["-d", "{}"]])
  func `a longer limit, or data in the request, leaves a silent stream alone`(
    options: [String]
  ) throws {
    let more = Gate()
    let server = try server(more)
    let program = try start(server, options + ["-n", "2"])
    try clock.move(.seconds(3600), seenBy: program)
    more.open()
    #expect(try program.line() == #"{"event":"message","data":2}"#)
    #expect(try program.wait() == .exited(0))
    #expect(server.connectionCount == 1)
  }
}
