import Foundation
import PusherCore
import Testing

@Suite("What subscribe makes of the faults that serve stages", .runsPrograms)
struct StagedFaultTests {
  private func pair(
    _ faults: String..., options: [String] = []
  ) throws -> (LocalServer, ChildProgram) {
    let server = try LocalServer(options: faults.flatMap { ["--fault", $0] })
    let program = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--key", LocalServer.key, "-L", "--retry-max-delay", "50ms"] + options)
    _ = try program.lines(2)
    return (server, program)
  }

  private func trigger(_ server: LocalServer, _ names: String...) throws {
    for name in names {
      try server.trigger("news", name, #"{"text":"Grüße"}"#).expect(0)
    }
  }

  private func names(_ program: ChildProgram, _ count: Int) throws -> [String] {
    try program.lines(count).map { line in
      (try? JSONParser.parse(line))?["event"]?.text ?? line
    }
  }

  /// The `-L` lines after a lost connection.
  private static let comeback = [
    "pusher-cli:disconnected", "pusher:connection_established", "pusher:subscription_succeeded",
    "pusher-cli:gap",
  ]

  @Test(arguments: [
    ("drop:after=2,times=1", "closed the connection"), ("close:code=4200,after=2,times=1", "4200"),
    ("close:code=4100,after=2,times=1", "4100"),
    // A frame that is too long costs the connection, not the program.
    ("huge-frame:after=2,times=1", "connection lost"), ("blackhole:after=2,times=1", "no pong"),
  ])
  func `after a loss subscribe returns and tells the gap`(fault: String, reason: String) throws {
    let (server, program) = try pair(fault, options: fault.hasPrefix("black") ? Self.brief : [])
    try trigger(server, "one", "two")
    #expect(try names(program, 2) == ["one", "two"])
    if fault.hasPrefix("huge") { try trigger(server, "lost") }
    #expect(try names(program, 4) == Self.comeback)
    #expect(try program.errorLine(containing: "connection lost").contains(reason))
    try trigger(server, "three")
    #expect(try names(program, 1) == ["three"])
  }

  private static let brief = ["--activity-timeout", "1s", "--pong-timeout", "2s"]

  @Test func `an endpoint that is out of order is asked again`() throws {
    let server = try LocalServer(options: ["--fault", "auth-fail:times=2"])
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "private-a", "--key", LocalServer.key, "-L", "--retry-max-delay", "50ms",
        "--auth-endpoint", "http://127.0.0.1:\(server.port)/pusher/auth",
      ])
    let said = try program.errorLine(containing: "the endpoint answered HTTP 500")
    #expect(said.contains("private-a"))
    #expect(
      try names(program, 2) == ["pusher:connection_established", "pusher:subscription_succeeded"])
  }

  @Test func `faults are changed while the server runs`() throws {
    let (server, program) = try pair()
    let place = "http://127.0.0.1:\(server.port)/faults"
    let added = try PusherCLI.tool(["curl", "-sS", "-d", "drop:times=1", place])
    #expect(added.outputText == #"{"faults":["drop:times=1"]}"#, "\(added.errorText)")
    #expect(try names(program, 4) == Self.comeback)
    let removed = try PusherCLI.tool(["curl", "-sS", "-X", "DELETE", place])
    #expect(removed.outputText == #"{"faults":[]}"#, "\(removed.errorText)")
    try trigger(server, "one")
    #expect(try names(program, 1) == ["one"])
  }
}
