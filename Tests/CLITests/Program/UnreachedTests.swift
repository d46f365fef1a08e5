import Foundation
import PusherCore
import Testing

@Suite("--timeout, and what never came about", .needs(.movedClock), .runsPrograms)
struct UnreachedTests {
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

  @Test func `a run that never connected is 4, and says why`() throws {
    let port = try Loopback.closedPort()
    let options = ["--reconnect", "always", "-W", "300ms"]
    let subscribe = try timedOut(
      [
        "subscribe", "--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http", "--key", "k",
        "news",
      ] + options, after: .milliseconds(300)
    ) { try $0.errorLine(containing: "cannot connect to") }
    #expect(subscribe.ending == .exited(4))
    #expect(
      subscribe.errorLines.last
        == "pusher-cli: error: timed out: no connection within 0.3 s: cannot connect to 127.0.0.1:\(port): connection refused"
    )
    let sse = try timedOut(
      ["sse", "http://127.0.0.1:\(port)/"] + options, after: .milliseconds(300)
    ) { try $0.errorLine(containing: "cannot connect to") }
    #expect(sse.ending == .exited(4))
    #expect(
      sse.errorLines.last
        == "pusher-cli: error: timed out: no event stream within 0.3 s: cannot connect to 127.0.0.1:\(port): connection refused"
    )
  }

  @Test func `a run whose server never answers is 4`() throws {
    let server = try ScriptedServer { try $0.stall() }
    let subscribe = try PusherCLI.subscribe(to: server, "news", "-W", "300ms").result()
    #expect(subscribe.ending == .exited(4))
    #expect(
      subscribe.errorText == "pusher-cli: error: timed out: no connection within 0.3 s\n")
    let sse = try PusherCLI.run("sse", server.url, "-W", "300ms")
    #expect(sse.ending == .exited(4))
    #expect(sse.errorText == "pusher-cli: error: timed out: no event stream within 0.3 s\n")
  }

  @Test func `a run that never subscribed is 4, and names the channels`() throws {
    let server = try ScriptedServer { connection in
      try connection.join(1)
      try connection.stay()
    }
    let result = try timedOut(
      ["subscribe"] + server.address + ["a", "b", "c", "d", "e", "f", "-W", "500ms", "-L"],
      after: .milliseconds(500)
    ) { _ = try $0.lines(2) }
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: timed out: no subscription to b, c, d and 2 more within 0.5 s\n")
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
    let result = try timedOut(
      ["subscribe"] + server.address + ["news", "-W", "1s", "-q"], after: .seconds(1)
    ) { program in
      try left.wait()
      try program.goRound(2)
    }
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.errorText.isEmpty)
  }

  @Test func `with --count the status stays 124, and the message says that there was nothing`()
    throws
  {
    let server = try ScriptedServer { try $0.stall() }
    let result = try PusherCLI.subscribe(to: server, "news", "-n", "2", "-W", "300ms").result()
    #expect(result.ending == .exited(124))
    #expect(
      result.errorText
        == "pusher-cli: error: timed out: 0 of 2 events within 0.3 s (no connection)\n")
  }
}

@Suite(
  "A time limit that passes while patterns keep events out", .needs(.movedClock), .runsPrograms)
struct RejectedEventsTests {
  private func server(_ names: String...) throws -> (ScriptedServer, Gate) {
    let areSent = Gate()
    let server = try ScriptedServer { connection in
      let request = try connection.request()
      if request.headers["Upgrade"] == nil {
        try connection.send(stream: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for name in names { try connection.send(stream: "event: \(name)\ndata: 1\n\n") }
        try connection.awaitAcknowledgement()
        areSent.open()
        try connection.remain()
      }
      try connection.welcome(request)
      try connection.acceptSubscription()
      for name in names { try connection.send(event: name, data: "1") }
      try connection.awaitAcknowledgement()
      areSent.open()
      try connection.stay()
    }
    return (server, areSent)
  }

  private func timedOut(_ arguments: [String], _ areSent: Gate) throws -> ProgramResult {
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(arguments, environment: clock.environment())
    try areSent.wait()
    try program.goRound(2)
    _ = try clock.move(.seconds(1), untilEndOf: program)
    return try program.result()
  }

  /// Every way on which events are counted: both commands, both limits, and with `-v` each event
  /// as a whole.
  @Test(arguments: ["-W", "--idle-timeout"], [[], ["-v"]])
  func `the message counts and names events that patterns leave out`(
    option: String, fast: [String]
  ) throws {
    let patterns = ["-e", "y", "--where", "data == 2"]
    let what = option == "-W" ? "0 of 1 events within 1 s" : "no event for 1 s"
    for isStream in [false, true] {
      let (server, areSent) = try server("x", "x", "y")
      let command = isStream ? ["sse", server.url] : ["subscribe"] + server.address + ["news"]
      let result = try timedOut(command + patterns + ["-n", "1", option, "1s"] + fast, areSent)
      #expect(result.ending == .exited(124))
      let expected =
        "pusher-cli: error: timed out: \(what) (3 other events came, --where left out 1, of the "
        + "rest none matches -e: 'x')"
      #expect(result.errorLines.last.map(String.init) == expected, "\(result.errorText)")
    }
  }

  @Test func `wanted events are counted apart from those that patterns leave out`() throws {
    for (patterns, words) in [
      (["-e", "y"], "1 of 2 events within 1 s (2 other events came, none matches -e: 'x')"),
      ([], "3 of 4 events within 1 s"),
    ] {
      let (server, areSent) = try server("x", "x", "y")
      let count = patterns.isEmpty ? "4" : "2"
      let result = try timedOut(
        ["subscribe"] + server.address + ["news", "-n", count, "-W", "1s"] + patterns, areSent)
      #expect(result.ending == .exited(124))
      #expect(result.errorLines.last == "pusher-cli: error: timed out: \(words)")
    }
  }

  @Test(arguments: [
    ["-n", "1", "-W", "1s"], ["--idle-timeout", "1s"], ["-W", "1s"],
  ])
  func `where nothing came, a channel's other names are to be checked`(options: [String]) throws {
    let channels = ["private-a", "orders.1"]
    let words =
      "nothing came; private-orders.1 and presence-orders.1 are different channels: does the app "
      + "send to one of them?"
    let areJoined = Gate()
    let server = try ScriptedServer { connection in
      try connection.welcome()
      for _ in channels { try connection.acceptSubscription() }
      try connection.awaitAcknowledgement()
      areJoined.open()
      try connection.stay()
    }
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + channels + options,
      environment: clock.environment().merging(["PUSHER_APP_SECRET": "s"]) { $1 })
    try areJoined.wait()
    try program.goRound(2)
    _ = try clock.move(.seconds(1), untilEndOf: program)
    let result = try program.result()
    if options == ["-W", "1s"] {
      #expect(result.ending == .exited(0))
      #expect(result.errorText == "pusher-cli: warning: \(words)\n")
    } else {
      #expect(result.ending == .exited(124))
      #expect(result.errorText.hasSuffix("1 s (\(words))\n"), "\(result.errorText)")
    }
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a person who gives up waiting gets the same words, and a service none`(signal: Int32) throws
  {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.stay()
    }
    let program = try PusherCLI.subscribe(to: server, "news", "-L", "-v")
    _ = try program.lines(2)
    program.send(signal)
    let result = try program.result()
    #expect(result.ending == .signalled(signal))
    let words =
      "pusher-cli: nothing came; private-news and presence-news are different channels: does the app "
      + "send to one of them?"
    #expect(result.errorLines.contains { $0 == words } == (signal == SIGINT), "\(result.errorText)")
  }

  @Test func `a time limit alone names what the patterns kept out`() throws {
    let (server, areSent) = try server("x", "y")
    for command in [
      ["subscribe"] + server.address + ["news"], ["sse", "http://127.0.0.1:\(server.port)/"],
    ] {
      let result = try timedOut(command + ["-e", "order", "-W", "1s"], areSent)
      #expect(result.ending == .exited(0))
      #expect(
        result.errorText
          == "pusher-cli: warning: nothing to print: 2 other events came, none matches -e: 'x', 'y'\n",
        "\(result.errorText)")
    }
  }
}
