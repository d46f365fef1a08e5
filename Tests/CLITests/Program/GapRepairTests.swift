import Foundation
import PusherCore
import Testing

@Suite("--on-gap: a command that fills a gap", .runsPrograms)
struct GapRepairTests {
  private func server() throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join()
      if connection.number == 1 { return try connection.send(event: "e", data: "1") }
      try connection.send(event: "e", data: "2")
      try connection.stay()
    }
  }

  private func run(_ command: String, _ options: String...) throws -> ProgramResult {
    let server = try server()
    return try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--retry-max-delay", "10ms", "--on-gap", command] + options
    ).result()
  }

  private static let first = #"{"event":"e","channel":"news","data":1}"#
  private static let second = #"{"event":"e","channel":"news","data":2}"#

  @Test func `what the command prints stands between what came before and what comes after`() throws
  {
    let missed = #"{"event":"m","channel":"news","user_id":"7","data":{"n":1.10}}"#
    let result = try run("echo '\(missed)'; echo; echo '\(missed)'", "-n", "4")
    let repaired =
      #"{"event":"m","channel":"news","user_id":"7","repaired":true,"data":{"n":1.10}}"#
    #expect(
      result.outputText == [Self.first, repaired, repaired, Self.second].joined(separator: "\n")
        + "\n")
    #expect(result.ending == .exited(0))
  }

  @Test func `people see a rule that says who is asked, and a mark on what it prints`() throws {
    let missed = #"{"event":"m","channel":"news","data":{"n":1}}"#
    let result = try run("echo '\(missed)'", "-n", "3", "-o", "pretty")
    let lines = result.outputText.split(separator: "\n")
    try #require(lines.count == 4, "\(lines)")
    #expect(lines[1].hasPrefix("---- ") && lines[1].contains(" without a connection"))
    #expect(lines[1].contains(": --on-gap asks for the missed events -"))
    #expect(lines.contains { $0.hasSuffix(#"  news  m  repaired  {"n":1}"#) }, "\(lines)")
  }

  @Test func `the command reads the gap as one line`() throws {
    let file = TemporaryFolder.shared.file("gap")
    let result = try run("cat >\(file)", "-n", "2")
    #expect(result.outputText == "\(Self.first)\n\(Self.second)\n")
    let gap = try JSONParser.parse(try String(contentsOfFile: file, encoding: .utf8))
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
    let result = try run("printf '\(lines)'", "-e", "e", "-n", "2")
    #expect(
      result.outputText
        == Self.first + "\n" + #"{"event":"e","channel":"news","repaired":true,"data":8}"# + "\n")
  }

  @Test(arguments: [
    ("exit 3", "the command ended with status 3"),
    ("echo nonsense", "line 1 of the command's output is not a JSON object with an event"),
    (
      "head -c 200000 /dev/zero",
      "the command printed more than 64 KiB; its output is ignored (--buffer sets the limit)"
    ),
  ])
  func `its failure is told, and the run goes on`(command: String, warning: String) throws {
    let result = try run(command, "-n", "2", "--buffer", "64k")
    #expect(result.outputText == "\(Self.first)\n\(Self.second)\n")
    #expect(result.errorText.contains("pusher-cli: warning: --on-gap: \(warning)\n"))
    #expect(result.ending == .exited(0))
  }

  @Test func `a command that hangs is ended after its time`() throws {
    let result = try run("echo '\(Self.first)'; sleep 600", "--on-gap-timeout", "10ms", "-n", "2")
    #expect(result.outputText == "\(Self.first)\n\(Self.second)\n")
    #expect(
      result.errorText.contains(
        "--on-gap: the command took longer than 10 ms; its output is ignored "
          + "(--on-gap-timeout sets the limit)"))
  }

  @Test func `pings are answered while it runs, and what comes meanwhile is printed after it`()
    throws
  {
    let answered = TemporaryFolder.shared.file("answered")
    let server = try ScriptedServer { connection in
      try connection.join()
      if connection.number == 1 { return try connection.send(event: "e", data: "1") }
      try connection.send(event: "e", data: "2")
      try connection.send(text: #"{"event":"pusher:ping","data":{}}"#)
      guard try connection.message()["event"]?.text == "pusher:pong" else {
        throw Unexpected("no pong")
      }
      try connection.ping([0x61])
      guard case .pong = try connection.event() else { throw Unexpected("no pong") }
      try "".write(toFile: answered, atomically: true, encoding: .utf8)
      try connection.stay()
    }
    let repaired = #"{"event":"m","channel":"news","repaired":true,"data":1}"#
    let result = try PusherCLI.start(
      ["subscribe"] + server.address
        + [
          "news", "--retry-max-delay", "10ms", "-n", "3", "--on-gap",
          "until [ -e \(answered) ]; do sleep 0.01; done; "
            + #"echo '{"event":"m","channel":"news","data":1}'"#,
        ]
    ).result()
    #expect(
      result.outputText == [Self.first, repaired, Self.second].joined(separator: "\n") + "\n")
    #expect(result.ending == .exited(0))
  }

  @Test
  func `a connection that is lost while it runs is another gap, and everything keeps its order`()
    throws
  {
    let lost = TemporaryFolder.shared.file("lost")
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "e", data: "\(connection.number)")
      if connection.number == 1 { return }
      if connection.number == 2 { return try connection.close(code: 4200) }
      try "".write(toFile: lost, atomically: true, encoding: .utf8)
      try connection.stay()
    }
    let result = try PusherCLI.start(
      ["subscribe"] + server.address
        + [
          "news", "--retry-max-delay", "10ms", "-n", "5", "--on-gap",
          "until [ -e \(lost) ]; do sleep 0.01; done; "
            + #"echo '{"event":"m","channel":"news","data":1}'"#,
        ]
    ).result()
    let events = try result.outputText.split(separator: "\n").map {
      try JSONParser.parse(String($0))["event"]?.text
    }
    #expect(events == ["e", "m", "e", "m", "e"], "\(result.outputText)")
    #expect(result.ending == .exited(0))
  }

  @Test func `more events than --buffer are left in the socket until it has ended`() throws {
    let begun = TemporaryFolder.shared.file("begun")
    let go = TemporaryFolder.shared.file("go")
    let server = try ScriptedServer { connection in
      try connection.join()
      if connection.number == 1 { return }
      for number in 0..<300 {
        try connection.send(event: "e", data: "[\(number),\(Flood.data)]")
      }
      try connection.stay()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address
        + [
          "news", "--retry-max-delay", "10ms", "-n", "300", "--buffer", "64k", "--on-gap",
          "echo >\(begun); until [ -e \(go) ]; do sleep 0.01; done",
        ])
    try program.errorLine(containing: "the command is slow: 64 KiB of events wait for it")
    try "".write(toFile: go, atomically: true, encoding: .utf8)
    let result = try program.result()
    let numbers = try result.outputText.split(separator: "\n").map {
      try JSONParser.parse(String($0))["data"]?.elements?.first?.integer
    }
    #expect(numbers == (0..<300).map { $0 })
    #expect(result.ending == .exited(0))
  }

  @Test func `a signal ends the command and the run`() throws {
    let started = TemporaryFolder.shared.file("started")
    let server = try server()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["news", "--retry-max-delay", "10ms", "--on-gap", "echo $$ >\(started); exec sleep 600"])
    try waitUntil("the command has begun") {
      try FileManager.default.fileExists(atPath: started)
        && !String(contentsOfFile: started, encoding: .utf8).isEmpty
    }
    program.send(SIGTERM)
    #expect(try program.result().ending == .signalled(SIGTERM))
    let id = try #require(
      pid_t(try String(contentsOfFile: started, encoding: .utf8).dropLast()))
    #expect(kill(id, 0) != 0)
  }
}

@Suite("--summary", .runsPrograms)
struct SummaryTests {
  @Test(arguments: [[], ["-q"], ["-o", "raw"]])
  func `the table of names stands at the end on standard error, the most bytes first`(
    options: [String]
  ) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "small", data: "1")
      try connection.send(event: "big\n", data: String(repeating: "x", count: 1000))
      try connection.send(event: "small", data: "2")
      try connection.stay()
    }
    let result = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "-n", "3", "--summary"] + options
    ).result()
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
    let result = try PusherCLI.start(["sse", server.url, "-n", "2", "--summary"]).result()
    #expect(result.errorText.contains("     1      5  message\n"))
    #expect(result.errorText.contains("     2      6  (all)\n"))
  }
}
