import Foundation
import PusherCore
import Testing

@Suite("SIGINT and SIGTERM end the program by themselves within 500 ms, wherever it is")
struct SignalTests {
  static let signals = [SIGINT, SIGTERM]

  /// Sends the signal and checks how, and how fast, the program goes.
  private func expectEnd(_ program: ChildProgram, by signal: Int32, readsOutput: Bool = true) throws
  {
    let start = SystemClock.now()
    program.send(signal)
    #expect(try program.wait(readsOutput: readsOutput) == .signalled(signal))
    let time = start.duration(to: SystemClock.now())
    #expect(time < .milliseconds(500), "\(time)")
  }

  @Test(.enabled(if: SlowResolver.library != nil, "no C compiler"), arguments: signals)
  func `while the name is looked up`(signal: Int32) throws {
    let program = try PusherCLI.start(
      ["subscribe", "--host", "slow.invalid", "--key", "k", "news", "--connect-timeout", "50s"],
      environment: ["LD_PRELOAD": SlowResolver.library ?? ""])
    // Nothing tells from outside that the look-up has begun; the program starts in a few milliseconds.
    try program.awaitThreads(2)
    try expectEnd(program, by: signal)
    #expect(program.pendingErrors.isEmpty)
  }

  @Test(arguments: signals)
  func `while it dials`(signal: Int32) throws {
    // With its queue full a listener answers nobody.
    let listener = try Loopback.listen(backlog: 0)
    defer { close(listener.descriptor) }
    let crowd = try (0..<4).map { _ in try Loopback.dial(listener.port) }
    defer { for descriptor in crowd { close(descriptor) } }
    let program = try PusherCLI.start([
      "subscribe", "--host", "127.0.0.1", "--port", "\(listener.port)", "--scheme", "http",
      "--key", "k", "news", "--connect-timeout", "50s",
    ])
    try program.awaitSocket()
    try expectEnd(program, by: signal)
    #expect(program.pendingErrors.isEmpty)
  }

  @Test(arguments: signals)
  func `while TLS is negotiated`(signal: Int32) throws {
    let hello = Gate()
    let server = try ScriptedServer { connection in
      try connection.receive(into: connection.input)
      hello.open()
      try connection.stall()
    }
    let program = try PusherCLI.start([
      "subscribe", "--host", "127.0.0.1", "--port", "\(server.port)", "--key", "k", "news",
    ])
    try hello.wait()
    try expectEnd(program, by: signal)
  }

  @Test(arguments: signals)
  func `while the upgrade is unanswered`(signal: Int32) throws {
    let asked = Gate()
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      asked.open()
      try connection.stall()
    }
    let program = try PusherCLI.subscribe(to: server, "news")
    try asked.wait()
    try expectEnd(program, by: signal)
  }

  @Test(arguments: signals)
  func `while it waits for a pong`(signal: Int32) throws {
    let pinged = Gate()
    let server = try ScriptedServer { connection in
      try connection.join(activityTimeout: 1)
      guard case .text(let text) = try connection.event(), text.contains("pusher:ping") else {
        throw Unexpected("no ping")
      }
      pinged.open()
      try connection.stall()
    }
    let program = try PusherCLI.subscribe(to: server, "news")
    try pinged.wait()
    try expectEnd(program, by: signal)
  }

  @Test(arguments: signals)
  func `while it waits to connect again`(signal: Int32) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.close(code: 4100)
    }
    let program = try PusherCLI.subscribe(to: server, "news")
    try program.errorLine(containing: "retrying in")
    try expectEnd(program, by: signal)
  }

  @Test(arguments: signals)
  func `while nobody takes its output`(signal: Int32) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      while true { try connection.send(event: "flood", data: Flood.data) }
    }
    let program = try PusherCLI.subscribe(to: server, "news", "--buffer", "64k")
    try program.awaitFullPipe()
    try expectEnd(program, by: signal, readsOutput: false)
  }

  @Test func `a second signal ends it at once`() throws {
    // The goodbye takes 200 ms at most; on a busy machine the second signal may come after that, but not each time.
    let endings = try (0..<5).map { _ -> Ending in
      let goodbye = Gate()
      let server = try ScriptedServer { connection in
        try connection.join()
        try connection.receive(into: connection.input)
        goodbye.open()
        // Nothing is answered, so the program would wait.
        try connection.stall()
      }
      let program = try PusherCLI.subscribe(to: server, "news", "-L")
      _ = try program.lines(2)
      program.send(SIGINT)
      try goodbye.wait()
      program.send(SIGTERM)
      return try program.wait()
    }
    #expect(endings.contains(.signalled(SIGTERM)), "\(endings)")
    #expect(endings.allSatisfy { [.signalled(SIGTERM), .signalled(SIGINT)].contains($0) })
  }

  @Test func `the first signal says goodbye to the server`() throws {
    let goodbye = Record<ScriptedEvent>()
    let done = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      goodbye.add(try connection.event())
      done.open()
      connection.end()
    }
    let program = try PusherCLI.subscribe(to: server, "news", "-L")
    _ = try program.lines(2)
    try expectEnd(program, by: SIGINT)
    try done.wait()
    #expect(goodbye.values == [.closed(code: 1000, "")])
    #expect(program.pendingErrors.isEmpty)
  }

  @Test func `a signal that was ignored at the start stays ignored`() throws {
    let next = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "one", data: "{}")
      try connection.wait(for: next)
      try connection.send(event: "two", data: "{}")
      try connection.stay()
    }
    let shell = try ChildProgram(
      "/usr/bin/env",
      ["sh", "-c", #"trap "" HUP; exec "$0" "$@""#, PusherCLI.path, "subscribe"] + server.address
        + ["news", "-n", "2"], environment: PusherCLI.environment)
    _ = try shell.line()
    shell.send(SIGHUP)
    next.open()
    _ = try shell.line()
    #expect(try shell.wait() == .exited(0))
  }
}

@Suite("On a terminal")
struct TerminalTests {
  @Test func `a shell loop stops at the first Ctrl-C`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
    let terminal = try PseudoTerminal()
    let script = #"for turn in 1 2 3; do "$0" "$@"; done; echo went on"#
    let shell = try ChildProgram(
      "/usr/bin/env",
      ["bash", "-c", script, PusherCLI.path, "subscribe"] + server.address + ["news"],
      environment: PusherCLI.environment, on: terminal.path)
    try terminal.await("tick")
    terminal.type("\u{3}")
    #expect(try shell.wait() == .signalled(SIGINT))
    #expect(server.connectionCount == 1)
    #expect(!terminal.text.contains("went on"))
    #expect(!terminal.text.lowercased().contains("abort"))
  }

  @Test func `control characters of an event cannot drive it`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: "\u{1B}]0;title\u{7}\u{9B}31m\u{7F}")
      try connection.stay()
    }
    let terminal = try PseudoTerminal()
    let program = try ChildProgram(
      PusherCLI.path,
      ["subscribe"] + server.address + ["news", "-n", "1", "--color", "never", "-q"],
      environment: PusherCLI.environment, on: terminal.path)
    try terminal.await("\n")
    #expect(try program.wait() == .exited(0))
    #expect(
      terminal.text
        == #"{"event":"tick","channel":"news","data":"\u001b]0;title\u0007\u009b31m\u007f"}"#
        + "\r\n")
  }
}
