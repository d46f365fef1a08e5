import Foundation
import PusherCore
import Testing

@Suite("--count and --timeout, in every form of output", .runsPrograms)
struct CountAndTimeoutTests {
  /// Options of an output format, and one event in it.
  struct Form: Sendable, CustomTestStringConvertible {
    var options: [String]
    var event: String
    var testDescription: String { options.isEmpty ? "default" : options.joined(separator: " ") }
  }

  static let forms = [
    Form(options: [], event: #"{"event":"tick","channel":"news","data":{"n":1}}"# + "\n"),
    Form(
      options: ["-o", "json"], event: #"{"event":"tick","channel":"news","data":{"n":1}}"# + "\n"),
    Form(options: ["-o", "raw"], event: #"{"n":1}"# + "\n"),
    Form(options: ["-r"], event: #"{"n":1}"# + "\n"),
    Form(options: ["-0"], event: #"{"event":"tick","channel":"news","data":{"n":1}}"# + "\0"),
    Form(options: ["-r", "-0"], event: #"{"n":1}"# + "\0"),
    Form(
      options: ["--color", "never"],
      event: #"{"event":"tick","channel":"news","data":{"n":1}}"# + "\n"),
    Form(options: ["-F", "%e of %c: %d"], event: #"tick of news: {"n":1}"# + "\n"),
    Form(options: ["-F", "%e", "-0"], event: "tick\0"),
    Form(
      options: ["--exec", "cat"],
      event: #"{"event":"tick","channel":"news","data":{"n":1}}"# + "\n"),
    Form(options: ["--exec", "true", "--tee", "-r"], event: #"{"n":1}"# + "\n"),
  ]

  private func ticking() throws -> ScriptedServer {
    try ScriptedServer.joined { for _ in 0..<5 { try $0.send(event: "tick", data: #"{"n":1}"#) } }
  }

  @Test(arguments: forms)
  func `the program returns at the last event that was asked for`(form: Form) throws {
    let server = try ticking()
    let result = try PusherCLI.run(
      ["subscribe"] + server.address + ["news", "-n", "2", "--timeout", "10m"] + form.options)
    #expect(result.ending == .exited(0))
    #expect(result.outputText == form.event + form.event)
    #expect(result.errorText.isEmpty)
  }

  @Test(
    arguments: [
      ["-o", "json"], ["-o", "pretty"], ["-o", "raw"], ["-0"], ["-F", "%d"], ["--exec", "cat"],
    ])
  func `without the event the time limit ends it with 124`(options: [String]) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.stay()
    }
    let result = try PusherCLI.run(
      ["subscribe"] + server.address + ["news", "-n", "1", "--timeout", "300ms"] + options)
    #expect(result.ending == .exited(124))
    #expect(result.output.isEmpty)
  }

  @Test func `pretty shows time, channel, event and data`() throws {
    let server = try ticking()
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--timeout", "10m", "-o", "pretty"
    ).result()
    #expect(result.ending == .exited(0))
    #expect(
      result.outputText.wholeMatch(of: /\d\d:\d\d:\d\d\.\d{3}  news  tick  \{"n":1\}\n/) != nil,
      "\(result.outputText)")
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
    let result = try PusherCLI.subscribe(
      to: server, "news", "-e", "order.*", "-x", "*noise", "-n", "2", "-r", "-0"
    ).result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText == "{}\0{}\0")
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
