import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("Who signs is asked in time, and for ids alone", .runsPrograms) struct SigningCommandTests {
  @Test func `a shortage of descriptors at a reconnect ends no healthy run`() throws {
    let isLimited = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "e", data: "1")
      try connection.wait(for: isLimited)
      try connection.close(code: 4200)
    }
    let program = try PusherCLI.subscribe(
      to: server, "private-a", "--auth-command", #"echo '{"auth":"k:s"}'"#, "--retry-max-delay",
      "1s", "--metrics", "127.0.0.1:0")
    let monitor = try Monitored(program, of: server)
    _ = try program.line()
    // There is room for one more connection, which replaces the current one, and for nothing else.
    try Self.limit(program, to: monitor.descriptors())
    isLimited.open()
    try program.errorLine(containing: "cannot start the command now: too many open files")
    try Self.limit(program, to: 1000)
    #expect(try program.line().contains(#""event":"e""#))
    try program.end()
  }

  private static func limit(_ program: ChildProgram, to number: Int) throws {
    let result = try PusherCLI.tool(
      ["prlimit", "--pid", "\(program.id)", "--nofile=\(number):1000"])
    #expect(result.ending == .exited(0), "\(result.errorText)")
  }

  @Test(arguments: [
    ["private-a", "--auth-command", "echo asked >&2"], ["--user-auth-command", "echo asked >&2"],
    ["private-a", "--auth-endpoint", "URL"], ["--user-auth-endpoint", "URL"],
  ])
  func `an id of the server that is none reaches no command and no endpoint`(way: [String]) throws {
    let endpoint = try ScriptedServer { connection in _ = try connection.question() }
    for id in ["1.2; echo x", ""] {
      let server = try ScriptedServer { connection in
        _ = try connection.upgrade()
        let data = JSONWriter.text(.object([.init("socket_id", .string(id))]))
        try connection.send(event: "pusher:connection_established", channel: nil, data: data)
        try connection.ignore()
      }
      let result = try PusherCLI.start(
        ["subscribe"] + server.address + way.map { $0.replacing("URL", with: endpoint.url) }
          + ["--connect-timeout", id.isEmpty ? "300ms" : "5s"]
      ).result()
      #expect(result.ending != .exited(0))
      #expect(
        result.errorText.contains("socket id is not two numbers") || id.isEmpty,
        "\(result.errorText)")
      #expect(!result.errorText.contains("asked"))
    }
    #expect(endpoint.connectionCount == 0)
  }

  @Test(arguments: [("", false), ("--scheme http", true)])
  func `code 4000 advises TLS only where it is off`(options: String, isAdvised: Bool) throws {
    let connection = try subscribe("--key k --host h a " + options).connection
    let hint = Hints(connection: connection).hint(
      .closed(code: 4000, reason: "TLS only"), code: 4000)
    #expect(hint.contains("use --scheme https") == isAdvised)
    #expect(hint.contains("the server wants TLS"))
  }
}
