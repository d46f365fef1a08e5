import Foundation
import PusherCore
import Testing

@Suite("--count and --timeout, in every form of output", .runsPrograms)
struct CountAndTimeoutTests {
  private static let json = #"{"event":"tick","channel":"news","data":{"n":1}}"#

  /// Options of a form of output, and one event in it.
  static let forms: [([String], String)] = [
    ([], json + "\n"), (["-o", "json"], json + "\n"), (["-o", "raw"], #"{"n":1}"# + "\n"),
    (["-o", "raw"], #"{"n":1}"# + "\n"), (["-0"], json + "\0"),
    (["-o", "raw", "-0"], #"{"n":1}"# + "\0"),
    (["--color", "never"], json + "\n"),
    (["-F", "%e of %c: %d"], #"tick of news: {"n":1}"# + "\n"), (["-F", "%e", "-0"], "tick\0"),
    (["--exec", "cat"], json + "\n"),
    (["--exec", "true", "--tee", "-o", "raw"], #"{"n":1}"# + "\n"),
  ]

  private func ticking() throws -> ScriptedServer {
    try ScriptedServer.joined { for _ in 0..<5 { try $0.send(event: "tick", data: #"{"n":1}"#) } }
  }

  @Test(arguments: forms)
  func `the program returns at the last event that was asked for`(options: [String], event: String)
    throws
  {
    let server = try ticking()
    try server.subscribed(["news", "-n", "2", "--timeout", "10m"] + options).expect(
      prints: event + event, says: "")
  }

  @Test(
    arguments: [
      ["-o", "json"], ["-o", "pretty"], ["-o", "raw"], ["-0"], ["-F", "%d"], ["--exec", "cat"],
    ])
  func `without the event the time limit ends it with 124`(options: [String]) throws {
    let server = try ScriptedServer.joined { _ in }
    try server.subscribed(["news", "-n", "1", "--timeout", "300ms"] + options).expect(
      124, prints: "")
  }

  @Test(
    .needs(.movedClock), arguments: [("-W", Ending.exited(0)), ("--idle-timeout", .exited(124))])
  func `a time limit alone is an asked-for end, one on silence is none`(
    limit: String, ending: Ending
  ) throws {
    let server = try ticking()
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.subscribe(
      to: server, "news", limit, "500ms", environment: clock.environment())
    _ = try program.lines(5)
    #expect(try clock.move(.milliseconds(500), untilEndOf: program) == ending)
    #expect(try program.result().output.isEmpty)
  }

  @Test func `filtered events do not count`() throws {
    let server = try ScriptedServer.joined { connection in
      for name in ["order.created", "order.noise", "user.created", "order.paid"] {
        try connection.send(event: name, data: "{}")
      }
    }
    try server.subscribed("news", "-e", "order.*", "-x", "*noise", "-n", "2", "-o", "raw", "-0")
      .expect(
        prints: "{}\0{}\0")
  }

  @Test func `time stamps are RFC 3339 in UTC, and stand first`() throws {
    let server = try ticking()
    let line = try PusherCLI.subscribe(to: server, "news", "-t", "-n", "1").line()
    let pattern = #/\{"received_at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","event":"tick".*/#
    let match = try #require(line.wholeMatch(of: pattern))
    let parser = ISO8601DateFormatter()
    parser.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    let time = try #require(parser.date(from: String(match.1)))
    #expect(abs(time.timeIntervalSinceNow) < 60)
  }
}
