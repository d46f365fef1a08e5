import Foundation
import PusherCore
import Testing

@Suite("A stop for longer than a pong may take", .needs(.movedClock), .runsPrograms)
struct SleepTests {
  private let clock: MovedClock
  init() throws { clock = try MovedClock() }

  /// Stops the program for an hour, longer than the activity and pong timeouts together.
  private func sleep(_ program: ChildProgram, _ meanwhile: () throws -> Void) rethrows {
    // A program that still runs for a moment would read what comes during its sleep.
    program.stop()
    try meanwhile()
    clock.move(.seconds(3600))
    program.send(SIGCONT)
  }

  private func subscribe(
    to server: ScriptedServer, activityTimeout: String = "300ms", pongTimeout: String
  ) throws -> ChildProgram {
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "news", "-o", "raw", "--activity-timeout", activityTimeout, "--pong-timeout", pongTimeout,
        "--retry-max-delay", "50ms",
      ], environment: clock.environment())
    #expect(try program.line() == "first")
    return program
  }

  private static func isPing(_ event: ScriptedEvent) -> Bool {
    if case .text(let text) = event { text.contains("pusher:ping") } else { false }
  }

  @Test(arguments: [false, true])
  func `a connection that lived on is kept, and nothing is lost`(awaitsPong: Bool) throws {
    let (pinged, asleep, sent) = (Gate(), Gate(), Gate())
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "e", data: "first")
      if awaitsPong {
        while !Self.isPing(try connection.event()) {}
        pinged.open()
      }
      try connection.wait(for: asleep)
      if awaitsPong { try connection.send(text: #"{"event":"pusher:pong","data":{}}"#) }
      for number in 0..<100 { try connection.send(event: "e", data: "\(number)") }
      sent.open()
      // The program pings again after waking; the answer is enough.
      while !Self.isPing(try connection.event()) {}
      try connection.send(text: #"{"event":"pusher:pong","data":{}}"#)
      while !Self.isPing(try connection.event()) {}
      try connection.send(event: "e", data: "last")
    }
    // A minute, so that only the sleep exceeds it.
    let program = try subscribe(to: server, pongTimeout: "60s")
    // Once before a ping is due, once before its answer arrives.
    if awaitsPong { try pinged.wait() }
    try sleep(program) {
      asleep.open()
      try sent.wait()
    }
    #expect(try program.lines(101) == (0..<100).map { "\($0)" } + ["last"])
    #expect(program.peekAtErrors().isEmpty, "\(program.peekAtErrors())")
    #expect(server.connectionCount == 1)
  }

  @Test func `a connection closed in a sleep gives what it had, then a new one is made`() throws {
    let (asleep, sent) = (Gate(), Gate())
    let server = try ScriptedServer { connection in
      try connection.join()
      guard connection.number == 1 else {
        try connection.send(event: "e", data: "back")
        try connection.stay()
      }
      try connection.send(event: "e", data: "first")
      try connection.wait(for: asleep)
      for number in 0..<100 { try connection.send(event: "e", data: "\(number)") }
      connection.end()
      sent.open()
    }
    // No ping comes before the sleep. An unread ping would turn the end into a reset, which
    // discards sent data.
    let program = try subscribe(to: server, activityTimeout: "30s", pongTimeout: "60s")
    try sleep(program) {
      asleep.open()
      try sent.wait()
    }
    #expect(try program.lines(101) == (0..<100).map { "\($0)" } + ["back"])
    try program.errorLine(containing: "connection lost (the server closed the connection")
    try program.errorLine(containing: "back after")
  }

  private func expectGapOfAnHour(
    of program: ChildProgram, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let gap = try JSONParser.parse(try program.outputLine(containing: "pusher-cli:gap"))
    let seconds = try #require(gap["data"]?["seconds"]?.double)
    #expect(seconds >= 3600, sourceLocation: sourceLocation)
  }

  @Test(arguments: [false, true])
  func `the gap of a connection lost in a sleep is as long as it is`(isClosed: Bool) throws {
    let (asleep, over) = (Gate(), Gate())
    let server = try ScriptedServer { connection in
      try connection.join()
      guard connection.number == 1 else { try connection.stay() }
      try connection.send(event: "e", data: "first")
      try connection.wait(for: asleep)
      try connection.send(event: "e", data: "meanwhile")
      // A close frame with 4200; the server does not wait for its answer.
      if isClosed {
        try connection.send(bytes: [0x88, 0x02, 0x10, 0x68])
      } else {
        connection.end()
      }
      over.open()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "news", "-L", "--retry-max-delay", "50ms", "--activity-timeout", "30s",
        "--pong-timeout", "60s",
      ], environment: clock.environment())
    _ = try program.lines(3)
    try sleep(program) {
      asleep.open()
      try over.wait()
    }
    try expectGapOfAnHour(of: program)
  }

  private func stream(_ server: ScriptedServer) throws -> ChildProgram {
    let program = try PusherCLI.start(
      ["sse", server.url, "-L", "--retry-max-delay", "50ms"], environment: clock.environment())
    _ = try program.outputLine(containing: #""data":1"#)
    return program
  }

  @Test func `an event that comes in part and never whole lies in its stream's gap`() throws {
    let ends = Gate()
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      guard connection.number == 1 else { try connection.remain() }
      // One write, so that the program has the part once it prints the event.
      try connection.send(stream: "data: 1\n\ndata: 2\n")
      try connection.wait(for: ends)
    }
    let program = try stream(server)
    try clock.move(.seconds(3600), seenBy: program)
    ends.open()
    try expectGapOfAnHour(of: program)
  }
}
