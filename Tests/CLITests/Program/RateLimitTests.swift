import Foundation
import PusherCore
import Testing

/// A server with Laravel Reverb's rate limit: it drops messages above the limit and answers 4301.
@Suite("A rate limit of the server", .needs(.movedClock), .runsPrograms) struct RateLimitTests {
  private static let error =
    #"{"event":"pusher:error","data":"{\"code\":4301,\"message\":\"Rate limit exceeded\"}"}"#
  private static let cause = "the server's rate limit (error 4301: Rate limit exceeded)"

  /// Starts a server that confirms the first two channels of each window and drops the others; the
  /// test opens each window.
  private func server(_ window: Gate, closes: Bool = false) throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join(2)
      if closes {
        _ = try connection.subscription()
        try connection.send(text: Self.error)
        return
      }
      for _ in 0..<2 {
        _ = try connection.subscription()
        try connection.send(text: Self.error)
      }
      try connection.wait(for: window)
      try connection.acceptSubscription()
      try connection.acceptSubscription()
      try connection.send(event: "e", channel: "c", data: "1")
      try connection.stay()
    }
  }

  @Test(arguments: [[], ["--keep-going"]])
  func `a rate limit is named once, and all channels are joined later`(options: [String]) throws {
    let window = Gate()
    let server = try server(window)
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["a", "b", "c", "d", "-n", "1", "-L"] + options,
      environment: clock.environment())
    let line = try program.errorLine()
    #expect(line == "pusher-cli: warning: \(Self.cause): 2 requests wait; retrying in 1 s")
    window.open()
    let limit = try program.outputLine(containing: "pusher-cli:rate_limited")
    #expect(
      limit == #"{"event":"pusher-cli:rate_limited","channel":null,"data":{"code":4301,"#
        + #""message":"Rate limit exceeded","waiting":2,"retry_in":1}}"#)
    let ending = try clock.move(.seconds(1), untilEndOf: program)
    let result = try program.result()
    #expect(ending == .exited(0))
    #expect(result.errorText.isEmpty && !result.outputText.contains("subscription_error"))
    #expect(result.outputText.contains(#"{"event":"e","channel":"c","data":1}"#))
  }

  @Test func `a rate limit that ends the connection is its cause in words and status`() throws {
    let server = try server(Gate(), closes: true)
    let result = try PusherCLI.run(
      ["subscribe"] + server.address + ["a", "b", "c", "-L", "--reconnect", "never"])
    result.expect(
      4,
      telling:
        "error: closed by the server with code 4301: Rate limit exceeded (the server's rate limit: "
    )
    #expect(
      result.outputText.contains(
        #""pusher-cli:disconnected","channel":null,"data":{"code":4301,"reason":"closed by the server with code 4301: Rate limit exceeded""#
      ), "\(result.outputText)")
  }

  @Test func `a time limit that passes meanwhile names it`() throws {
    let server = try server(Gate())
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["a", "b", "c", "d", "--timeout", "500ms"],
      environment: clock.environment())
    try program.errorLine(containing: "retrying in 1 s")
    // The goodbye, which the server does not answer, takes its time too.
    #expect(try clock.move(.milliseconds(500), untilEndOf: program) == .exited(4))
    let result = try program.result()
    #expect(
      result.errorText
        == "pusher-cli: error: timed out: no subscription to c, d within 0.5 s: \(Self.cause)\n")
  }

  @Test func `dropped client events of --stdin are told together, and end the run with 4`() throws {
    let server = try ScriptedServer.joined { connection in
      var messages: [JSONValue] = []
      while messages.count < 3 { messages.append(try connection.message()) }
      for _ in 0..<2 { try connection.send(text: Self.error) }
      try connection.send(event: "e", channel: "private-a", data: "1")
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["private-a", "--stdin", "-n", "1", "-L"],
      environment: ["PUSHER_APP_SECRET": "s"], input: .pipe)
    for number in 1...3 {
      program.write(line: #"{"event":"client-x","channel":"private-a","data":\#(number)}"#)
    }
    let result = try program.result()
    result.expect(
      4, lastError: "the server's rate limit dropped 2 client events from standard input")
    #expect(
      result.outputText.hasSuffix(
        #""data":{"status":4,"reason":"client events dropped","events":1}}"# + "\n"),
      "\(result.outputText)")
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `refused client events of --stdin are told, and end the run with 3`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect, "--no-client-events"])
    let program = try server.start(
      "subscribe", "private-a", "--stdin", "-n", "1", "-L", input: .pipe)
    let words =
      dialect == "pusher"
      ? "Client event rejected - client events are switched off for this app"
      : "The app does not have client messaging enabled."
    program.write(line: #"{"event":"client-x","channel":"private-a","data":1}"#)
    #expect(
      try program.errorLine(containing: "client event")
        == "pusher-cli: warning: the server refused 1 client event: \(words)")
    #expect(try server.trigger("private-a", "e", "1").ending == .exited(0))
    let result = try program.result()
    result.expect(3, lastError: "the server refused 1 client event from standard input")
    #expect(!result.errorText.contains("rate limit"))
    #expect(
      result.outputText.hasSuffix(
        #""data":{"status":3,"reason":"client events refused","events":1}}"# + "\n"),
      "\(result.outputText)")
  }

  @Test func `check names the rate limit, and does not wait for the network`() throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      while true {
        let message = try connection.message()
        guard message["event"]?.text == "pusher:subscribe" else { continue }
        try connection.send(text: Self.error)
      }
    }
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.start(
      ["check"] + server.address + ["a"], environment: clock.environment())
    let ending = try clock.move(.seconds(10), untilEndOf: program)
    let result = try program.result()
    #expect(ending == .exited(4))
    #expect(result.outputText.contains(Self.cause), "\(result.outputText)")
    #expect(result.outputText.contains("the server\n"), "\(result.outputText)")
  }
}
