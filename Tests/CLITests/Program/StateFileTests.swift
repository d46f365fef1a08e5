import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("The state file and failed output", .runsPrograms)
struct StateOutputTests {
  private let state = TemporaryFolder.shared.file("state")

  /// What ends a run whose output nobody reads.
  enum Cause: CaseIterable { case reader, signal, signalBeforeCount, timeLimit }

  @Test(.needs(.movedClock), arguments: Cause.allCases)
  func `a run that ends while nobody reads keeps the id of the last line that was taken whole`(
    cause: Cause
  ) throws {
    let server = try NumberedStream.server()
    // The time must not pass before the pipe is full.
    let clock = try MovedClock(standsStill: true)
    let options =
      switch cause {
      case .signalBeforeCount: ["-n", "90000"]
      case .timeLimit: ["-W", "1s"]
      default: [String]()
      }
    let program = try StoppedReader(
      ["sse", server.url, "--state-file", state] + options,
      environment: cause == .timeLimit ? clock.environment() : [:])
    try program.awaitFull()
    let output: [UInt8]
    switch cause {
    case .reader:
      output = try program.takeAndLeave()
      #expect(try program.end() == .signalled(SIGPIPE))
    case .signal, .signalBeforeCount:
      kill(program.id, SIGTERM)
      #expect(try program.end() == .signalled(SIGTERM))
      output = program.take()
    case .timeLimit:
      #expect(try program.end(moving: clock) == .exited(6))
      output = program.take()
    }
    #expect(StateText.id(state) == "\(ProgramResult.wholeLines(output).count)")
  }

  @Test(.enabled(if: PusherCLI.bearsFileLimits, "ThreadSanitizer bears no limit on files"))
  func `a full disk leaves the id of the last whole line, and the torn one is ended`() throws {
    let server = try NumberedStream.server()
    let file = TemporaryFolder.shared.file("events")
    let arguments = ["sse", server.url, "--state-file", state]
    let full = try PusherCLI.appending(to: file) {
      try PusherCLI.limited(blocks: 101, arguments, output: $0)
    }
    try full.result().expect(6, telling: "cannot write to standard output: file too large")
    let printed = Array(try Data(contentsOf: URL(filePath: file)))
    #expect(printed.count == 101 * 512 && printed.last != 0x0A)
    let whole = ProgramResult.wholeLines(printed).count
    #expect(StateText.id(state) == "\(whole)")

    let second = try PusherCLI.appending(to: file) {
      try PusherCLI.start(arguments + ["-n", "10"], output: $0)
    }.result()
    second.expect(0, telling: "ends in the middle of a line")
    let lines = try SystemFile.text(file).split(separator: "\n")
    #expect(lines.count == whole + 1 + 10)
    #expect(lines.compactMap(NumberedStream.number) == Array(1...whole + 10))
  }

  @Test func `nothing is kept of what a device without room refused, and the status is 6`() throws {
    let server = try NumberedStream.server()
    try PusherCLI.sse(
      server, "-n", "3", "--state-file", state, output: .file("/dev/full")
    ).result().expect(6)
    #expect(StateText.id(state) ?? "" == "")
  }

  @Test(arguments: ["", "{\"whole\":1}\n", "\n"])
  func `a file that ends with a whole line is added to as it is`(before: String) throws {
    let server = try NumberedStream.server()
    let file = try TemporaryFolder.shared.file("events", holding: before)
    let result = try PusherCLI.appending(to: file) {
      try PusherCLI.sse(server, "-n", "1", "--state-file", state, output: $0)
    }.result()
    #expect(result.errorText.isEmpty)
    #expect(try SystemFile.text(file) == before + NumberedStream.line(1) + "\n")
  }
}

@Suite("The state file, saved in time", .runsPrograms)
struct StateSavingTests {
  private let state = TemporaryFolder.shared.file("state")

  private static func server(_ gates: Gate...) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let gate = gates[min(connection.number, gates.count) - 1]
      let question = try connection.beginStream()
      var next = (question.head.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0) + 1
      while true {
        try connection.wait(for: gate)
        try connection.send(stream: NumberedStream.event(next))
        next += 1
      }
    }
  }

  @Test func `what came before a silence is saved in the silence`() throws {
    let (gate, nextGate) = (Gate(), Gate())
    let server = try Self.server(gate, nextGate)
    let program = try PusherCLI.sse(server, "--state-file", state)
    for number in 1...5 {
      gate.open()
      _ = try program.line()
      if number == 1 { try StateText.await("1", in: state) }
    }
    try StateText.await("5", in: state)
    program.send(SIGKILL)
    _ = try program.wait()
    let next = try PusherCLI.sse(server, "--state-file", state)
    nextGate.open()
    #expect(try next.line() == NumberedStream.line(6))
  }

  @Test func `a save that fails is told once and tried again`() throws {
    let gate = Gate()
    let server = try Self.server(gate)
    let program = try PusherCLI.sse(server, "--state-file", state, "-v")
    gate.open()
    try StateText.await("1", in: state)
    // A folder with the name of the draft.
    let obstacle = state + ".pusher-cli-draft"
    try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
    gate.open()
    try program.errorLine(containing: "warning: cannot save the last event's id")
    try FileManager.default.removeItem(atPath: obstacle)
    try StateText.await("2", in: state)
    try program.errorLine(containing: "saving the last event's id works again")
  }

  @Test func `a block without data moves the id too`() throws {
    let server = try ScriptedServer.streaming("id: 1\ndata: 1\n\nid: 2\n\n")
    let program = try PusherCLI.sse(server, "--state-file", state)
    _ = try program.line()
    try StateText.await("2", in: state)
  }

  @Test(arguments: [
    ("a\u{1}b", "it has a control character"),
    (String(repeating: "x", count: 16_385), "it has 16385 bytes, more than the limit of 16384"),
  ])
  func `an id that cannot be kept is told, and the file stays at the one before`(
    id: String, reason: String
  ) throws {
    let server = try ScriptedServer.streaming("id: 1\ndata: 1\n\nid: \(id)\ndata: 2\n\n")
    let result = try PusherCLI.sse(server, "-n", "2", "--state-file", state).result()
    result.expect(0, telling: "cannot save an event's id in the state file: \(reason)")
    #expect(StateText.id(state) == "1")
  }
}

@Suite("The state file at the start", .runsPrograms)
struct StateStartTests {
  private func run(_ state: String, _ options: String...) throws -> ProgramResult {
    let server = try NumberedStream.server(last: 50)
    return try PusherCLI.run(["sse", server.url, "-n", "1", "--state-file", state] + options)
  }

  @Test(arguments: [
    ("1\n", "its first line is not 'pusher-cli state 1'"), ("1\u{0}\n", "it has a NUL byte"),
    ("pusher-cli state 1\nurl http://a/\nid a\u{7}b\n", "it has a control character"),
    (
      "pusher-cli state 1\nurl http://a/\nid " + String(repeating: "x", count: 17_000),
      "it has 17000 bytes, more than the limit of 16384"
    ),
    ("pusher-cli state 2\nid 5\n", "it has version 2"),
    ("pusher-cli state 1\nurl http://a/\n", "its id or URL is missing"),
    (
      "pusher-cli state 1\nurl http://a/\nposition {\"channel\":\"o\",\"ser",
      "a position in it is invalid"
    ),
    (
      "pusher-cli state 1\nurl http://a/\n"
        + "position {\"channel\":\"o\",\"serial\":9007199254740993}\nid \n",
      "a position in it is invalid"
    ),
    (String(repeating: "x", count: 9_000_000), "it is larger than 8192 KiB"),
  ])
  func `a file that is no state file is refused and stays as it is`(text: String, reason: String)
    throws
  {
    let state = try TemporaryFolder.shared.file("state", holding: text)
    try run(state).expect(2, telling: reason)
    #expect(try SystemFile.text(state) == text)
  }

  @Test func `an empty file is told`() throws {
    try run(TemporaryFolder.shared.file("state", holding: "")).expect(
      0, prints: NumberedStream.line(1) + "\n", telling: "is empty: starting without an id")
  }

  @Test func `a file that is made has its content from its first moment, and nothing beside it`()
    throws
  {
    let folder = TemporaryFolder.shared.file("states")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = "\(folder)/state"
    // Nothing can replace the file then, so it had this content from its first moment.
    let draft = "\(path).pusher-cli-draft"
    try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: true)
    let url = try HTTPURL(parsing: "http://127.0.0.1:1/log?secret")
    let state = try StateFile(path, url: url) { Issue.record("\($0)") }
    let text = try SystemFile.text(path)
    #expect(text.hasPrefix("pusher-cli state 1\nurl http://127.0.0.1:1/log\nquery "))
    #expect(text.hasSuffix("\nid \n"))
    #expect(state.place.id.isEmpty)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == [
        "state", "state.pusher-cli-draft",
      ])
    #expect(throws: UsageError.self, "it is locked from that moment too") {
      _ = try StateFile(path, url: url) { _ in }
    }
  }

  @Test func `a name that is taken while a file is made is left to who took it`() throws {
    let path = TemporaryFolder.shared.file("taken")
    let made = FileReplacement.establish(path, with: [1], draft: "\(path).new") { _ in
      FileManager.default.createFile(atPath: path, contents: Data([2]))
    }
    #expect(made == .failure(SystemError(code: EEXIST)))
    #expect(FileManager.default.contents(atPath: path) == Data([2]))
    #expect(!FileManager.default.fileExists(atPath: "\(path).new"))
  }

  @Test func `a state file belongs to a URL, whose query may change with a warning`() throws {
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    func run(_ path: String) throws -> ProgramResult {
      let url = server.url.replacing("/stream", with: path)
      return try PusherCLI.run("sse", url, "-n", "1", "--state-file", state)
    }
    try run("/a?token=secret").expect(0)
    let place = "http://127.0.0.1:\(server.port)/a"
    let text = try SystemFile.text(state)
    #expect(!text.contains("secret"))
    #expect(text.hasPrefix("pusher-cli state 1\nurl \(place)\nquery "))
    try run("/a?token=secret").expect(0, says: "")
    try run("/a?token=other").expect(
      0, prints: NumberedStream.line(3) + "\n", telling: "belongs to another query of")
    try run("/b?token=other").expect(2, telling: "belongs to \(place); use")
    #expect(StateText.id(state) == "3")
  }

  @Test func `two runs cannot share one, also after it was replaced`() throws {
    let server = try NumberedStream.server(pause: 20_000)
    let state = TemporaryFolder.shared.file("state")
    let first = try PusherCLI.sse(server, "--state-file", state)
    func second() throws -> ProgramResult {
      try PusherCLI.run("sse", server.url, "-n", "1", "--state-file", state)
    }
    for _ in 1...3 {
      let before = StateText.id(state) ?? ""
      while StateText.id(state) ?? "" == before { _ = try first.line() }
      try second().expect(2, telling: "another run uses '\(state)'")
    }
    first.send(SIGKILL)
    _ = try first.wait()
    #expect(try second().ending == .exited(0))
  }

  @Test func `what is no regular file is refused and stays what it is`() throws {
    let target = try TemporaryFolder.shared.file("target", holding: "1\n")
    let link = TemporaryFolder.shared.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    for (path, what) in [
      (link, "is a symbolic link; give the name of the file itself"),
      (try NamedPipe().path, "is a pipe, not a file"),
      (TemporaryFolder.shared.path, "is a folder, not a file"),
    ] { try run(path).expect(2, telling: what) }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    #expect(try SystemFile.text(target) == "1\n")
  }

  @Test
  func `a state file is the owner's alone, and a link in the place of its draft is not followed`()
    throws
  {
    let state = TemporaryFolder.shared.file("state")
    let victim = try TemporaryFolder.shared.file("victim", holding: "mine")
    let draft = state + ".pusher-cli-draft"
    try FileManager.default.createSymbolicLink(atPath: draft, withDestinationPath: victim)
    #expect(try run(state).ending == .exited(0))
    #expect(try SystemFile.text(victim) == "mine")
    #expect(StateText.id(state) == "1")
    #expect(try SystemFile.mode(state) == 0o600)
  }
}
