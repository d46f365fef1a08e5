import Foundation
import PusherCore
import Testing

@Suite("A signal ends a command that calls the HTTP API at once, wherever it waits", .runsPrograms)
struct CallSignalTests {
  private static let secret = ["PUSHER_APP_SECRET": "s"]
  private static let event = ["trigger", "-c", "news", "-e", "e", "1"]

  @Test(arguments: [
    (event, SIGINT), (["channels"], SIGTERM), (["subscribe", "news"], SIGINT),
  ])
  func `a signal ends the wait for --local, told once`(command: [String], signal: Int32) throws {
    let port = String(try Loopback.closedPort())
    let program = try PusherCLI.start(
      command + ["--local", "--port", port, "--connect-timeout", "60s"])
    let words =
      "nothing listens on 127.0.0.1 port \(port) yet; waiting up to 60 s for 'pusher-cli serve'"
    #expect(try program.errorLine() == "pusher-cli: \(words)")
    try program.result(of: signal)
    #expect(program.pendingErrors.isEmpty)
  }

  @Test func `without a server the wait ends with what the last attempt met`() throws {
    let port = String(try Loopback.closedPort())
    try PusherCLI.run("channels", "--local", "--port", port, "--connect-timeout", "100ms").expect(
      4,
      says:
        "pusher-cli: error: cannot connect to 127.0.0.1:\(port): connection refused (try 'pusher-cli check' with the same options)\n"
    )
  }

  @Test func `only a refused connection is waited out, and not a lack of descriptors`() throws {
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(["serve", "--listen", "127.0.0.1:0", "--port-file", file])
    let port = try server.port(in: file)
    // Any of these limits suffices for everything except the connection.
    let results = try (4...14).map { limit in
      try ChildProgram(
        "/bin/sh",
        [
          "-c",
          "ulimit -n \(limit); exec \"$0\" channels --local --port \(port) --connect-timeout 60s",
          PusherCLI.path,
        ], environment: PusherCLI.environment
      ).result(within: .seconds(30))
    }
    let lack = "pusher-cli: error: cannot connect to 127.0.0.1:\(port): too many open files\n"
    #expect(results.contains { $0.ending == .exited(4) && $0.errorText == lack })
    #expect(results.last?.ending == .exited(0))
    #expect(!results.contains { $0.errorText.contains("nothing listens") })
  }

  @Test func `a signal ends a call that waits for another try or for a line`() throws {
    let server = try ScriptedServer.answering(503)
    let program = try PusherCLI.start(
      ["trigger", "-"] + server.address + ["--app-id", "1"], environment: Self.secret, input: .pipe)
    program.write(Array(#"{"event":"e","channel":"news","data":1}"#.utf8) + [0x0A])
    try program.errorLine(containing: "retrying in 1 s")
    try program.result(of: SIGINT)
    let idle = try PusherCLI.start(
      ["trigger", "-", "-v"] + server.address + ["--app-id", "1"], environment: Self.secret,
      input: .pipe)
    idle.write(Array("x\n".utf8))
    try idle.errorLine(containing: "line 1: not a JSON object with an event")
    try idle.result(of: SIGTERM)
  }
}
