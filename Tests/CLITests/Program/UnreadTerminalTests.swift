import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("A terminal that nobody reads", .runsPrograms) struct UnreadTerminalTests {
  @Test func `a terminal that nobody reads keeps serve from nothing`() throws {
    let terminal = try PseudoTerminal()
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0", "--port-file", file, "-v", "--log-events"], on: terminal)
    let port = try server.port(in: file)
    let data = #"{"text":"\#(String(repeating: "x", count: 5000))"}"#
    // Each call is a line on standard error, each event a line on standard output.
    for _ in 1...30 {
      try PusherCLI.run("trigger", "--local", "--port", "\(port)", "-c", "news", "-e", "e", data)
        .expect(0)
    }
    server.send(SIGTERM)
    #expect(try server.wait(readsOutput: false) == .signalled(SIGTERM))
  }

  @Test func `a terminal that nobody reads keeps no ping from its answer`() throws {
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
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "-vv"], on: terminal)
    try answers.wait()
    program.send(SIGTERM)
    #expect(try program.wait(readsOutput: false) == .signalled(SIGTERM))
  }

  @Test func `gets the number of the messages that it missed`() throws {
    let terminal = try PseudoTerminal()
    let device = open(terminal.path, O_RDWR | O_NOCTTY)
    defer { close(device) }
    let errors = StandardError(device)
    let line = String(repeating: "x", count: 99)
    for _ in 0..<2000 { errors.write(Array("\(line)\n".utf8)) }
    // The last line may lack its end.
    let missed = 2000 - terminal.text.ranges(of: line + "\r\n").count
    errors.write(Array("last\n".utf8))
    try terminal.await("last")
    let words = "pusher-cli: warning: \(missed) messages were dropped: nobody read them\r\nlast"
    #expect(terminal.text.contains(words))
  }
}

@Suite("Standard descriptors that are closed", .runsPrograms) struct ClosedDescriptorTests {
  private static let exec = #"exec "$0" "$@" "#

  @Test func `no message falls into the trace when standard error is closed`() throws {
    let server = try NumberedStream.server(last: 2)
    let trace = TemporaryFolder.shared.file("trace")
    let program = try PusherCLI.shell(
      Self.exec + "2>&-", ["sse", server.url, "-n", "2", "-v", "--trace", trace])
    #expect(try program.lines(2).count == 2)
    #expect(try program.wait() == .exited(0))
    let lines = try SystemFile.text(trace).split(separator: "\n")
    #expect(!lines.isEmpty)
    #expect(lines.allSatisfy { $0.contains(#/^\d{4}-\S+Z [<>] /#) }, "\(lines)")
  }

  @Test func `no message falls into the connection when standard error is closed`() throws {
    let (server, heads) = try ScriptedServer.recording("data: 1\n\n")
    for redirection in ["2>&-", "<&- 2>&-"] {
      let program = try PusherCLI.shell(
        Self.exec + redirection, ["sse", server.url, "-n", "1", "-vv"])
      #expect(try program.line().contains(#""data":1"#))
      #expect(try program.wait() == .exited(0))
    }
    #expect(heads.values.count == 2)
  }

  @Test func `a closed standard output is an error, whichever others are closed`() throws {
    let server = try NumberedStream.server(last: 2)
    for redirection in [">&-", "<&- >&-", "<&- >&- 2>&-", "1</dev/null"] {
      let program = try PusherCLI.shell(Self.exec + redirection, ["sse", server.url, "-n", "1"])
      #expect(try program.wait() == .exited(6), "\(redirection)")
    }
    #expect(try PusherCLI.shell(Self.exec + ">&-", ["--version"]).wait() == .exited(6))
  }

  @Test func `a closed standard input cannot be read`() throws {
    try PusherCLI.shell(
      Self.exec + "<&-", ["trigger", "--local", "--dry-run", "-"]
    ).result().expect(2, telling: "cannot read standard input: bad file descriptor")
  }
}
