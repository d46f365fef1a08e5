import Foundation
import PusherCore
import Testing

@Suite("SIGINT and SIGTERM end each run within 500 ms", .needs(.movedClock), .runsPrograms)
struct SignalTests {
  static let signals = [SIGINT, SIGTERM]

  private func joined(to server: ScriptedServer, _ clock: MovedClock) throws -> ChildProgram {
    let program = try PusherCLI.subscribe(
      to: server, "news", "-L", environment: clock.environment())
    _ = try program.lines(2)
    return program
  }

  /// Advances the clock by 500 ms after the server has the close frame, and expects the end.
  private func expectGoodbye(_ program: ChildProgram, _ clock: MovedClock, by signal: Int32) throws
  {
    clock.move(.milliseconds(500))
    // The frame may arrive before the program reads its clock. Its deadline then starts after the
    // first step.
    if (try? program.wait(within: .seconds(2))) == nil { clock.move(.milliseconds(500)) }
    #expect(try program.wait() == .signalled(signal))
  }

  @Test(arguments: signals)
  func `a signal ends a run that waits for a pong`(signal: Int32) throws {
    let (pinged, goodbye) = (Gate(), Gate())
    let server = try ScriptedServer { connection in
      try connection.join(activityTimeout: 1)
      guard case .text(let text) = try connection.event(), text.contains("pusher:ping") else {
        throw Unexpected("no ping")
      }
      pinged.open()
      // The close frame, which the server does not answer.
      _ = try connection.event()
      goodbye.open()
      try connection.stall()
    }
    let clock = try MovedClock(standsStill: true)
    // From here on the program listens for one second.
    let program = try joined(to: server, clock)
    clock.move(.seconds(1))
    try pinged.wait()
    program.send(signal)
    try goodbye.wait()
    try expectGoodbye(program, clock, by: signal)
  }

  /// Sends SIGINT to a subscriber and continues after the server has its goodbye, which it does not
  /// answer.
  ///
  /// The clock stands still, so the program would wait for ever.
  private func sayGoodbye(
    _ proceed: (_ program: ChildProgram, _ clock: MovedClock) throws -> Void
  ) throws {
    let goodbye = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.receive(into: connection.input)
      goodbye.open()
      try connection.stall()
    }
    let clock = try MovedClock(standsStill: true)
    let program = try joined(to: server, clock)
    program.send(SIGINT)
    try goodbye.wait()
    try proceed(program, clock)
  }

  @Test func `a second signal ends it at once`() throws {
    try sayGoodbye { program, _ in try program.end(by: SIGTERM) }
  }

  @Test func `a goodbye that nobody answers ends within 500 ms`() throws {
    try sayGoodbye { program, clock in try expectGoodbye(program, clock, by: SIGINT) }
  }

  @Test func `the first signal says goodbye to the server`() throws {
    let goodbye = Record<ScriptedEvent>()
    let done = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      goodbye.add(try connection.event())
      done.open()
    }
    let program = try PusherCLI.subscribe(to: server, "news", "-L")
    _ = try program.lines(2)
    try program.end(by: SIGINT)
    try done.wait()
    #expect(goodbye.values == [.closed(code: 1000, "")])
    #expect(program.pendingErrors.isEmpty)
  }

  @Test func `a signal that was ignored at the start stays ignored`() throws {
    let next = Gate()
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "one", data: "{}")
      try connection.wait(for: next)
      try connection.send(event: "two", data: "{}")
    }
    let shell = try PusherCLI.shell(
      #"trap "" HUP; exec "$0" "$@""#, ["subscribe"] + server.address + ["news", "-n", "2"])
    _ = try shell.line()
    shell.send(SIGHUP)
    next.open()
    _ = try shell.line()
    #expect(try shell.wait() == .exited(0))
  }
}

@Suite("On a terminal", .runsPrograms) struct TerminalTests {
  @Test(arguments: [[], ["--exec", "cat"], ["-o", "pretty"]])
  func `a shell loop stops at the first Ctrl-C`(options: [String]) throws {
    let server = try ScriptedServer.joined { try $0.send(event: "tick", data: "{}") }
    let terminal = try PseudoTerminal()
    let script = #"for turn in 1 2 3; do "$0" "$@"; done; echo went on"#
    let shell = try ChildProgram(
      "bash",
      ["-c", script, PusherCLI.path, "subscribe"] + server.address + ["news"] + options,
      environment: PusherCLI.environment, on: terminal.path)
    try terminal.await("tick")
    terminal.type("\u{3}")
    #expect(try shell.wait() == .signalled(SIGINT))
    #expect(server.connectionCount == 1)
    #expect(!terminal.text.contains("went on"))
    #expect(!terminal.text.lowercased().contains("abort"))
  }
}
