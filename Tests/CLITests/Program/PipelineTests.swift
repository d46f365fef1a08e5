import Foundation
import PusherCore
import Testing

@Suite("Events in a pipe", .runsPrograms) struct PipelineTests {
  /// Returns the environment of a program with a stopped clock: it can do everything without
  /// waiting for time.
  private func timeless() throws -> [String: String] {
    try MovedClock(standsStill: true).environment()
  }

  /// Starts a server that sends the next event each time the gate opens.
  private func server(_ next: Gate, _ count: Int) throws -> ScriptedServer {
    try ScriptedServer.joined { connection in
      for number in 0..<count {
        try connection.wait(for: next)
        try connection.send(event: "tick", data: "\(number)")
      }
    }
  }

  @Test(.needs(.movedClock))
  func `an event reaches a pipe before another comes, and before time passes`() throws {
    let next = Gate()
    let server = try server(next, 10)
    let program = try PusherCLI.subscribe(to: server, "news", environment: timeless())
    for number in 0..<10 {
      next.open()
      #expect(try program.line() == #"{"event":"tick","channel":"news","data":\#(number)}"#)
    }
  }

  @Test(
    .needs(.program("jq")),
    arguments: ["jq --unbuffered -c .data", "grep --line-buffered -o '[0-9]'"])
  func `what the manual puts into a pipeline passes each event on before the next exists`(
    filter: String
  ) throws {
    let manual = try Documentation.text("man/pusher-cli.1").replacing("\\-", with: "-")
    #expect(manual.contains(filter.split(separator: " ").prefix(2).joined(separator: " ")))
    let next = Gate()
    let server = try server(next, 3)
    let pipeline = try PusherCLI.shell(
      #""$0" subscribe "$@" | \#(filter) | cat"#, server.address + ["news"])
    for number in 0..<3 {
      next.open()
      #expect(try pipeline.line() == "\(number)")
    }
    pipeline.endWithChildren()
  }

  private func sendingOne() throws -> ScriptedServer {
    try ScriptedServer.joined { try $0.send(event: "only", data: "{}") }
  }

  @Test(.needs(.movedClock))
  func `when the reader leaves the program ends at once, silently, by SIGPIPE`() throws {
    let server = try sendingOne()
    let program = try PusherCLI.subscribe(to: server, "news", environment: timeless())
    _ = try program.line()
    program.closeOutput()
    #expect(try program.wait() == .signalled(SIGPIPE))
    #expect(program.pendingErrors.isEmpty)
  }

  @Test(.needs(.movedClock))
  func `head -1 ends the pipeline at once although no further event comes`() throws {
    let server = try sendingOne()
    let pipeline = try PusherCLI.shell(
      #""$0" "$@" | head -1; echo "${PIPESTATUS[0]}" >&2"#,
      ["subscribe"] + server.address + ["news"], by: "bash", environment: timeless())
    let result = try pipeline.result()
    #expect(result.outputText == #"{"event":"only","channel":"news","data":{}}"# + "\n")
    #expect(result.errorText == "141\n")
  }
}

@Suite("Output that cannot be written", .runsPrograms) struct OutputFailureTests {
  @Test func `a closed standard output ends the program with status 6 and one line`() throws {
    let server = try ScriptedServer { try $0.stall() }
    let result = try PusherCLI.subscribe(to: server, "news", output: .closed).result()
    result.expect(6, telling: "standard output is closed")
    #expect(result.errorLines.count == 1 && server.connectionCount == 0)
  }

  @Test(.needs(.fullDevice), arguments: [["--help"], ["--version"], ["help", "environment"]])
  func `help and version that cannot be written end with 6`(arguments: [String]) throws {
    let result = try PusherCLI.run(arguments, output: .file("/dev/full"))
    result.expect(6)
    #expect(result.errorLines.count == 1)
  }
}

@Suite("Standard input", .runsPrograms) struct StandardInputTests {
  @Test(arguments: [ChildProgram.Input.nothing, .closed])
  func `the end of standard input ends no run`(input: ChildProgram.Input) throws {
    let next = Gate()
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<2 {
        try connection.send(event: "tick", data: "{}")
        try connection.wait(for: next)
      }
    }
    let program = try PusherCLI.subscribe(to: server, "news", input: input)
    _ = try program.line()
    next.open()
    _ = try program.line()
    try program.end()
  }

  @Test func `subscribe leaves its standard input to others`() throws {
    let server = try ScriptedServer.joined { try $0.send(event: "tick", data: "{}") }
    let script = #""$0" "$@" >/dev/null; cat"#
    let arguments = ["-c", script, PusherCLI.path, "subscribe"] + server.address
    let file = try TemporaryFolder.shared.file("input", holding: "for somebody else\n")
    let shell = try ChildProgram(
      "sh", arguments + ["news", "-n", "1"], environment: PusherCLI.environment,
      input: .file(file))
    #expect(try shell.result().outputText == "for somebody else\n")
  }
}
