import Foundation
import PusherCore
import Testing

@Suite("--timeout: what never came", .needs(.movedClock), .runsPrograms) struct UnreachedTests {
  /// Returns the result of a program whose time passes when `isThere` holds.
  private func timedOut(
    _ arguments: [String], after time: Duration, once isThere: (ChildProgram) throws -> Void
  ) throws -> ProgramResult {
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(arguments, environment: clock.environment())
    try isThere(program)
    _ = try clock.move(time, untilEndOf: program)
    return try program.result()
  }

  private static func commands(_ port: UInt16) -> [(missing: String, arguments: [String])] {
    let place = ["--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http", "--key", "k"]
    return [
      ("no connection", ["subscribe", "news", "-W", "300ms"] + place),
      ("no event stream", ["sse", "http://127.0.0.1:\(port)/", "-W", "300ms"]),
    ]
  }

  @Test func `a run that never connected is 4, and says why`() throws {
    let port = try Loopback.closedPort()
    for (missing, arguments) in Self.commands(port) {
      try timedOut(arguments + ["--reconnect", "always"], after: .milliseconds(300)) {
        try $0.errorLine(containing: "cannot connect to")
      }.expect(
        4,
        lastError: "timed out: \(missing) within 0.3 s: cannot connect to 127.0.0.1:\(port): "
          + "connection refused")
    }
  }

  @Test func `a run that never subscribed is 4, and names the channels`() throws {
    let server = try ScriptedServer.joined { _ in }
    let result = try timedOut(
      ["subscribe"] + server.address + ["a", "b", "c", "d", "e", "f", "-W", "500ms", "-L"],
      after: .milliseconds(500)
    ) { _ = try $0.lines(2) }
    result.expect(4, error: "timed out: no subscription to b, c, d and 2 more within 0.5 s")
    #expect(
      result.outputText.hasSuffix(#""data":{"status":4,"reason":"timeout","events":0}}"# + "\n"))
  }

  @Test func `a run that was subscribed once ends as it was asked to, connected or not`() throws {
    let left = Gate()
    let server = try ScriptedServer { connection in
      guard connection.number == 1 else { return }
      try connection.join()
      try connection.awaitAcknowledgement()
      connection.drop()
      left.open()
    }
    try timedOut(
      ["subscribe"] + server.address + ["news", "-W", "1s", "-q"], after: .seconds(1)
    ) { program in
      try left.wait()
      try program.goRound(2)
    }.expect(0, says: "")
  }
}

@Suite("A time limit while patterns keep events out", .needs(.movedClock), .runsPrograms)
struct RejectedEventsTests {
  /// Returns the result of a command whose second passes once these events have come to it.
  private func timedOut(
    _ names: [String], channels: [String] = ["news"], isStream: Bool = false, _ options: [String]
  ) throws -> ProgramResult {
    let areSent = Gate()
    let server = try ScriptedServer { connection in
      if isStream { try connection.beginStream() } else { try connection.join(channels.count) }
      for name in names {
        if isStream {
          try connection.send(stream: "event: \(name)\ndata: 1\n\n")
        } else {
          try connection.send(event: name, data: "1")
        }
      }
      try connection.awaitAcknowledgement()
      areSent.open()
      if isStream { try connection.remain() } else { try connection.stay() }
    }
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(
      (isStream ? ["sse", server.url] : ["subscribe"] + server.address + channels) + options,
      environment: clock.environment().merging(["PUSHER_APP_SECRET": "s"]) { $1 })
    try areSent.wait()
    try program.goRound(2)
    _ = try clock.move(.seconds(1), untilEndOf: program)
    return try program.result()
  }

  /// Every way on which events are counted: both commands, both limits, and with `-v` each event
  /// as a whole.
  @Test(arguments: ["-W", "--idle-timeout"], [[], ["-v"]])
  func `the message counts and names left-out events`(option: String, fast: [String]) throws {
    let options = ["-e", "y", "--where", "data == 2", "-n", "1", option, "1s"] + fast
    let what = option == "-W" ? "0 of 1 events within 1 s" : "no event for 1 s"
    for isStream in [false, true] {
      try timedOut(["x", "x", "y"], isStream: isStream, options).expect(
        124,
        lastError: "timed out: \(what) (3 other events came, --where left out 1, of the "
          + "rest none matches -e: 'x')")
    }
  }

  @Test(arguments: [false, true])
  func `a time limit alone names what the patterns kept out`(isStream: Bool) throws {
    try timedOut(["x", "y"], isStream: isStream, ["-e", "order", "-W", "1s"]).expect(
      0,
      says: "pusher-cli: warning: nothing to print: 2 other events came, none matches -e: "
        + "'x', 'y'\n")
  }

  private static func silence(_ channels: String) -> String {
    "nothing came; \(channels) are different channels: does the app send to one of them?"
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a person who gives up waiting gets the same words, a service none`(signal: Int32) throws {
    let server = try ScriptedServer.joined { _ in }
    let program = try PusherCLI.subscribe(to: server, "news", "-L", "-v")
    _ = try program.lines(2)
    program.send(signal)
    let result = try program.result()
    #expect(result.ending == .signalled(signal))
    let words = "pusher-cli: " + Self.silence("private-news and presence-news")
    #expect(result.errorLines.contains { $0 == words } == (signal == SIGINT), "\(result.errorText)")
  }
}
