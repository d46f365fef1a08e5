import Foundation
import PusherCore
import Testing

/// Waits of a run; a signal must end each of them.
enum Wait: CaseIterable {
  case lookUp, dial, proxy, tls, upgrade, greeting, subscription, rateLimit, retry, drain, save
  /// The second look at a port of `subscribe`, `sse` and `trigger` that may speak plain HTTP.
  case secondLook, streamSecondLook, callSecondLook
  /// A call whose answer is missing, and one whose output nobody reads.
  case call, callOutput
  /// Commands of `--auth-command`, `--exec`, `--on-ready` and `--on-gap`.
  case authorization, hook, ready, repair
}

private struct Waiting {
  let program: ChildProgram
  var others: [Any] = []
  var readsOutput = true
  /// Time that the output still has after a signal.
  var grace: Duration?
}

@Suite("A signal", .needs(.movedClock), .needs(.slowResolver), .runsPrograms)
struct SignalWaitTests {
  /// The clock stands still, so no limit ends a wait.
  @Test(arguments: Wait.allCases, [SIGINT, SIGTERM])
  func `a signal ends each wait at once`(wait: Wait, signal: Int32) throws {
    let clock = try MovedClock(standsStill: true)
    let waiting = try begin(wait, clock)
    waiting.program.send(signal)
    let ending =
      try waiting.grace.map {
        try clock.move($0, untilEndOf: waiting.program, readsOutput: waiting.readsOutput)
      } ?? waiting.program.wait(readsOutput: waiting.readsOutput)
    #expect(ending == .signalled(signal))
    if [.lookUp, .dial].contains(wait) { #expect(waiting.program.pendingErrors.isEmpty) }
    withExtendedLifetime(waiting.others) {}
  }

  /// The port accepts each connection and never answers.
  @Test(arguments: [Wait.secondLook, .streamSecondLook, .callSecondLook])
  func `a second look ends without a signal, at a limit of its own`(wait: Wait) throws {
    let clock = try MovedClock(standsStill: true)
    let waiting = try begin(wait, clock)
    #expect(try clock.move(.seconds(5), untilEndOf: waiting.program) == .exited(4))
    let errors = waiting.program.peekAtErrors()
    #expect(errors.contains("if it speaks plain HTTP"), "\(errors)")
    withExtendedLifetime(waiting.others) {}
  }

  @Test func `a signal that asks how the run is does not cut a second look short`() throws {
    let clock = try MovedClock(standsStill: true)
    let (looks, answered) = (Gate(), Gate())
    let server = try ScriptedServer { connection in
      try connection.receive(into: connection.input)
      if connection.number == 1 { return connection.end() }
      looks.open()
      try connection.wait(for: answered)
      try connection.answer(200, body: "")
    }
    let program = try start(
      ["subscribe", "--host", "127.0.0.1", "--port", "\(server.port)", "a"], clock)
    try looks.wait()
    program.send(SIGUSR1)
    try program.errorLine(containing: "disconnected, up")
    answered.open()
    try program.errorLine(containing: "it speaks plain HTTP: add --scheme http")
    #expect(try program.wait() == .exited(4))
  }

  private func begin(_ wait: Wait, _ clock: MovedClock) throws -> Waiting {
    switch wait {
    case .lookUp, .dial, .proxy, .tls, .upgrade, .greeting, .subscription:
      try beginConnecting(wait, clock)
    case .authorization, .hook, .ready, .repair: try beginCommand(wait, clock)
    case .secondLook, .streamSecondLook, .callSecondLook: try beginLook(wait, clock)
    case .call, .callOutput: try beginCall(wait, clock)
    case .rateLimit, .retry, .drain, .save: try beginLater(wait, clock)
    }
  }

  private func start(
    _ arguments: [String], _ clock: MovedClock, besides library: String? = nil,
    output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    let credentials = ["PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1", "PUSHER_APP_KEY": "k"]
    return try PusherCLI.start(
      arguments,
      environment: clock.environment(besides: library).merging(credentials) { $1 },
      output: output)
  }

  /// Starts a program against a scripted server and waits until the script reaches its gate.
  private func scripted(
    _ clock: MovedClock, _ arguments: (ScriptedServer) -> [String],
    output: ChildProgram.Output = .pipe,
    script: @escaping @Sendable (ScriptedConnection, Gate) throws -> Void
  ) throws -> Waiting {
    let gate = Gate()
    let server = try ScriptedServer { connection in try script(connection, gate) }
    let program = try start(arguments(server), clock, output: output)
    try gate.wait()
    return Waiting(program: program, others: [server])
  }

  private func beginConnecting(_ wait: Wait, _ clock: MovedClock) throws -> Waiting {
    if wait == .lookUp {
      let program = try start(
        ["subscribe", "--host", "slow.invalid", "--key", "k", "a"], clock,
        besides: SlowResolver.library)
      try program.awaitThreads(2)
      return Waiting(program: program)
    }
    if wait == .dial {
      // A listener with a full queue does not answer.
      let listener = try Loopback.listen(backlog: 0)
      let crowd = try (0..<4).map { _ in try Loopback.dial(listener.port) }
      let place = ["--host", "127.0.0.1", "--port", "\(listener.port)", "--scheme", "http"]
      let program = try start(["subscribe", "a"] + place, clock)
      try Loopback.awaitDialling(of: listener.port, besides: crowd)
      return Waiting(program: program, others: [listener, crowd])
    }
    let options: (ScriptedServer) -> [String] = { server in
      let place = ["--port", "\(server.port)", "a"]
      let proxy = ["--proxy", "http://127.0.0.1:\(server.port)", "a"]
      return switch wait {
      case .proxy: ["subscribe", "--host", "example.invalid"] + proxy
      case .tls: ["subscribe", "--host", "127.0.0.1"] + place
      default: ["subscribe"] + server.address + ["a"]
      }
    }
    return try scripted(clock, options) { connection, gate in
      switch wait {
      case .greeting: try connection.upgrade()
      case .subscription:
        try connection.welcome()
        _ = try connection.subscription()
      default: try connection.receive(into: connection.input)
      }
      gate.open()
      if wait == .subscription { try connection.endAfterGoodbye() }
      try connection.stall()
    }
  }

  private func beginCommand(_ wait: Wait, _ clock: MovedClock) throws -> Waiting {
    let begun = TemporaryFolder.shared.file("begun")
    let command = "echo >'\(begun)'; exec tail -f /dev/null"
    let options: [String] =
      switch wait {
      case .authorization: ["private-a", "--auth-command", command]
      case .hook: ["a", "--exec", command]
      case .ready: ["a", "--on-ready", command]
      default: ["a", "--on-gap", command, "--retry-delay", "10ms"]
      }
    let server = try ScriptedServer { connection in
      if wait == .authorization { try connection.welcome() } else { try connection.join() }
      if wait == .hook { try connection.send(event: "e", channel: "a", data: "1") }
      if wait == .repair, connection.number == 1 { return try connection.close(code: 4200) }
      try connection.endAfterGoodbye()
    }
    let program = try start(["subscribe"] + server.address + options, clock)
    try waitUntil("the command runs; \(program.peekAtErrors())") {
      // The lost connection is dialled again after its delay.
      if wait == .repair { clock.move(.milliseconds(20)) }
      return FileManager.default.fileExists(atPath: begun)
    }
    return Waiting(program: program, others: [server])
  }

  /// Makes the first connection fail as if TLS and plain HTTP were confused, so that the second one
  /// is the look.
  private func beginLook(_ wait: Wait, _ clock: MovedClock) throws -> Waiting {
    let options: (ScriptedServer) -> [String] = { server in
      let place = ["--host", "127.0.0.1", "--port", "\(server.port)"]
      return switch wait {
      case .secondLook: ["subscribe"] + place + ["a"]
      case .streamSecondLook: ["sse", "https://127.0.0.1:\(server.port)/"]
      default: ["trigger"] + place + ["--scheme", "https", "-c", "a", "-e", "e", "1"]
      }
    }
    return try scripted(clock, options) { connection, gate in
      try connection.receive(into: connection.input)
      if connection.number == 1 { return connection.end() }
      gate.open()
      try connection.stall()
    }
  }

  private func beginCall(_ wait: Wait, _ clock: MovedClock) throws -> Waiting {
    let options: (ScriptedServer) -> [String] = { ["channels"] + $0.address }
    let pipe = wait == .callOutput ? try UnreadPipe() : nil
    var waiting = try scripted(clock, options, output: pipe?.output ?? .pipe) { connection, gate in
      _ = try connection.question()
      if wait == .callOutput {
        let names = (0..<20_000).map { #""channel-\#($0)":{}"# }.joined(separator: ",")
        try connection.answer(200, body: #"{"channels":{\#(names)}}"#)
      }
      gate.open()
      try connection.stall()
    }
    if let pipe {
      waiting.readsOutput = false
      waiting.others.append(pipe)
      try pipe.awaitFull()
    }
    return waiting
  }

  private func beginLater(_ wait: Wait, _ clock: MovedClock) throws -> Waiting {
    switch wait {
    case .rateLimit, .retry:
      let error = #"{"event":"pusher:error","data":{"code":4301,"message":"Rate limit exceeded"}}"#
      let server = try ScriptedServer { connection in
        guard wait == .rateLimit else {
          try connection.join()
          return try connection.close(code: 4100)
        }
        try connection.welcome()
        _ = try connection.subscription()
        try connection.send(text: error)
        try connection.endAfterGoodbye()
      }
      let program = try start(["subscribe"] + server.address + ["a"], clock)
      try program.errorLine(containing: "retrying in")
      return Waiting(program: program, others: [server])
    case .drain:
      // More than the pipe of 1 MiB holds, and less than stops the program's reading. Each line is
      // one page, so the pipe is full to the last byte.
      let (lines, page) = (276, 4096)
      let rest = #"{"event":"flood","channel":"a","data":{"text":""}}"# + "\n"
      let text = String(repeating: "x", count: page - rest.utf8.count)
      let options: (ScriptedServer) -> [String] = {
        ["subscribe"] + $0.address + ["a", "-n", "\(lines)"]
      }
      var waiting = try scripted(clock, options) { connection, gate in
        try connection.join()
        for _ in 0..<lines {
          try connection.send(event: "flood", channel: "a", data: #"{"text":"\#(text)"}"#)
        }
        try connection.awaitGoodbye()
        gate.open()
        connection.end()
      }
      waiting.readsOutput = false
      waiting.grace = .milliseconds(200)
      return waiting
    default:
      let folder = TemporaryFolder.shared.file("gone")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let ready = Gate()
      let server = try ScriptedServer.streaming { connection in
        try connection.wait(for: ready)
        try connection.send(stream: "id: 1\ndata: 1\n\n")
      }
      let program = try start(["sse", server.url, "--state-file", "\(folder)/state", "-L"], clock)
      _ = try program.outputLine(containing: "pusher-cli:connected")
      try FileManager.default.removeItem(atPath: folder)
      ready.open()
      try program.errorLine(containing: "cannot save the last event's id")
      return Waiting(program: program, others: [server])
    }
  }
}

extension ScriptedConnection {
  fileprivate func awaitGoodbye() throws {
    while true {
      if case .closed = try event() { return }
    }
  }

  fileprivate func endAfterGoodbye() throws {
    try awaitGoodbye()
    end()
  }
}
