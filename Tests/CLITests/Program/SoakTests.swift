import Foundation
import PusherCore
import Testing

/// Hours in minutes: many reconnects with traffic between them, and their cost.
///
/// `MINUTES=n scripts/endurance.sh soak` runs it and sets `PUSHER_CLI_SOAK_MINUTES`. Figures go to
/// standard output.
@Suite("Endurance", .runsPrograms) struct SoakTests {
  private static let minutes = ProcessInfo.processInfo.environment["PUSHER_CLI_SOAK_MINUTES"]
    .flatMap { Double($0) }

  private struct Progress {
    var connections = 0
    var events = 0
    var isOver = false
  }

  private struct Footprint: CustomStringConvertible {
    var descriptors: Int
    var memory: Int

    init(_ program: ChildProgram, _ monitor: Monitored) throws {
      descriptors = try monitor.descriptors()
      let status = try SystemFile.text("/proc/\(program.id)/status")
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
      memory = line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }

    var description: String { "\(descriptors) descriptors, RSS \(memory) KiB" }
  }

  private static let small = FrameBlock(count: 500)
  private static let large = FrameBlock(count: 2000)

  private static func play(_ connection: ScriptedConnection, _ progress: Locked<Progress>) throws {
    try connection.join(deflate: connection.number % 2 == 0)
    // Every hundredth connection lives longer and carries more.
    let blocks = connection.number % 100 == 0 ? 50 : 1
    let block = blocks > 1 ? large : small
    for _ in 0..<blocks {
      try connection.send(bytes: block.bytes)
      progress.withLock { $0.events += block.count }
    }
    if progress.withLock({ $0.isOver }) {
      try connection.send(event: "end", data: "{}")
      try connection.stay()
    }
    progress.withLock { $0.connections += 1 }
    switch connection.number % 4 {
    case 0: try connection.close(code: 4200)
    case 1: try connection.close(code: 1001)
    case 2:
      try connection.send(text: #"{"event":"pusher:error","data":{"code":4201,"message":"soak"}}"#)
      connection.end()
    default: connection.end()
    }
  }

  @Test(.enabled(if: minutes != nil, "PUSHER_CLI_SOAK_MINUTES is not set"))
  func `descriptors and memory stay what they were`() throws {
    let minutes = try #require(Self.minutes)
    let progress = SharedProgress()
    let server = try ScriptedServer { try Self.play($0, progress.value) }
    let port = try Loopback.closedPort()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "news", "-q", "--retry-max-delay", "10ms", "--metrics", "127.0.0.1:\(port)",
      ], output: .file("/dev/null"))
    let monitor = Monitored(port: port)
    let begin = SystemClock.now()
    func say(_ what: String, _ footprint: Footprint) {
      let (connections, events) = progress.value.withLock { ($0.connections, $0.events) }
      let seconds = Int(begin.duration(to: SystemClock.now()).inSeconds)
      print("soak: \(what) \(seconds) s, \(connections) reconnects, \(events) events, \(footprint)")
      fflush(nil)
    }
    // The first connections fill caches and grow buffers.
    while progress.value.withLock({ $0.connections < 300 }) {
      guard begin.duration(to: SystemClock.now()) < .seconds(60) else { throw Late("no traffic") }
      usleep(10_000)
    }
    let start = try Footprint(program, monitor)
    say("start", start)
    var nextReport = SystemClock.now().advanced(by: .seconds(60))
    var worst = start
    while begin.duration(to: SystemClock.now()).inSeconds < minutes * 60 {
      usleep(200_000)
      let footprint = try Footprint(program, monitor)
      worst.descriptors = max(worst.descriptors, footprint.descriptors)
      worst.memory = max(worst.memory, footprint.memory)
      if SystemClock.now() >= nextReport {
        nextReport = nextReport.advanced(by: .seconds(60))
        say("after", footprint)
      }
    }
    let end = try Footprint(program, monitor)
    say("end", end)
    print("soak: most at any moment \(worst)")
    program.send(SIGUSR1)
    print("soak: \(try program.errorLine(containing: " events"))")
    let metrics = try monitor.ask("/metrics").body
    for name in ["events", "connections", "gaps", "gap_seconds"] {
      let line = metrics.split(separator: "\n").first { $0.hasPrefix("pusher_cli_\(name)_total ") }
      print("soak: \(line ?? "no \(name)")")
    }
    progress.value.withLock { $0.isOver = true }
    try program.end()
    #expect(end.descriptors <= start.descriptors + 1)
    #expect(end.memory <= start.memory + 2048, "\(start) became \(end)")
  }

  private static let sleep = ProcessInfo.processInfo.environment["PUSHER_CLI_SOAK_SLEEP"]
    .flatMap(UInt32.init)

  @Test(.enabled(if: sleep != nil, "PUSHER_CLI_SOAK_SLEEP is not set"))
  func `a program that is stopped for minutes by the clock on the wall goes on`() throws {
    let seconds = try #require(Self.sleep)
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L", "--retry-max-delay", "50ms")
    try #expect(server.trigger("news", "e", "\"before\"").ending == .exited(0))
    #expect(try program.line() == #"{"event":"e","channel":"news","data":"before"}"#)
    program.stop()
    Foundation.sleep(seconds / 2)
    try #expect(server.trigger("news", "e", "\"meanwhile\"").ending == .exited(0))
    Foundation.sleep(seconds - seconds / 2)
    program.send(SIGCONT)
    var lines: [String] = []
    repeat {
      usleep(100_000)
      _ = try server.trigger("news", "e", "\"after\"")
      lines.append(try program.line())
    } while lines.last?.contains("after") == false
    for line in lines { print("soak: stopped for \(seconds) s: \(line)") }
    // Events before the server gave up are printed, and possible losses are reported.
    let hasMeanwhile = lines.contains { $0.contains("meanwhile") }
    #expect(hasMeanwhile || lines.contains { $0.contains("pusher-cli:gap") })
  }

  private final class SharedProgress: Sendable {
    let value = Locked(Progress())
  }
}
