import Foundation
import PusherCore
import TestSupport
import Testing

/// Runs with a state file that end in every way at random moments: lost and repeated events.
///
/// `PUSHER_CLI_STATE_RUNS=full` does 200 killed runs, 50 on a full disk and 50 whose reader leaves.
/// `PUSHER_CLI_STATE_SEED` sets the seed. Figures go to standard output.
@Suite("Runs that go on where the last one ended", .serialized, .runsProgramsFirst)
struct StateRunTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let isFull = environment["PUSHER_CLI_STATE_RUNS"] == "full"
  private static let seed =
    environment["PUSHER_CLI_STATE_SEED"].flatMap { UInt64($0) } ?? 20_261_121

  private struct Tally {
    var lines = 0
    var torn = 0
    var doubled = 0
    var lost = 0
    var strange: [String] = []
    /// Maximum time, in seconds, between the printing of a repeated line and the end of its run.
    var oldest = 0.0

    init(_ text: String, ends: [Double] = []) {
      var seen: [Int: Double] = [:]
      var last = 0
      for line in text.split(separator: "\n") {
        guard let number = NumberedStream.number(of: line) else {
          if NumberedStream.isTorn(line) { torn += 1 } else { strange.append(String(line)) }
          continue
        }
        lines += 1
        if let time = seen[number] {
          doubled += 1
          if let end = ends.first(where: { $0 >= time }) { oldest = max(oldest, end - time) }
        }
        seen[number] = NumberedStream.time(of: line) ?? 0
        last = max(last, number)
      }
      lost = last - seen.count
    }
  }

  private func report(_ what: String, _ runs: Int, _ tally: Tally) {
    print(
      "state runs: seed \(Self.seed), \(runs) \(what): \(tally.lines) whole lines, lost \(tally.lost), "
        + "doubled \(tally.doubled), torn \(tally.torn)"
        + (tally.oldest > 0
          ? ", doubled at most \(Int(tally.oldest * 1000)) ms before the end" : ""))
    #expect(tally.lost == 0)
    #expect(tally.strange == [])
    #expect(tally.lines > runs)
  }

  @Test func `runs killed at random lose nothing and repeat at most the last second`() throws {
    let runs = Self.isFull ? 200 : 24
    var random = SeededGenerator(seed: Self.seed)
    let server = try NumberedStream.server(pause: 500)
    let state = TemporaryFolder.shared.file("state")
    let file = TemporaryFolder.shared.file("events")
    let arguments = ["sse", server.url, "-t", "--state-file", state]
    var ends: [Double] = []
    var torn = 0
    for _ in 0..<runs {
      let program = try PusherCLI.appending(to: file) {
        try PusherCLI.start(arguments, output: $0)
      }
      usleep(UInt32(5000 + random.below(Self.isFull ? 1_500_000 : 300_000)))
      program.send([SIGKILL, SIGKILL, SIGKILL, SIGTERM, SIGINT][random.below(5)])
      let result = try program.result()
      ends.append(Date().timeIntervalSince1970)
      if result.errorText.contains("middle of a line") { torn += 1 }
      #expect(!result.errorText.contains("error"), "\(result.errorText)")
    }
    let tally = Tally(try SystemFile.text(file), ends: ends)
    report("killed", runs, tally)
    #expect(tally.torn <= torn + 1)
    // A busy machine adds to the second.
    #expect(tally.oldest < (Self.isFull ? 1.1 : 10))
  }

  @Test(.enabled(if: PusherCLI.bearsFileLimits, "ThreadSanitizer bears no limit on files"))
  func `runs on a disk that is full again and again lose nothing`() throws {
    let runs = Self.isFull ? 50 : 8
    var random = SeededGenerator(seed: Self.seed &+ 1)
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    let file = TemporaryFolder.shared.file("events")
    var blocks = 0
    for _ in 0..<runs {
      blocks += 20 + random.below(200)
      let program = try PusherCLI.appending(to: file) {
        try PusherCLI.limited(
          blocks: blocks, ["sse", server.url, "-L", "--state-file", state], output: $0)
      }
      #expect(try program.wait() == .exited(6))
    }
    let tally = Tally(Self.withoutLifecycle(try SystemFile.text(file)))
    report("with a full disk (a limit on files)", runs, tally)
    // A line without its end is completed by the next run, and repeated.
    #expect(tally.doubled + tally.torn <= runs)
    #expect(tally.doubled <= 1 + runs / 10)
  }

  /// The disk has no room for events or the state file.
  @Test(.enabled(if: isFull && geteuid() == 0, "needs root and PUSHER_CLI_STATE_RUNS=full"))
  func `runs on a small file system of their own lose nothing`() throws {
    let runs = 50
    var random = SeededGenerator(seed: Self.seed &+ 2)
    let server = try NumberedStream.server()
    let folder = TemporaryFolder.shared.file("disk")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    var size = 64
    _ = try PusherCLI.tool(["mount", "-t", "tmpfs", "-o", "size=\(size)k", "tmpfs", folder])
    defer { _ = try? PusherCLI.tool(["umount", folder]) }
    for _ in 0..<runs {
      size += 12 + random.below(100)
      let mounted = try PusherCLI.tool(["mount", "-o", "remount,size=\(size)k", folder])
      try #require(mounted.ending == .exited(0), "\(mounted.errorText)")
      let program = try PusherCLI.appending(to: folder + "/events") {
        try PusherCLI.start(["sse", server.url, "--state-file", folder + "/state"], output: $0)
      }
      #expect(try program.wait() == .exited(6))
    }
    let tally = Tally(try SystemFile.text(folder + "/events"))
    report("with a full disk (a file system that holds the state file too)", runs, tally)
  }

  @Test func `runs whose reader goes lose nothing and double nothing`() throws {
    let runs = Self.isFull ? 50 : 8
    var random = SeededGenerator(seed: Self.seed &+ 3)
    let server = try NumberedStream.server()
    let state = TemporaryFolder.shared.file("state")
    var text = ""
    for _ in 0..<runs {
      let program = try StoppedReader(["sse", server.url, "--state-file", state])
      var taken: [UInt8] = []
      for _ in 0..<(1 + random.below(5)) {
        try program.awaitBytes(Int32(1 + random.below(300_000)))
        taken += program.take()
      }
      taken += try program.takeAndLeave()
      #expect(try program.end() == .signalled(SIGPIPE))
      text += ProgramResult.wholeLines(taken).joined(separator: "\n") + "\n"
    }
    let tally = Tally(text)
    report("whose reader went", runs, tally)
    #expect(tally.doubled == 0)
  }

  private static func withoutLifecycle(_ text: String) -> String {
    text.split(separator: "\n").filter { !$0.hasPrefix(#"{"event":"pusher-cli:"#) }
      .joined(separator: "\n")
  }
}
