import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// The program's own output file, which may be moved away at any time.
@Suite("--output-file", .runsPrograms)
struct OutputFileTests {
  private let path = TemporaryFolder.shared.file("events")

  private func lines(_ path: String, _ count: Int = 0) throws -> [String] {
    try waitFor("\(path) has \(count) lines") {
      let lines = (try? SystemFile.text(path))?.split(separator: "\n").map(String.init)
      return lines.flatMap { $0.count >= count ? $0 : nil }
    }
  }

  private func subscribe(_ server: LocalServer, _ options: String...) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "--output-file", path] + options,
      environment: LocalServer.environment())
  }

  private func line(_ number: Int) -> String {
    #"{"event":"e","channel":"news","data":\#(number)}"#
  }

  @Test func `what would be printed is added to the file; standard output stays empty`() throws {
    try "earlier\n".write(toFile: path, atomically: true, encoding: .utf8)
    let server = try LocalServer()
    let program = try subscribe(server, "-L", "-n", "2")
    _ = try lines(path, 3)
    for number in 1...2 { _ = try server.trigger("news", "e", "\(number)") }
    try program.result().expect(0, prints: "")
    let all = try lines(path)
    #expect(all[0] == "earlier" && all[1].contains("connection_established"))
    #expect(Array(all[3...4]) == [line(1), line(2)])
    #expect(all.last?.contains("pusher-cli:exit") == true && all.count == 6)
  }

  @Test func `a file that is made is its owner's, and standard output may be closed`() throws {
    let server = try ScriptedServer.joined { try $0.send(event: "e", data: "1") }
    try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--output-file", path, output: .closed
    ).result().expect(0)
    #expect(try SystemFile.mode(path) == 0o600)
    #expect(try lines(path).count == 1)
  }

  @Test func `a line that an earlier run could not end is ended, and told`() throws {
    try #"{"event":"to"#.write(toFile: path, atomically: true, encoding: .utf8)
    let server = try LocalServer()
    let program = try subscribe(server, "-L", "-n", "1")
    _ = try lines(path, 3)
    _ = try server.trigger("news", "e", "1")
    let result = try program.result()
    #expect(result.errorText.contains("'\(path)' ends in the middle of a line"))
    #expect(try lines(path)[0] == #"{"event":"to"#)
    #expect(try lines(path).contains(line(1)))
  }

  // MARK: SIGHUP

  @Test func `sse goes on after SIGHUP too, and ends by it without a file of ours`() throws {
    let gate = Gate()
    let server = try ScriptedServer.streaming { connection in
      try connection.send(stream: "data: 1\n\n")
      try connection.wait(for: gate)
      try connection.send(stream: "data: 2\n\n")
    }
    let program = try PusherCLI.start(["sse", server.url, "--output-file", path, "-n", "2", "-v"])
    _ = try lines(path, 1)
    program.send(SIGHUP)
    try program.errorLine(containing: "reopened \(path)")
    gate.open()
    #expect(try program.wait() == .exited(0))
    #expect(try lines(path).count == 2)

    let plain = try PusherCLI.start(["sse", server.url])
    _ = try plain.line()
    plain.send(SIGHUP)
    #expect(try plain.wait() == .signalled(SIGHUP))
  }

  @Test func `where the name cannot be opened any more the former file is kept`() throws {
    let folder = TemporaryFolder.shared.file("folder")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let server = try LocalServer()
    let program = try server.start(
      "subscribe", "news", "-L", "--output-file", "\(folder)/events", "-n", "1")
    _ = try lines("\(folder)/events", 2)
    #expect(rename(folder, "\(folder).moved") == 0)
    program.send(SIGHUP)
    #expect(try program.errorLine(containing: "SIGHUP").hasSuffix("still writing to the old file"))
    _ = try server.trigger("news", "e", "1")
    #expect(try program.wait() == .exited(0))
    #expect(try lines("\(folder).moved/events").contains(line(1)))
  }

  // MARK: Failures

  @Test(.enabled(if: PusherCLI.bearsFileLimits))
  func `a file that takes no more ends the run with 6; the next ends its last line`() throws {
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<200 { try connection.send(event: "e", data: #""0123456789""#) }
    }
    let arguments = ["subscribe"] + server.address + ["news", "--output-file", path]
    let limited = try PusherCLI.limited(blocks: 2, arguments, output: .pipe).result()
    limited.expect(6, telling: "cannot write to '\(path)': ")
    let cut = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(cut.count == 1024 && cut.last != 0x0A)
    try PusherCLI.run(arguments + ["-n", "200"]).expect(0, telling: "in the middle of a line")
    let all = try lines(path)
    let torn = all.filter { !$0.hasSuffix("}") }
    #expect(torn.count == 1 && all.count(where: { $0.hasSuffix("}") }) >= 200)
  }

  /// A service manager does not restart after a usage error.
  @Test(.enabled(if: PusherCLI.bearsFileLimits))
  func `a start ends with 6 while the disk has no room to end the torn line`() throws {
    try String(repeating: "x", count: 1024).write(toFile: path, atomically: true, encoding: .utf8)
    let arguments = ["subscribe", "--local", "news", "--output-file", path]
    let result = try PusherCLI.limited(blocks: 2, arguments, output: .pipe).result()
    result.expect(6, telling: "cannot write to '\(path)': ")
  }

  @Test func `a folder, a pipe, a device and a link are refused`() throws {
    let (folder, link) = (TemporaryFolder.shared.path, path + "l")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    for name in [folder, try NamedPipe().path, link, "/dev/null", "\(path)/none/events"] {
      try PusherCLI.run("subscribe", "--local", "news", "--output-file", name)
        .expect(2, telling: "--output-file: cannot write '\(name)': ")
    }
  }

  // MARK: One file a name

  private func pattern(_ name: String) throws -> FilePattern {
    let folder = try TemporaryFolder.shared.folder("names")
    return try #require(try FilePattern("\(folder)/\(name)", openLimit: 1))
  }

  private func names(_ pattern: FilePattern) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: pattern.folder).sorted()
  }

  @Test func `names that differ have paths that differ, all inside the folder`() throws {
    let pattern = try pattern("%c")
    let long = String(repeating: "a", count: 101)
    // The last name would have the long one's path, if that had no mark of its own.
    let all: [String?] = [
      nil, "", ".", "..", "../x", "a/b", "a%2Fb", "a\0b", "A", "a", "%none", "%empty", "%other",
      "none", "é", "e\u{301}", #"App\Events\X"#, "private-orders.1", long, long + "b",
      String(repeating: "/", count: 60), String(pattern.path(of: long).suffix(100)),
    ]
    for name in all {
      let path = pattern.path(of: name)
      _ = try OutputFile(path, terminator: 0x0A) { Issue.record("\($0)") }
      #expect(path.utf8.count - pattern.folder.utf8.count <= FilePattern.nameLimit, "\(path)")
    }
    let made = try names(pattern)
    #expect(made.count == all.count && made.allSatisfy { !$0.hasPrefix(".") })
    #expect(Set(["%2E.", "a%2Fb", "App%5CEvents%5CX", "private-orders.1"]).isSubset(of: made))
  }

  @Test func `one of many files is open, lines keep their order, further names share one`() throws {
    let pattern = try pattern("%e.txt")
    var warnings: [String] = []
    let files = try NamedFiles(pattern, terminator: 0x0A, isSynchronized: true) {
      warnings.append($0)
    }
    let queue = OutputQueue(descriptor: OutputDescriptor(files), limit: 65_536)
    func add(_ name: Int, _ text: String) {
      queue.buffer.append(Array("\(text)\n".utf8))
      files.assign(channel: nil, event: "\(name)", size: queue.buffer.count)
    }
    for name in 1...103 { add(name, "a") }
    for text in ["b", "c"] { add(1, text) }
    queue.flush()
    #expect(queue.isSettled && queue.written == 210)
    #expect(try names(pattern).count == 101)
    #expect(try fileText(pattern.shared) == "a\na\na\n")
    #expect(warnings.count == 1 && warnings[0].contains(": 100 different files; "))
    let first = pattern.path(of: "1")
    #expect(rename(first, first + ".old") == 0)
    // Waiting lines are still of the old file.
    add(1, "d")
    try queue.reopen { warnings.append($0) }
    for name in 1...2 { add(name, "e") }
    queue.flush()
    #expect(try fileText(first + ".old") == "a\nb\nc\nd\n" && fileText(first) == "e\n")
    #expect(try fileText(pattern.path(of: "2")) == "a\ne\n")
  }

  @Test func `each channel has its file; one that cannot be opened ends the run with 6`() throws {
    let pattern = try pattern("%c.d")
    let events = [("e", "news", "1"), ("f", "a.b", "2"), ("e", "news", "3")]
    let server = try Hooked.server(events[0], events[1], events[2])
    let options = ["-L", "-n", "3", "--output-file", pattern.text]
    try PusherCLI.run(["subscribe"] + server.address + ["news", "a.b"] + options)
      .expect(0, prints: "")
    #expect(try names(pattern) == ["%none.d", "a.b.d", "news.d"])
    #expect(try lines(pattern.path(of: "news")).suffix(2) == [line(1), line(3)])
    #expect(try lines(pattern.path(of: nil)).last?.contains("pusher-cli:exit") == true)
    let stream = try ScriptedServer.streaming("event: a/b\ndata: 1\n\nevent: c\ndata: 2\n\n")
    mkdir(pattern.path(of: "c"), 0o700)
    let (text, reason) = (pattern.folder + "%e.d", "\(pattern.path(of: "c"))': it is a folder")
    try PusherCLI.sse(stream, "-n", "2", "--output-file", text).result()
      .expect(6, telling: "cannot write to '\(text)': '\(reason)")
    #expect(try lines(pattern.path(of: "a/b")).count == 1)
  }

  // MARK: --sync

  @Test func `what was written is brought to disk after the time, once`() throws {
    let loop = try EventLoop()
    let file = try OutputFile(path, terminator: 0x0A, warn: { _ in })
    let queue = OutputQueue(descriptor: OutputDescriptor(file), limit: 65_536)
    let sync = DiskSync(queue, every: .milliseconds(1), on: loop)
    var failures: [OutputQueue.Failure] = []
    queue.onFailure = {
      failures.append($0)
      loop.stop()
    }
    // Nothing was written, so no disk is synchronised.
    sync.note()
    sync.finish()
    queue.buffer.append("a\n")
    queue.flush()
    // A pipe has no disk and reports that.
    let (reading, writing) = try Spawn.pipe()
    defer { close(reading) }
    #expect(dup2(writing, file.descriptor) >= 0)
    close(writing)
    #expect(failures.isEmpty)
    sync.note()
    sync.note()
    let late = LoopTimer(deadline: loop.now.advanced(by: .seconds(30))) { loop.stop() }
    loop.add(late)
    loop.run()
    #expect(failures == [.system(SystemError(code: EINVAL))])
  }
}
