import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("The state file and failed output", .runsPrograms)
struct StateOutputTests {
  @Test func `a reader that goes leaves the id of the last line that the system took whole`()
    throws
  {
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    let program = try StoppedReader(["sse", server.url, "--state-file", state])
    try program.awaitFull()
    let lines = ProgramResult.wholeLines(try program.takeAndLeave())
    #expect(try program.end() == .signalled(SIGPIPE))
    #expect(StateText.id(state) == "\(lines.count)")
  }

  @Test(arguments: [[], ["-n", "90000"]])
  func `a run that is ended while nobody reads keeps the place of its last whole line`(
    options: [String]
  ) throws {
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    let program = try StoppedReader(["sse", server.url, "--state-file", state] + options)
    try program.awaitFull()
    kill(program.id, SIGTERM)
    #expect(try program.end() == .signalled(SIGTERM))
    #expect(StateText.id(state) == "\(ProgramResult.wholeLines(program.take()).count)")
  }

  @Test(.needs(.movedClock))
  func `a run whose time limit passes while nobody reads keeps the place of its last whole line`()
    throws
  {
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    // The time must not pass before the pipe is full.
    let clock = try MovedClock(standsStill: true)
    let program = try StoppedReader(
      ["sse", server.url, "--state-file", state, "-W", "1s"], environment: clock.environment())
    try program.awaitFull()
    #expect(try program.end(moving: clock) == .exited(6))
    #expect(StateText.id(state) == "\(ProgramResult.wholeLines(program.take()).count)")
  }

  @Test(.enabled(if: PusherCLI.bearsFileLimits, "ThreadSanitizer bears no limit on files"))
  func `a full disk leaves the id of the last whole line, and the torn one is ended`() throws {
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    let file = TemporaryFolder.shared.file("events")
    let arguments = ["sse", server.url, "--state-file", state]
    let full = try PusherCLI.appending(to: file) {
      try PusherCLI.limited(blocks: 101, arguments, output: $0)
    }
    let first = try full.result()
    #expect(first.ending == .exited(6))
    #expect(first.errorText.contains("cannot write to standard output: file too large"))
    let printed = Array(try Data(contentsOf: URL(filePath: file)))
    #expect(printed.count == 101 * 512)
    #expect(printed.last != 0x0A)
    let whole = ProgramResult.wholeLines(printed).count
    #expect(StateText.id(state) == "\(whole)")

    let second = try PusherCLI.appending(to: file) {
      try PusherCLI.start(arguments + ["-n", "10"], output: $0)
    }.result()
    #expect(second.ending == .exited(0))
    #expect(second.errorText.contains("ends in the middle of a line"))
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == whole + 1 + 10)
    #expect(lines.compactMap(NumberedStream.number) == Array(1...whole + 10))
  }

  @Test func `nothing is kept of what a device without room refused, and the status is 6`() throws {
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    let result = try PusherCLI.sse(
      server, "-n", "3", "--state-file", state, output: .file("/dev/full")
    ).result()
    #expect(result.ending == .exited(6))
    #expect(StateText.id(state) ?? "" == "")
  }

  @Test(arguments: ["", "{\"whole\":1}\n", "\n"])
  func `a file that ends with a whole line is added to as it is`(before: String) throws {
    let server = try NumberedStream.server()
    let file = try TemporaryFolder.shared.file("events", holding: before)
    let result = try PusherCLI.appending(to: file) {
      try PusherCLI.sse(
        server, "-n", "1", "--state-file", TemporaryFolder.shared.file("state"), output: $0)
    }.result()
    #expect(result.errorText.isEmpty)
    #expect(
      try String(contentsOfFile: file, encoding: .utf8) == before + NumberedStream.line(1) + "\n")
  }
}

@Suite("The state file, saved in time", .runsPrograms)
struct StateSavingTests {
  private static func server(_ gate: Gate, next: Gate? = nil) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let gate = connection.number == 1 ? gate : next ?? gate
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
    let gate = Gate()
    let nextGate = Gate()
    let server = try Self.server(gate, next: nextGate)
    let state = TemporaryFolder.shared.file("state")
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
    let state = TemporaryFolder.shared.file("state")
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
    let state = TemporaryFolder.shared.file("state")
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
    let state = TemporaryFolder.shared.file("state")
    let result = try PusherCLI.sse(server, "-n", "2", "--state-file", state).result()
    #expect(result.ending == .exited(0))
    #expect(result.errorText.contains("cannot save an event's id in the state file: \(reason)"))
    #expect(StateText.id(state) == "1")
  }
}

@Suite("The state file at the start", .runsPrograms)
struct StateStartTests {
  private func run(_ state: String, _ options: String...) throws -> ProgramResult {
    let server = try NumberedStream.server(last: 50)
    return try PusherCLI.run(
      ["sse", server.url, "-n", "1", "--state-file", state] + options)
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
    (String(repeating: "x", count: 300_000), "it is larger than 256 KiB"),
  ])
  func `a file that is no state file is refused and stays as it is`(text: String, reason: String)
    throws
  {
    let state = try TemporaryFolder.shared.file("state", holding: text)
    let result = try run(state)
    #expect(result.ending == .exited(2))
    #expect(result.errorText.contains(reason), "\(result.errorText)")
    #expect(try String(contentsOfFile: state, encoding: .utf8) == text)
  }

  @Test func `an empty file is told`() throws {
    let empty = try TemporaryFolder.shared.file("state", holding: "")
    let begun = try run(empty)
    #expect(begun.errorText.contains("is empty: starting without an id"))
    #expect(begun.outputText == NumberedStream.line(1) + "\n")
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
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.hasPrefix("pusher-cli state 1\nurl http://127.0.0.1:1/log\nquery "))
    #expect(text.hasSuffix("\nid \n"))
    #expect(state.id.isEmpty)
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
    #expect(try run("/a?token=secret").ending == .exited(0))
    let text = try String(contentsOfFile: state, encoding: .utf8)
    #expect(!text.contains("secret"))
    #expect(text.hasPrefix("pusher-cli state 1\nurl http://127.0.0.1:\(server.port)/a\nquery "))
    let sameQuery = try run("/a?token=secret")
    #expect(sameQuery.errorText.isEmpty)
    let otherQuery = try run("/a?token=other")
    #expect(otherQuery.errorText.contains("belongs to another query of"))
    #expect(otherQuery.outputText == NumberedStream.line(3) + "\n")
    let otherPath = try run("/b?token=other")
    #expect(otherPath.ending == .exited(2))
    #expect(otherPath.errorText.contains("belongs to http://127.0.0.1:\(server.port)/a; use"))
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
      let refused = try second()
      #expect(refused.ending == .exited(2))
      #expect(refused.errorText.contains("another run uses '\(state)'"))
    }
    first.send(SIGKILL)
    _ = try first.wait()
    #expect(try second().ending == .exited(0))
  }

  @Test func `what is no regular file is refused and stays what it is`() throws {
    let target = try TemporaryFolder.shared.file("target", holding: "1\n")
    let link = TemporaryFolder.shared.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    let fifo = TemporaryFolder.shared.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    for (path, what) in [
      (link, "is a symbolic link; give the name of the file itself"),
      (fifo, "is a pipe, not a file"), (TemporaryFolder.shared.path, "is a folder, not a file"),
    ] {
      let result = try run(path)
      #expect(result.ending == .exited(2))
      #expect(result.errorText.contains(what), "\(result.errorText)")
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "1\n")
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
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "mine")
    #expect(StateText.id(state) == "1")
    let bits = try FileManager.default.attributesOfItem(atPath: state)[.posixPermissions] as? Int
    #expect(bits == 0o600)
  }
}
