import Foundation
import PusherCore
import Testing

@Suite("--on-gap: a command that fills a gap", .runsPrograms)
struct GapRepairTests {
  /// Allows the second event, which comes after the gap.
  private let goes = Gate()
  private let server: ScriptedServer

  init() throws {
    server = try ScriptedServer { [goes] connection in
      try connection.join()
      if connection.number == 1 { return try connection.send(event: "e", data: "1") }
      try connection.wait(for: goes)
      try connection.send(event: "e", data: "2")
      try connection.stay()
    }
  }

  private func start(_ command: String, _ options: String...) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--retry-max-delay", "10ms", "--on-gap", command] + options)
  }

  @Test func `what the command prints is marked, and printed as any event`() throws {
    let missed = #"{"event":"m","channel":"news","user_id":"7","data":{"n":1.10}}"#
    let program = try start("echo '\(missed)'; echo; echo '\(missed)'", "-n", "4")
    let repaired =
      #"{"event":"m","channel":"news","user_id":"7","repaired":true,"data":{"n":1.10}}"#
    #expect(try program.lines(3) == [Hooked.line(1), repaired, repaired])
    goes.open()
    #expect(try program.line() == Hooked.line(2))
    #expect(try program.wait() == .exited(0))
  }

  @Test func `people see a rule that says who is asked, and a mark on what it prints`() throws {
    let missed = #"{"event":"m","channel":"news","data":{"n":1}}"#
    let program = try start("echo '\(missed)'", "-n", "2", "-o", "pretty")
    let lines = try program.lines(3)
    #expect(lines[1].hasPrefix("---- ") && lines[1].contains(" without a connection"))
    #expect(lines[1].contains(": --on-gap asks for the missed events -"))
    #expect(lines[2].hasSuffix(#"  news  m  repaired  {"n":1}"#), "\(lines)")
  }

  @Test func `the command reads the gap as one line`() throws {
    let file = TemporaryFolder.shared.file("gap")
    let program = try start("cat >\(file).new && mv \(file).new \(file)", "-n", "2")
    try waitUntil("the command has read") { FileManager.default.fileExists(atPath: file) }
    goes.open()
    #expect(try program.result().outputText == Hooked.lines(1...2))
    let gap = try JSONParser.parse(try fileText(file))
    let times = try ["from", "to"].map { name in
      try #require(gap[name]?.text.flatMap(WallTime.init(rfc3339:)))
    }
    #expect(times[0].millisecondsSince1970 <= times[1].millisecondsSince1970)
    #expect(gap["seconds"] != nil)
    #expect(gap["channels"] == .array([.string("news")]))
    #expect(gap.members?.map(\.name) == ["from", "to", "seconds", "channels"])
  }

  @Test func `repaired events pass the filters and count`() throws {
    let lines =
      #"{"event":"m","channel":"news","data":1}\n{"event":"e","channel":"news","data":8}\n"#
    let result = try start("printf '\(lines)'", "-e", "e", "-n", "2").result()
    #expect(
      result.outputText
        == Hooked.line(1) + "\n" + #"{"event":"e","channel":"news","repaired":true,"data":8}"#
        + "\n")
  }

  @Test(arguments: [
    ("exit 3", "the command ended with status 3"),
    ("echo nonsense", "line 1 of the command's output is not a JSON object with an event"),
    (
      "head -c 200000 /dev/zero",
      "the command printed more than 64 KiB; its output is ignored (--buffer sets the limit)"
    ),
    (
      "echo '\(Hooked.line(1))'; sleep 600",
      "the command took longer than 1 s; its output is ignored (--on-gap-timeout sets the limit)"
    ),
  ])
  func `a failure is told, and the run goes on`(command: String, warning: String) throws {
    let program = try start(command, "-n", "2", "--buffer", "64k", "--on-gap-timeout", "1s")
    try program.errorLine(containing: "pusher-cli: warning: --on-gap: \(warning)")
    goes.open()
    try program.result().expect(prints: Hooked.lines(1...2))
  }

  @Test func `events go on while the command runs`() throws {
    let end = TemporaryFolder.shared.file("end")
    let program = try start(
      "\(Hooked.awaiting(end)); "
        + #"echo '{"event":"m","channel":"news","data":1}'"#, "-n", "3")
    goes.open()
    #expect(try program.lines(2) == [Hooked.line(1), Hooked.line(2)])
    try Hooked.create(end)
    #expect(try program.line() == #"{"event":"m","channel":"news","repaired":true,"data":1}"#)
    #expect(try program.wait() == .exited(0))
  }

  @Test func `gaps that end while the command runs are one with its own command`() throws {
    let (gaps, lost) = (TemporaryFolder.shared.file("gaps"), TemporaryFolder.shared.file("lost"))
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "e", data: "\(connection.number)")
      switch connection.number {
      case 1: return
      case 2, 3: try connection.close(code: 4200)
      default:
        try Hooked.create(lost)
        try connection.stay()
      }
    }
    let result = try server.subscribed(
      "news", "--retry-max-delay", "10ms", "--retry-delay", "10ms", "-n", "6", "--on-gap",
      "cat >>\(gaps); \(Hooked.awaiting(lost)); "
        + #"echo '{"event":"m","channel":"news","data":1}'"#)
    let events = try result.outputLines.map {
      try JSONParser.parse(String($0))["event"]?.text
    }
    #expect(events.count { $0 == "m" } == 2, "\(result.outputText)")
    result.expect()
    let told = try fileText(gaps).split(separator: "\n").map {
      try JSONParser.parse(String($0))
    }
    #expect(told.count == 2)
    for name in ["from", "to"] {
      let times = told.map { $0[name]?.text ?? "" }
      #expect(times == times.sorted(), "\(told)")
    }
  }

  @Test func `--on-idle reads the silence; neither its failure nor silence ends the run`() throws {
    let silent = try ScriptedServer.joined { [goes] connection in
      try connection.wait(for: goes)
      try connection.send(event: "e", data: "1")
    }
    let program = try PusherCLI.subscribe(
      to: silent, "news", "-n", "1", "--idle-timeout", "100ms", "--on-idle", "cat; exit 3")
    let silence = try JSONParser.parse(program.errorLine(containing: #"{"from":""#))
    #expect(silence.members?.map(\.name) == ["from", "to", "seconds"])
    try program.errorLine(containing: "warning: --on-idle: the command ended with status 3")
    goes.open()
    #expect(try program.result().outputText == Hooked.lines(1...1))
  }
}

@Suite("--summary", .runsPrograms)
struct SummaryTests {
  @Test(arguments: [[], ["-q"], ["-o", "raw"]])
  func `the table of names stands at the end on standard error, the most bytes first`(
    options: [String]
  ) throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "small", data: "1")
      try connection.send(event: "big\n", data: String(repeating: "x", count: 1000))
      try connection.send(event: "small", data: "2")
    }
    let result = try server.subscribed(["news", "-n", "3", "--summary"] + options)
    let small = ScriptedConnection.message("small", "news", "1").utf8.count * 2
    let big = ScriptedConnection.message("big\n", "news", String(repeating: "x", count: 1000)).utf8
      .count
    let pad = String(repeating: " ", count: "\(small + big)".count - "\(small)".count)
    #expect(
      result.errorText == """
        pusher-cli: events  bytes  event
        pusher-cli:      1   \(big)  big\\n
        pusher-cli:      2   \(pad)\(small)  small
        pusher-cli:      3   \(small + big)  (all)

        """)
  }

  @Test func `sse counts the bytes of data`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 12345\n\nevent: x\ndata: 1\n\n")
    }
    let result = try PusherCLI.run(["sse", server.url, "-n", "2", "--summary"])
    #expect(result.errorText.contains("     1      5  message\n"))
    #expect(result.errorText.contains("     2      6  (all)\n"))
  }
}
