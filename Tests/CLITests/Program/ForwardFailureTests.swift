import Foundation
import PusherCore
import Testing

@Suite("--forward: receivers that fail, hang and lie", .needsPython, .runsPrograms)
struct ForwardFailureTests {
  /// Starts `subscribe` with short retry delays.
  private func forward(
    _ server: ScriptedServer, to receiver: ForwardReceiver, _ options: String...,
    environment: [String: String] = [:]
  ) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--retry-max-delay", "20ms", "--forward", receiver.url] + options,
      environment: environment)
  }

  @Test func `an event is sent again until a 2xx, with the same key and in its turn`() throws {
    let server = try Hooked.counting(2)
    let receiver = try ForwardReceiver(
      "500", "404", "429+0", "503+soon", "reset", "drop", "302", "200")
    let result = try forward(server, to: receiver, "-n", "2").result()
    result.expect()
    let requests = try receiver.requests(9)
    #expect(requests.map(\.body) == Array(repeating: Hooked.line(1), count: 8) + [Hooked.line(2)])
    #expect(Set(requests.map(\.key)).count == 2)
    #expect(requests[7].key == requests[0].key && requests[8].key != requests[0].key)
    // The client does not follow redirects.
    #expect(requests.allSatisfy { $0.path == "/hook?x=1" })
    // The failure is reported once, and then its end.
    let lines = result.errorLines
    try #require(lines.count == 2, "\(lines)")
    #expect(
      lines[0].hasPrefix(
        "pusher-cli: warning: --forward: 127.0.0.1:\(receiver.port): HTTP 500 (event e on news); retrying in "
      ))
    #expect(
      lines[1]
        == "pusher-cli: --forward: 127.0.0.1:\(receiver.port) accepts events again "
        + "(event e on news)")
  }

  @Test func `-v tells each try, and nothing of the URL that may be a token`() throws {
    let server = try Hooked.counting(1)
    let receiver = try ForwardReceiver("reset", "drop", "500", "302", "200")
    let text = try forward(server, to: receiver, "-n", "1", "-v").result().errorText
    #expect(text.contains("HTTP 500 (event e"))
    #expect(text.contains("HTTP 302, a redirect that is not followed (event e"))
    #expect(text.components(separatedBy: "; retrying in").count == 5)
    #expect(!text.contains("hook"))
  }

  @Test(arguments: [("429+20", "120s", "20 s"), ("503+3600", "30s", "30 s")])
  func `Retry-After is waited for, up to --retry-max-delay`(
    behaviour: String, limit: String, wait: String
  ) throws {
    let server = try Hooked.counting(1)
    let receiver = try ForwardReceiver(behaviour)
    let program = try PusherCLI.subscribe(
      to: server, "news", "--retry-max-delay", limit, "--forward", receiver.url)
    let line = try program.errorLine(containing: "--forward")
    #expect(line.hasSuffix("; retrying in \(wait)"))
    try program.result(of: SIGTERM)
  }

  @Test func `a receiver that does not answer has --connect-timeout for each try`() throws {
    let server = try Hooked.counting(1)
    let receiver = try ForwardReceiver("hang", "200")
    try forward(server, to: receiver, "-n", "1", "--connect-timeout", "200ms").result().expect(
      telling: "no answer within 0.2 s")
    let requests = try receiver.requests(2)
    #expect(requests[0].key == requests[1].key)
  }

  @Test func `a 2xx counts, however its body goes on, and no body or head costs memory`() throws {
    let server = try Hooked.counting(4)
    let receiver = try ForwardReceiver("half", "huge", "huge500", "head", "200", "gate")
    let program = try forward(server, to: receiver, "-n", "4")
    let requests = try receiver.requests(6)
    #expect(requests.map(\.body) == [1, 2, 3, 3, 3, 4].map(Hooked.line))
    let memory = try #require(program.peakMemory)
    #expect(memory < 64 << 10, "\(memory) KiB")
    receiver.release()
    try program.result().expect(telling: "HTTP 500")
  }

  @Test func `a kept connection that has ended is no failure`() throws {
    let server = try Hooked.counting(5)
    let receiver = try ForwardReceiver("200", "drop", "200", "close", "200")
    try forward(server, to: receiver, "-n", "5").result().expect(says: "")
    let requests = try receiver.requests(6)
    #expect(requests.map(\.body) == [1, 2, 2, 3, 4, 5].map(Hooked.line))
    #expect(requests[1].key == requests[2].key)
    #expect(requests.map(\.connection) == [1, 1, 2, 2, 3, 3])
  }

  @Test func `nobody there is told once, and the next event waits`() throws {
    let server = try Hooked.counting(2)
    let port = try Loopback.closedPort()
    let program = try PusherCLI.subscribe(
      to: server, "news", "-L", "-v", "--retry-max-delay", "10ms", "--forward",
      "http://127.0.0.1:\(port)/")
    try program.errorLine(containing: "warning: --forward: 127.0.0.1:\(port): ")
    for _ in 1...5 {
      let line = try program.errorLine(containing: "--forward")
      #expect(!line.contains("warning"))
    }
    let result = try program.result(of: SIGTERM)
    #expect(result.errorText.contains("error: --forward: 2 events were not delivered"))
  }

  @Test func `what fails too long is given up, stands in the file, and the status is 4`() throws {
    let server = try Hooked.server(
      ("e", "a", "1"), ("e", "a", "2"), ("e", "b", "3"), ("e", "a", "4"))
    let dead = try TemporaryFolder.shared.file("dead", holding: #"{"torn""#)
    let receiver = try ForwardReceiver("a=500", "b=200")
    let result = try server.subscribed(
      "a", "b", "-n", "4", "-L", "--retry-max-delay", "20ms", "--forward-timeout", "500ms",
      "--forward-dead", dead, "--forward", receiver.url)
    result.expect(4)
    #expect(
      result.outputText.hasSuffix(#""data":{"status":4,"reason":"forward","events":4}}"# + "\n"))
    let lines = [1, 2, 4].map { #"{"event":"e","channel":"a","data":\#($0)}"# + "\n" }
    #expect(try fileText(dead) == "{\"torn\"\n" + lines.joined())
    #expect(result.errorText.contains("'\(dead)' ends in the middle of a line"))
    let errors = result.errorLines.filter { $0.contains("error: --forward: ") }
    #expect(errors.count == 3)
    #expect(errors.allSatisfy { $0.contains(" (event e on a); saved in '\(dead)'") })
    // The last attempt may be in progress at the timeout.
    #expect(errors.contains { $0.contains("HTTP 500 (event") })
  }

  @Test(.needs(.fullDevice)) func `while the file cannot be written no event is given up`() throws {
    let server = try Hooked.counting(2)
    let receiver = try ForwardReceiver("down")
    let program = try forward(
      server, to: receiver, "-n", "2", "--forward-timeout", "50ms", "--forward-dead", "/dev/full")
    try program.errorLine(containing: "error: --forward-dead: cannot write '/dev/full': ")
    let first = try receiver.next()
    #expect(try receiver.requests(10).allSatisfy { $0.key == first.key })
    receiver.release()
    let result = try program.result()
    result.expect()
    #expect(!result.errorText.contains("--forward-dead"))
  }
}

@Suite("--forward: the end of a run", .needsPython, .runsPrograms)
struct ForwardEndTests {
  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `by a signal what is left goes to the file, in its order`(signal: Int32) throws {
    let server = try Hooked.counting(3)
    let dead = TemporaryFolder.shared.file("dead")
    let receiver = try ForwardReceiver("hang")
    let program = try PusherCLI.subscribe(
      to: server, "news", "-L", "--forward-timeout", "1h", "--forward-dead", dead, "--forward",
      receiver.url)
    _ = try receiver.next()
    try program.awaitEvents(3)
    let result = try program.result(of: signal)
    #expect(
      result.errorText.contains(
        "error: --forward: 3 events were not delivered; they are saved in '\(dead)'"))
    let attributes = try FileManager.default.attributesOfItem(atPath: dead)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try fileText(dead) == Hooked.lines(1...3))
  }

  @Test(.needs(.movedClock)) func `what is under way at a signal may still end`() throws {
    let clock = try MovedClock(standsStill: true)
    let server = try Hooked.counting(2)
    let receiver = try ForwardReceiver("gate")
    let program = try PusherCLI.subscribe(
      to: server, "news", "--forward", receiver.url, environment: clock.environment())
    _ = try receiver.next()
    try program.awaitEvents(2)
    program.send(SIGTERM)
    // An answer after the signal proves that the program has handled it.
    try program.goRound(2)
    receiver.release()
    let result = try program.result()
    #expect(result.ending == .signalled(SIGTERM))
    #expect(result.errorText == "pusher-cli: error: --forward: 1 event was not delivered\n")
    #expect(try receiver.unexpected() == "")
  }

  @Test(.needs(.movedClock)) func `--timeout gives one more second, and the status is 4`() throws {
    let clock = try MovedClock(standsStill: true)
    let server = try Hooked.counting(3)
    let receiver = try ForwardReceiver("hang")
    let program = try PusherCLI.subscribe(
      to: server, "news", "-W", "300ms", "-L", "--connect-timeout", "1h", "--forward", receiver.url,
      environment: clock.environment())
    _ = try receiver.next()
    try program.awaitEvents(3)
    #expect(try clock.move(.seconds(1), untilEndOf: program) == .exited(4))
    let result = try program.result()
    #expect(result.errorText == "pusher-cli: error: --forward: 3 events were not delivered\n")
    #expect(
      result.outputText.hasSuffix(#""data":{"status":4,"reason":"forward","events":3}}"# + "\n"))
  }

  @Test func `what was given up long before the end has its status too`() throws {
    let gate = Gate()
    let server = try ScriptedServer { connection in
      try connection.beginStream([("Transfer-Encoding", "chunked")])
      try connection.send(chunk: "data: 1\n\n")
      try connection.wait(for: gate)
      try connection.send(chunk: "")
      try connection.remain()
    }
    let receiver = try ForwardReceiver("500")
    let program = try PusherCLI.sse(
      server, "-L", "--reconnect", "never", "--forward-timeout", "1ms", "--forward", receiver.url)
    try program.errorLine(containing: "gave up after 1 try: ")
    gate.open()
    let result = try program.result()
    result.expect(4)
    #expect(
      result.outputText.hasSuffix(#""data":{"status":4,"reason":"forward","events":1}}"# + "\n"))
  }

  @Test func `the state file holds the last delivered event, and the next run its key`() throws {
    let server = try NumberedStream.server(last: 3)
    let state = TemporaryFolder.shared.file("state")
    let receiver = try ForwardReceiver("200", "hang", "200")
    let first = try PusherCLI.sse(server, "-t", "--state-file", state, "--forward", receiver.url)
    let before = try receiver.requests(2)
    try StateText.await("1", in: state)
    try first.result(of: SIGTERM)
    #expect(StateText.id(state) == "1")
    let second = try PusherCLI.sse(
      server, "-t", "-n", "2", "--state-file", state, "--forward", receiver.url)
    #expect(try second.wait() == .exited(0))
    let after = try receiver.requests(2)
    #expect(after.map { $0.body.contains(#""id":"2""#) } == [true, false])
    #expect(after[0].key == before[1].key && after[0].fields["pusher-channel"] == nil)
    #expect(Set((before + after).map(\.key)).count == 3)
    #expect(StateText.id(state) == "3")
  }

  @Test func `what stands in the file counts for the state file`() throws {
    let server = try NumberedStream.server(last: 2)
    let state = TemporaryFolder.shared.file("state")
    let dead = TemporaryFolder.shared.file("dead")
    let receiver = try ForwardReceiver("500")
    let program = try PusherCLI.sse(
      server, "-n", "2", "--state-file", state, "--retry-max-delay", "10ms", "--forward-timeout",
      "30ms", "--forward-dead", dead, "--forward", receiver.url)
    #expect(try program.wait() == .exited(4))
    #expect(StateText.id(state) == "2")
    #expect(try fileText(dead) == (1...2).map { NumberedStream.line($0) + "\n" }.joined())
  }
}
