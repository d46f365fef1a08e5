import Foundation
import PusherCore
import Testing

@testable import pusher_cli

struct `The lines that --stdin understands` {
  @Test func `a client event, a subscription and its end`() throws {
    let event = try ClientEvent(channel: "private-a", name: "client-x", data: ["n": 1.10])
    let line = #"{"event":"client-x","channel":"private-a","data":{"n":1.1},"received_at":"now"}"#
    #expect(try InputOrder.read(Array(line.utf8)) == .send(event))
    #expect(try InputOrder.read(Array(#"{"subscribe":"a"}"#.utf8)) == .subscribe("a"))
    #expect(try InputOrder.read(Array(#" {"unsubscribe":"a"}"#.utf8 + [0x0D])) == .unsubscribe("a"))
    #expect(try InputOrder.read([0x20, 0x0D]) == nil)
  }

  @Test(arguments: [
    ("nonsense", "not a JSON object"), ("[1]", "not a JSON object"),
    ("{}", "a line needs exactly one of event, subscribe and unsubscribe"),
    (
      #"{"event":"client-x","subscribe":"a"}"#,
      "a line needs exactly one of event, subscribe and unsubscribe"
    ),
    (#"{"subscribe":1}"#, "the value of subscribe is not a string"),
    (
      #"{"subscribe":"two words"}"#,
      "byte 0x20 is not allowed in a channel name (use A-Z a-z 0-9 _ - = @ , . ;)"
    ),
    (##"{"subscribe":"#server-to-user-1"}"##, "use --sign-in for the events of a user"),
    (#"{"event":"client-x"}"#, "no channel"),
    (
      #"{"event":"order","channel":"private-a"}"#,
      "'order' is not a client event: its name must begin with client-"
    ),
    (
      #"{"event":"client-x","channel":"news"}"#,
      "client events need a private or presence channel; 'news' is public"
    ),
  ])
  func `every other line is refused with its reason`(line: String, reason: String) {
    #expect(throws: UsageError(reason)) { try InputOrder.read(Array(line.utf8)) }
  }

  @Test func `data is sent as it was written`() throws {
    let line = #"{"event":"client-x","channel":"private-a","data":{"b":1.10,"a":1e400}}"#
    guard case .send(let event) = try InputOrder.read(Array(line.utf8)) else {
      Issue.record("no event")
      return
    }
    #expect(event.data.jsonText == #"{"b":1.10,"a":1e400}"#)
  }

  @Test func `nothing is read from a paused input`() {
    let lines = InputLines()
    #expect(lines.interest.descriptor == 0)
    lines.isPaused = true
    #expect(lines.interest.descriptor == -1)
  }
}

@Suite("--stdin: orders from standard input", .runsPrograms) struct InputOrdersTests {
  private func start(_ server: LocalServer, _ options: String...) throws -> ChildProgram {
    try server.start(["subscribe", "--stdin", "-L"] + options, input: .pipe)
  }

  private func write(_ lines: String..., to program: ChildProgram) {
    program.write(Array(lines.map { $0 + "\n" }.joined().utf8))
  }

  @Test func `client events reach others in their order, after the channel is confirmed`() throws {
    let server = try LocalServer()
    let other = try server.subscribe(["private-a"], "-L")
    let program = try start(server, "private-a")
    write(
      #"{"event":"client-x","channel":"private-a","data":{"n":1}}"#,
      #"{"event":"client-x","channel":"private-a","data":2}"#, to: program)
    #expect(
      try other.lines(2) == [
        #"{"event":"client-x","channel":"private-a","data":{"n":1}}"#,
        #"{"event":"client-x","channel":"private-a","data":2}"#,
      ])
  }

  @Test func `channels are joined and left, private ones signed with the secret`() throws {
    let server = try LocalServer()
    let program = try start(server)
    write(#"{"subscribe":"private-a"}"#, #"{"subscribe":"news"}"#, to: program)
    let joined = try [program, program].map {
      try $0.outputLine(containing: "subscription_succeeded")
    }
    #expect(Set(joined.map { $0.contains("private-a") }) == [true, false])
    write(#"{"unsubscribe":"news"}"#, to: program)
    try waitUntil("nobody is in news") {
      let result = try server.run(["channels"])
      return !result.outputText.contains("news") && result.outputText.contains("private-a")
    }
  }

  @Test func `a line that cannot be carried out is told with its number; others go on`() throws {
    let server = try LocalServer()
    let program = try start(server)
    write(
      "nonsense", "", #"{"unsubscribe":"news"}"#,
      #"{"event":"client-x","channel":"private-a","data":1}"#, #"{"subscribe":"news"}"#,
      to: program)
    #expect(try program.outputLine(containing: "subscription_succeeded").contains("news"))
    program.closeInput()
    try server.trigger("news", "e", "1").expect()
    #expect(try program.outputLine(containing: #""event":"e""#).contains("news"))
    program.send(SIGTERM)
    let warning = "pusher-cli: warning: line"
    #expect(
      try program.result().errorText == """
        \(warning) 1 of standard input: not a JSON object
        \(warning) 3 of standard input: 'news' is not subscribed
        \(warning) 4 of standard input: 'private-a' is not subscribed

        """)
  }

  @Test func `a channel that is refused does not end the run, and its events are told`() throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      _ = try connection.subscription()
      try connection.send(
        event: "pusher_internal:subscription_error", channel: "private-a", data: "{}")
      _ = try connection.acceptSubscription()
      try connection.stay()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["--stdin", "-L"],
      environment: ["PUSHER_APP_SECRET": "secret"], input: .pipe)
    write(
      #"{"subscribe":"private-a"}"#, #"{"event":"client-x","channel":"private-a","data":1}"#,
      #"{"subscribe":"news"}"#, to: program)
    #expect(try program.outputLine(containing: "subscription_succeeded").contains("news"))
    program.send(SIGTERM)
    let errors = try program.result().errorText
    #expect(errors.contains("warning: private-a refused: "))
    #expect(errors.contains("warning: line 2 of standard input: 'private-a' was refused\n"))
  }

  @Test func `input that nobody takes is left unread`() throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      _ = try connection.subscription()
      try connection.ignore()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["--stdin", "private-a"],
      environment: ["PUSHER_APP_SECRET": "secret"], input: .pipe)
    let line = Array(#"{"event":"client-x","channel":"private-a","data":1}"#.utf8) + [0x0A]
    // The channel is never confirmed. The program takes a pipe and one read, not the rest.
    let taken = try program.writeWhatGoes(Array(repeatElement(line, count: 20_000).joined()))
    #expect(taken < 400_000)
  }
}
