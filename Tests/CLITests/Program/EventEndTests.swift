import Foundation
import PusherCore
import Testing

/// An option that ends a run at an event.
enum EventEnd: CaseIterable, Sendable {
  case untilEvent, failEvent, failWhere

  /// Options that end the run at `build.done`, the third of four events.
  var options: [String] {
    switch self {
    case .untilEvent: ["--until-event", "build.done"]
    case .failEvent: ["--fail-event", "build.done"]
    case .failWhere: ["--fail-where", "data.last"]
    }
  }

  /// The same end, named after an option of the kind that never applies.
  var second: [String] { [options[0], self == .failWhere ? "data.warning" : "x"] + options }
  /// Reason in the last line of `-L`.
  var reason: String { self == .untilEvent ? "until" : String(options[0].dropFirst(2)) }
  var status: Int32 { self == .untilEvent ? 0 : 5 }
  /// Number of events that are printed.
  var printed: Int { self == .untilEvent ? 3 : 2 }
  var errorText: String {
    self == .untilEvent
      ? "" : "pusher-cli: error: the server sent 'build.done': {\"n\": 3, \"last\": true}\n"
  }

  static let events = [
    ("build.started", #"{"n": 1}"#), ("build.step", #"{"n": 2}"#),
    ("build.done", #"{"n": 3, "last": true}"#), ("build.cleaned", #"{"n": 4}"#),
  ]

  static func lines(_ count: Int) -> String {
    events.prefix(count).map { name, data in
      let plain = data.replacing(" ", with: "")
      return #"{"event":"\#(name)","channel":"news","data":\#(plain)}"# + "\n"
    }.joined()
  }

  static func subscribe(_ options: [String], timeout: String = "10m") throws -> ProgramResult {
    let server = try ScriptedServer.joined { connection in
      for (name, data) in events { try connection.send(event: name, data: data) }
    }
    return try server.subscribed(["news", "--timeout", timeout] + options)
  }

  static func sse(_ stream: String, _ options: [String]) throws -> ProgramResult {
    let server = try ScriptedServer.streaming(stream)
    return try PusherCLI.run(["sse", server.url, "--timeout", "10m"] + options)
  }

  func expectEnd(_ result: ProgramResult, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(result.ending == .exited(status), sourceLocation: sourceLocation)
    #expect(result.errorText == errorText, "\(result.errorText)", sourceLocation: sourceLocation)
  }
}

/// What `--until-event`, `--fail-event` and `--fail-where` have in common.
@Suite("A run that ends at an event", .runsPrograms)
struct EventEndTests {
  @Test(
    arguments: EventEnd.allCases,
    [
      [], ["-o", "raw"], ["-o", "pretty"], ["-F", "%e"], ["-F", "%N"], ["--field", "n"], ["-0"],
      ["-t"], ["--exec", "cat"], ["--where", "data.n"], ["-x", "nothing"],
      ["--until-event", "other"],
    ])
  func `an event ends every form of output`(end: EventEnd, form: [String]) throws {
    let result = try EventEnd.subscribe(end.options + form)
    end.expectEnd(result)
    let separator: Character = form == ["-0"] ? "\0" : "\n"
    #expect(
      result.outputText.split(separator: separator).count == end.printed, "\(result.outputText)")
    if form.isEmpty { #expect(result.outputText == EventEnd.lines(end.printed)) }
  }

  @Test(arguments: EventEnd.allCases)
  func `an event ends a run with --summary and with -v`(end: EventEnd) throws {
    for option in ["--summary", "-v"] {
      let result = try EventEnd.subscribe(end.options + [option])
      result.expect(end.status, prints: EventEnd.lines(end.printed))
      #expect(end.status == 0 || result.errorText.contains(end.errorText), "\(result.errorText)")
    }
  }

  @Test(arguments: EventEnd.allCases, [[], ["-x", "build.done"], ["--until", "[DONE]"]])
  func `an event ends sse too`(end: EventEnd, options: [String]) throws {
    let stream = EventEnd.events.map { "event: \($0.0)\ndata: \($0.1)\n\n" }.joined()
    let result = try EventEnd.sse(stream, end.options + options)
    end.expectEnd(result)
    let printed = options.first == "-x" ? 2 : end.printed
    #expect(result.outputLines.count == printed, "\(result.outputText)")
  }

  @Test(
    arguments: EventEnd.allCases,
    [
      ["-e", "build.st*"], ["-x", "build.done"], ["-e", "build.st*", "-x", "*.done"],
      ["--where", "data.n < 3"],
    ])
  func `an event that is left out ends the run too`(end: EventEnd, filter: [String]) throws {
    let result = try EventEnd.subscribe(end.options + filter)
    end.expectEnd(result)
    #expect(result.outputText == EventEnd.lines(2))
  }

  @Test(arguments: EventEnd.allCases)
  func `one match of several options is enough`(end: EventEnd) throws {
    let result = try EventEnd.subscribe(end.second)
    end.expectEnd(result)
    #expect(result.outputText == EventEnd.lines(end.printed))
  }

  @Test(arguments: EventEnd.allCases)
  func `the run ends with the count or the event, whichever comes first`(end: EventEnd) throws {
    try EventEnd.subscribe(end.options + ["-n", "2"]).expect(prints: EventEnd.lines(2), says: "")
    let ended = try EventEnd.subscribe(end.options + ["-n", "4"])
    end.expectEnd(ended)
    #expect(ended.outputText == EventEnd.lines(end.printed))
  }

  @Test(arguments: EventEnd.allCases)
  func `-L names the option that ended the run, and --record gets the event`(end: EventEnd) throws {
    let path = TemporaryFolder.shared.file("record")
    let result = try EventEnd.subscribe(end.options + ["-L", "--record", path])
    let last = result.outputLines.last ?? ""
    #expect(
      last.contains(#""status":\#(end.status),"reason":"\#(end.reason)","events":\#(end.printed)"#),
      "\(last)")
    let recorded = try fileText(path).split(separator: "\n")
    #expect(recorded.count == 3 && recorded[2].hasSuffix(#""data":{"n":3,"last":true}}"#))
  }

  @Test func `without the event the time limit ends the run, and names what is missing`() throws {
    try EventEnd.subscribe(
      ["--until-event", "build.failed", "--until-event", "x"], timeout: "300ms"
    ).expect(
      124, prints: EventEnd.lines(4),
      says: "pusher-cli: error: timed out: 4 events within 0.3 s; --until-event 'build.failed' "
        + "or 'x' never came\n")
  }

  // MARK: --fail-event

  @Test(arguments: ["error", "err*", ".error"])
  func `an error inside an answer ends it with 5, after the text so far`(glob: String) throws {
    try EventEnd.sse(
      ModelStreams.message("Hel", "lo", end: ModelStreams.overloaded + ModelStreams.messageStop),
      ["--field", "delta.text", "--join", "--until-event", "message_stop", "--fail-event", glob]
    ).expect(
      5, prints: "Hello\n",
      says: "pusher-cli: error: the server sent 'error': \(ModelStreams.overload)\n")
  }

  @Test func `--fail-event beats --until-event, and the first of two events counts`() throws {
    let both = try EventEnd.subscribe(["--until-event", "build.d*"] + EventEnd.failEvent.options)
    EventEnd.failEvent.expectEnd(both)
    try EventEnd.subscribe(["--until-event", "build.step"] + EventEnd.failEvent.options).expect(
      says: "")
  }

  @Test func `a failure without data is named alone`() throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(text: #"{"event":"stopped","channel":"news"}"#)
    }
    try server.subscribed("news", "--fail-event", "stopped").expect(
      5, says: "pusher-cli: error: the server sent 'stopped'\n")
  }

  // MARK: --fail-where

  @Test func `a receiver gets the events before a failure`() throws {
    let receiver = try ForwardReceiver()
    let stream = EventEnd.events.map { "event: \($0.0)\ndata: \($0.1)\n\n" }.joined()
    let result = try EventEnd.sse(stream, EventEnd.failWhere.options + ["--forward", receiver.url])
    result.expect(5)
    #expect(
      result.errorLines.first.map { "\($0)\n" } == EventEnd.failWhere.errorText,
      "\(result.errorText)")
  }
}
