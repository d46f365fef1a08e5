import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("A terminal that nobody reads", .runsPrograms)
struct UnreadTerminalTests {
  @Test func `keeps serve from nothing`() throws {
    let terminal = try PseudoTerminal()
    let file = TemporaryFolder.shared.file("port")
    let server = try ChildProgram(
      PusherCLI.path,
      ["serve", "--listen", "127.0.0.1:0", "--port-file", file, "-v", "--log-events"],
      environment: PusherCLI.environment, on: terminal.path)
    try awaitFile(file)
    let port = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")[0]
    let data = #"{"text":"\#(String(repeating: "x", count: 5000))"}"#
    // Each call is a line on standard error, each event a line on standard output.
    for _ in 1...30 {
      let result = try PusherCLI.run(
        "trigger", "--host", "127.0.0.1", "--port", String(port), "--scheme", "http", "--key",
        "local", "--app-id", "1", "-c", "news", "-e", "e", data,
        environment: ["PUSHER_APP_SECRET": "local"])
      #expect(result.ending == .exited(0), "\(result.errorText)")
    }
    server.send(SIGTERM)
    #expect(try server.wait(readsOutput: false) == .signalled(SIGTERM))
  }

  @Test func `keeps subscribe from answering no ping`() throws {
    let answers = Gate()
    let server = try ScriptedServer.joined { connection in
      let data = #"{"text":"\#(String(repeating: "x", count: 2000))"}"#
      for _ in 1...50 {
        try connection.send(event: "e", data: data)
        try connection.send(text: #"{"event":"pusher:ping","data":{}}"#)
        while try connection.message()["event"]?.text != "pusher:pong" {}
      }
      answers.open()
    }
    let terminal = try PseudoTerminal()
    let program = try ChildProgram(
      PusherCLI.path, ["subscribe"] + server.address + ["news", "-vv"],
      environment: PusherCLI.environment, on: terminal.path)
    try answers.wait()
    program.send(SIGTERM)
    #expect(try program.wait(readsOutput: false) == .signalled(SIGTERM))
  }

  @Test func `gets the number of the messages that it missed`() throws {
    let terminal = try PseudoTerminal()
    let device = open(terminal.path, O_RDWR | O_NOCTTY)
    defer { close(device) }
    let errors = StandardError(device)
    let line = Array((String(repeating: "x", count: 99) + "\n").utf8)
    for _ in 0..<2000 { errors.write(line) }
    // The last line may lack its end.
    let whole = terminal.text.ranges(of: String(repeating: "x", count: 99) + "\r\n").count
    errors.write(Array("last\n".utf8))
    try terminal.await("last")
    #expect(
      terminal.text.contains(
        "pusher-cli: warning: \(2000 - whole) messages were dropped: nobody read them\r\nlast"))
  }

  private func awaitFile(_ path: String) throws {
    try waitUntil("a port file was written") { FileManager.default.fileExists(atPath: path) }
  }
}

@Suite("Standard descriptors that are closed", .runsPrograms)
struct ClosedDescriptorTests {
  private func shell(_ script: String, _ arguments: [String]) throws -> ChildProgram {
    try ChildProgram(
      "/bin/sh", ["-c", script, PusherCLI.path] + arguments, environment: PusherCLI.environment)
  }

  @Test func `no message falls into the trace when standard error is closed`() throws {
    let server = try NumberedStream.server(last: 2)
    let trace = TemporaryFolder.shared.file("trace")
    let program = try shell(
      "exec \"$0\" \"$@\" 2>&-", ["sse", server.url, "-n", "2", "-v", "--trace", trace])
    #expect(try program.lines(2).count == 2)
    #expect(try program.wait() == .exited(0))
    let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    #expect(!lines.isEmpty)
    #expect(lines.allSatisfy { $0.contains(#/^\d{4}-\S+Z [<>] /#) }, "\(lines)")
  }

  @Test func `no message falls into the connection when standard error is closed`() throws {
    let (server, heads) = try ScriptedServer.recording("data: 1\n\n")
    for script in [
      "exec \"$0\" \"$@\" 2>&-", "exec \"$0\" \"$@\" <&- 2>&-",
    ] {
      let program = try shell(script, ["sse", server.url, "-n", "1", "-vv"])
      #expect(try program.line().contains(#""data":1"#))
      #expect(try program.wait() == .exited(0))
    }
    #expect(heads.values.count == 2)
  }

  @Test func `a closed standard output is an error, whichever others are closed`() throws {
    let server = try NumberedStream.server(last: 2)
    for script in [
      "exec \"$0\" \"$@\" >&-", "exec \"$0\" \"$@\" <&- >&-", "exec \"$0\" \"$@\" <&- >&- 2>&-",
      "exec \"$0\" \"$@\" 1</dev/null",
    ] {
      #expect(try shell(script, ["sse", server.url, "-n", "1"]).wait() == .exited(6), "\(script)")
    }
    #expect(try shell("exec \"$0\" \"$@\" >&-", ["--version"]).wait() == .exited(6))
  }

  @Test func `a closed standard input cannot be read`() throws {
    let result = try shell(
      "exec \"$0\" \"$@\" <&-", ["trigger", "--local", "--dry-run", "-"]
    ).result()
    #expect(result.ending == .exited(2))
    #expect(result.errorText.contains("cannot read standard input: bad file descriptor"))
  }
}
