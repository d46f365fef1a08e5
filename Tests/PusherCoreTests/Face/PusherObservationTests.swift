import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Logs and metrics` {
  private final class Log: PusherLogger {
    let lines = Gathered<String>()
    let lowest: PusherLogLevel

    init(_ lowest: PusherLogLevel = .trace) { self.lowest = lowest }

    func log(_ level: PusherLogLevel, _ message: () -> String) {
      if level >= lowest { lines.add("\(level.rawValue): \(message())") }
    }
  }

  private final class Counts: PusherMetrics {
    private let counts = Locked<[PusherCount: Int]>([:])
    var values: [PusherCount: Int] { counts.withLock { $0 } }

    func count(_ what: PusherCount, by amount: Int) {
      counts.withLock { $0[what, default: 0] += amount }
    }
  }

  let service: LocalService
  init() throws { service = try LocalService() }

  private func client(_ log: Log? = nil, _ counts: Counts? = nil) -> Pusher {
    service.signingPusher {
      $0.logger = log
      $0.metrics = counts
    }
  }

  @Test func `what happens is told with a level, and no secret stands in it`() async throws {
    let log = Log()
    let pusher = client(log)
    pusher.subscribe("private-a")
    try await pusher.joined()
    let socket = try #require(pusher.connection.socketId)
    #expect(log.lines.values.contains("info: connected as socket \(socket)"))
    let trace = log.lines.values.filter {
      $0.hasPrefix("trace: sent: ") && $0.contains("private-a")
    }
    #expect(trace.count == 1)
    #expect(!log.lines.values.contains { $0.contains(Application.forTests().secret) })
    let signature = LocalService.sign(socket, "private-a").auth
    #expect(!log.lines.values.contains { $0.contains(signature) })
  }

  @Test func `a message below the level is not made`() async throws {
    let log = Log(.warning)
    let pusher = client(log)
    try await pusher.connected()
    #expect(log.lines.values.isEmpty)
    pusher.subscribe("private-encrypted-x")
    try await log.lines.wait {
      $0.contains { $0.hasPrefix("warning: subscription of private-encrypted-x failed") }
    }
  }

  @Test func `events, connections and losses are counted`() async throws {
    let counts = Counts()
    let pusher = client(nil, counts)
    let seen = Gathered<String>()
    let channel = pusher.subscribe("a")
    channel.bind(eventName: "e") { seen.add($0.data ?? "") }
    try await pusher.joined()
    for number in 0..<10 { try await service.trigger("e", "a", "\(number)") }
    _ = try await seen.wait(for: 10)
    try await condition("all are counted") { counts.values[.events] == 10 }
    #expect(counts.values[.connections] == 1)
    #expect(counts.values[.losses] == nil)
    await service.stop()
    try await condition("the loss is counted") { counts.values[.losses] ?? 0 >= 1 }
  }

  @Test func `a slow reader's losses, and gaps, are warned of and counted`() async throws {
    let (log, counts) = (Log(.warning), Counts())
    let pusher = client(log, counts)
    pusher.connection.reconnectDelay = .milliseconds(10)
    let channel = pusher.subscribe("a")
    let unread = channel.events(named: "e", buffering: .newest(1))
    try await pusher.joined()
    for number in 0..<5 { try await service.trigger("e", "a", "\(number)") }
    try await condition("the loss is counted") { counts.values[.dropped] == 4 }
    #expect(unread.droppedCount == 4)
    let told = try await log.lines.wait()
    #expect(told[0].hasPrefix("warning: a reader of events() is too slow; events dropped: "))

    let next = try await service.restart()
    _ = try await log.lines.wait {
      $0.contains { $0.hasPrefix("warning: subscribed again; events of ") }
    }
    #expect(counts.values[.gaps] == 1)
    withExtendedLifetime(next) {}
  }

  @Test func `the names are fit for a monitoring system`() {
    for count in PusherCount.allCases {
      #expect(count.rawValue.hasSuffix("_total"))
      #expect(count.rawValue.allSatisfy { $0 == "_" || $0.isASCII && $0.isLowercase })
    }
  }
}
