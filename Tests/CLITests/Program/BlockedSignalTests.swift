import Foundation
import PusherCore
import Testing

@Suite("A parent that hands its signal mask on", .runsPrograms) struct BlockedSignalTests {
  private static let environment = LocalServer.environment("local-secret")

  private func start(
    _ arguments: [String], _ environment: [String: String] = Self.environment
  ) throws -> ChildProgram {
    try ChildProgram(
      PusherCLI.path, arguments,
      environment: PusherCLI.environment.merging(environment) { $1 }, blocksSignals: true)
  }

  /// Starts a command with all signals blocked, and returns it once it waits.
  private func begin(_ command: String) throws -> (program: ChildProgram, server: AnyObject?) {
    switch command {
    case "serve", "webhook listen":
      let file = TemporaryFolder.shared.file("port")
      let words = command.split(separator: " ").map(String.init)
      let program = try start(words + ["--listen", "127.0.0.1:0", "--port-file", file])
      _ = try program.port(in: file)
      return (program, nil)
    case "bench":
      let server = try LocalServer()
      let program = try start(
        ["bench", "-v", "--subscribers", "2", "--time", "1h"] + server.address)
      try program.errorLine(containing: "events sent")
      return (program, server)
    case "the wait of --local":
      let port = String(try Loopback.closedPort())
      let program = try start(
        ["bench", "--local", "--port", port, "--connect-timeout", "60s"], [:])
      try program.errorLine(containing: "nothing listens on")
      return (program, nil)
    default:
      let asked = Gate()
      let server = try ScriptedServer { connection in
        if command == "subscribe news" {
          try connection.join()
        } else {
          _ = try connection.request()
        }
        asked.open()
        try connection.stall()
      }
      let words = command.split(separator: " ").map { $0 == "URL" ? server.url : String($0) }
      let program = try start(words + (words[0] == "sse" ? [] : server.address))
      try asked.wait()
      return (program, server)
    }
  }

  @Test(
    arguments: [
      "serve", "webhook listen", "bench", "the wait of --local", "subscribe news", "sse URL",
      "trigger -c news -e e 1", "check",
    ], [SIGTERM, SIGINT])
  func `a signal that a parent blocked ends the program`(command: String, signal: Int32) throws {
    let (program, server) = try begin(command)
    try program.result(of: signal)
    withExtendedLifetime(server) {}
  }

  @Test func `commands of --exec hear signals that a parent blocked or ignores`() throws {
    let server = try Hooked.counting(1)
    let run = [
      PusherCLI.path, "subscribe", "news", "-n", "1", "--exec",
      #"sed -nE 's/^Sig(Blk|Ign):.*(.{8})$/\1 \2/p' /proc/self/status"#,
    ]
    let program = try ChildProgram(
      "/bin/sh", ["-c", #"trap '' HUP INT TERM CHLD USR2; exec "$0" "$@""#] + run + server.address,
      environment: PusherCLI.environment, blocksSignals: true)
    let result = try program.result()
    result.expect()
    let masks = result.outputLines.map { $0.split(separator: " ") }
    #expect(masks.map(\.first) == ["Blk", "Ign"])
    // The C library itself uses 32 and 33.
    for mask in masks { #expect(UInt32(mask[1], radix: 16).map { $0 & 0x7FFF_FFFF } == 0) }
  }

  @Test func `a parent that ignores how its children end still gets a command's status`() throws {
    let server = try Hooked.counting(1)
    let run = [PusherCLI.path, "subscribe", "news", "--exec", "exit 3"]
    try ChildProgram(
      "/bin/sh", ["-c", #"trap '' CHLD; exec "$0" "$@" --exec-fail stop"#] + run + server.address,
      environment: PusherCLI.environment
    ).result().expect(7, telling: "status 3")
  }
}
