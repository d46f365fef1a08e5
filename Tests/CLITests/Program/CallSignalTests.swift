import Foundation
import PusherCore
import Testing

@Suite("A signal ends a command that calls the HTTP API at once, wherever it waits", .runsPrograms)
struct CallSignalTests {
  struct Call: Sendable, CustomTestStringConvertible {
    var words: [String]
    var signal: Int32
    var testDescription: String { words.joined(separator: " ") + ", \(signal)" }
  }

  private static let secret = ["PUSHER_APP_SECRET": "s"]
  private static let event = ["trigger", "-c", "news", "-e", "e", "1"]

  private func expectEnd(_ program: ChildProgram, by signal: Int32) throws {
    program.send(signal)
    #expect(try program.wait() == .signalled(signal))
  }

  static let calls = [
    Call(words: event, signal: SIGINT), Call(words: event, signal: SIGTERM),
    Call(words: ["channels"], signal: SIGINT), Call(words: ["channels", "news"], signal: SIGTERM),
    Call(words: ["users", "presence-a"], signal: SIGINT),
    Call(words: ["terminate", "7"], signal: SIGTERM),
    Call(words: ["subscribe", "news"], signal: SIGINT),
  ]

  @Test(arguments: calls)
  func `while the server of --local is not there, which is told once`(call: Call) throws {
    let port = String(try Loopback.closedPort())
    let program = try PusherCLI.start(
      call.words + ["--local", "--port", port, "--connect-timeout", "60s"])
    let words =
      "nothing listens on 127.0.0.1 port \(port) yet; waiting up to 60 s for 'pusher-cli serve'"
    #expect(try program.errorLine() == "pusher-cli: \(words)")
    try expectEnd(program, by: call.signal)
    #expect(program.pendingErrors.isEmpty)
  }

  @Test func `without a server the wait ends with what the last attempt met`() throws {
    let port = String(try Loopback.closedPort())
    let result = try PusherCLI.run(
      "channels", "--local", "--port", port, "--connect-timeout", "100ms")
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: cannot connect to 127.0.0.1:\(port): connection refused (try 'pusher-cli check' with the same options)\n"
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

  private func call(
    _ scheme: String, through proxy: Bool = false, _ script: @escaping ScriptedServer.Script
  ) throws -> (ChildProgram, ScriptedServer) {
    let server = try ScriptedServer(script)
    let place = ["--host", "127.0.0.1", "--port", "\(server.port)", "--scheme", scheme]
    let way =
      proxy
      ? ["--host", "far.invalid", "--scheme", scheme, "--proxy", "http://127.0.0.1:\(server.port)"]
      : place
    let program = try PusherCLI.start(
      Self.event + way + ["--key", "k", "--app-id", "1", "--connect-timeout", "60s"],
      environment: Self.secret)
    return (program, server)
  }

  @Test(arguments: [("https", false), ("https", true), ("http", false)])
  func `while TLS, a proxy or the answer is awaited`(scheme: String, proxy: Bool) throws {
    let isWaiting = Gate()
    let (program, server) = try call(scheme, through: proxy) { connection in
      try connection.receive(into: connection.input)
      isWaiting.open()
      try connection.stall()
    }
    try isWaiting.wait()
    try withExtendedLifetime(server) { try expectEnd(program, by: SIGTERM) }
  }

  @Test func `while a line waits for another try, and while the next line is awaited`() throws {
    let server = try ScriptedServer.answering(503)
    let program = try PusherCLI.start(
      ["trigger", "-"] + server.address + ["--app-id", "1"], environment: Self.secret, input: .pipe)
    program.write(Array(#"{"event":"e","channel":"news","data":1}"#.utf8) + [0x0A])
    try program.errorLine(containing: "retrying in 1 s")
    try expectEnd(program, by: SIGINT)
    let idle = try PusherCLI.start(
      ["trigger", "-", "-v"] + server.address + ["--app-id", "1"], environment: Self.secret,
      input: .pipe)
    idle.write(Array("x\n".utf8))
    try idle.errorLine(containing: "line 1: not a JSON object with an event")
    try expectEnd(idle, by: SIGTERM)
  }
}
