import Foundation
import PusherCore
import Testing

/// The program as the first process of a container, in its own process namespace.
@Suite("The first process of a container", .needs(.processNamespace), .runsPrograms)
struct OrphanTests {
  private func first(_ server: ScriptedServer, _ options: String...) throws -> ChildProgram {
    try ChildProgram(
      "/usr/bin/unshare",
      Need.processNamespaceOptions + ["--kill-child", PusherCLI.path, "subscribe"]
        + server.address + ["news"] + options,
      environment: PusherCLI.environment)
  }

  @Test func `orphans of commands are collected`() throws {
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<20 { try connection.send(event: "leave", data: "1") }
      try connection.send(event: "look", data: "1")
    }
    // Each command leaves an orphan; the last command waits until all are gone.
    let command = #"""
      case $PUSHER_CLI_EVENT in
        leave) (sleep 0.01 &) ;;
        look) while cat /proc/[0-9]*/stat 2>/dev/null | grep -q ') Z 1 '; do sleep 0.01; done
          echo "$PPID" ;;
      esac
      """#
    let program = try first(server, "-n", "21", "--exec", command)
    #expect(try program.line() == "1")
    #expect(try program.wait() == .exited(0))
  }
}
