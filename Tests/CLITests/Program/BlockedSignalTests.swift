import Foundation
import PusherCore
import Testing

@Suite("A parent that hands its signal mask on", .runsPrograms)
struct BlockedSignalTests {
  enum Deaf: String, CaseIterable, CustomTestStringConvertible {
    case serve, subscribe, sse, bench, trigger, check
    case webhookListen = "webhook listen"
    case localWait = "the wait of --local"

    var testDescription: String { rawValue }
  }

  private static let environment = LocalServer.environment("local-secret")

  private func start(
    _ arguments: [String], _ environment: [String: String] = Self.environment
  ) throws -> ChildProgram {
    try ChildProgram(
      PusherCLI.path, arguments,
      environment: PusherCLI.environment.merging(environment) { $1 }, blocksSignals: true)
  }

  /// Starts a command with all signals blocked, and returns it once it waits.
  private func begin(_ command: Deaf) throws -> (program: ChildProgram, others: [Any]) {
    switch command {
    case .serve, .webhookListen:
      let file = TemporaryFolder.shared.file("port")
      let words = command.rawValue.split(separator: " ").map(String.init)
      let program = try start(words + ["--listen", "127.0.0.1:0", "--port-file", file])
      _ = try program.port(in: file)
      return (program, [])
    case .bench:
      let server = try LocalServer()
      let program = try start(
        ["bench", "-v", "--subscribers", "2", "--time", "1h"] + server.address)
      try program.errorLine(containing: "events sent")
      return (program, [server])
    case .localWait:
      let port = String(try Loopback.closedPort())
      let program = try start(
        ["bench", "--local", "--port", port, "--connect-timeout", "60s"], [:])
      try program.errorLine(containing: "nothing listens on")
      return (program, [])
    case .subscribe, .sse, .trigger, .check: return try beginScripted(command)
    }
  }

  private func beginScripted(_ command: Deaf) throws -> (ChildProgram, [Any]) {
    let asked = Gate()
    let server = try ScriptedServer { connection in
      if command == .subscribe {
        try connection.join()
        asked.open()
        try connection.stay()
      } else {
        _ = try connection.request()
        asked.open()
        try connection.stall()
      }
    }
    let words =
      switch command {
      case .sse: ["sse", server.url]
      case .trigger: ["trigger", "-c", "news", "-e", "e", "1"] + server.address
      case .check: ["check"] + server.address
      default: ["subscribe"] + server.address + ["news"]
      }
    let program = try start(words)
    try asked.wait()
    return (program, [server])
  }

  @Test(arguments: Deaf.allCases, [SIGTERM, SIGINT])
  func `does not make the program deaf`(command: Deaf, signal: Int32) throws {
    let (program, others) = try begin(command)
    program.send(signal)
    #expect(try program.wait() == .signalled(signal))
    withExtendedLifetime(others) {}
  }

  @Test func `makes no command of --exec deaf, nor does one that ignores signals`() throws {
    let server = try Hooked.counting(1)
    let run = [
      PusherCLI.path, "subscribe", "news", "-n", "1", "--exec",
      #"sed -nE 's/^Sig(Blk|Ign):.*(.{8})$/\1 \2/p' /proc/self/status"#,
    ]
    let program = try ChildProgram(
      "/bin/sh", ["-c", #"trap '' HUP INT TERM CHLD USR2; exec "$0" "$@""#] + run + server.address,
      environment: PusherCLI.environment, blocksSignals: true)
    let result = try program.result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let masks = result.outputText.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(masks.map(\.first) == ["Blk", "Ign"])
    // The C library itself uses 32 and 33.
    for mask in masks { #expect(UInt32(mask[1], radix: 16).map { $0 & 0x7FFF_FFFF } == 0) }
  }

  @Test func `that does not want to know how its children ended still gets a command's status`()
    throws
  {
    let server = try Hooked.counting(1)
    let run = [PusherCLI.path, "subscribe", "news", "--exec", "exit 3"]
    let result = try ChildProgram(
      "/bin/sh", ["-c", #"trap '' CHLD; exec "$0" "$@" --exec-fail stop"#] + run + server.address,
      environment: PusherCLI.environment
    ).result()
    #expect(result.ending == .exited(7))
    #expect(result.errorText.contains("status 3"), "\(result.errorText)")
  }
}
