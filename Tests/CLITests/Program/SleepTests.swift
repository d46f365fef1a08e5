import Foundation
import PusherCore
import Testing

@Suite("A program that was stopped for longer than a pong may take")
struct SleepTests {
  /// Stops the program for a second, which is longer than activity and pong timeouts together.
  private func sleep(_ program: ChildProgram, _ meanwhile: () -> Void) {
    program.send(SIGSTOP)
    meanwhile()
    usleep(1_000_000)
    program.send(SIGCONT)
  }

  private func subscribe(to server: ScriptedServer) throws -> ChildProgram {
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "news", "-r", "--activity-timeout", "300ms", "--pong-timeout", "600ms",
        "--retry-max-delay", "50ms",
      ])
    #expect(try program.line() == "first")
    return program
  }

  @Test(arguments: [0, 350])
  func `a connection that lived on is kept, and nothing is lost`(wait: UInt32) throws {
    let asleep = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "e", data: "first")
      try connection.wait(for: asleep)
      for number in 0..<100 { try connection.send(event: "e", data: "\(number)") }
      try connection.stay()
    }
    let program = try subscribe(to: server)
    // Once before a ping is due, once while its answer is awaited.
    usleep(wait * 1000)
    sleep(program) { asleep.open() }
    #expect(try program.lines(100) == (0..<100).map { "\($0)" })
    usleep(700_000)
    #expect(program.peekAtErrors().isEmpty, "\(program.peekAtErrors())")
    #expect(server.connectionCount == 1)
  }

  @Test func `one that was closed meanwhile gives what it had, then a new one is made`() throws {
    let asleep = Gate()
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
    }
    let program = try subscribe(to: server)
    sleep(program) { asleep.open() }
    #expect(try program.lines(101) == (0..<100).map { "\($0)" } + ["back"])
    try program.errorLine(containing: "connection lost (the server closed the connection")
    try program.errorLine(containing: "back after")
  }

  @Test func `one that went silent meanwhile is noticed and replaced`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "e", data: connection.number == 1 ? "first" : "back")
      if connection.number == 1 { try connection.stall() }
      try connection.stay()
    }
    let program = try subscribe(to: server)
    let start = SystemClock.now()
    sleep(program) {}
    try program.errorLine(containing: "connection lost (no pong for 0.6 s)")
    // A second of sleep, and at most both timeouts after it.
    #expect(start.duration(to: SystemClock.now()) < .seconds(4))
    #expect(try program.line() == "back")
  }
}
