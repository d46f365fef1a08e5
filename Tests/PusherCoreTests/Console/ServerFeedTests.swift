import PusherConsole
import PusherCore
import PusherServer
import Testing

@Suite("The console: readers that are slow")
struct ServerFeedTests {
  @Test func `what does not fit is counted where it is missing`() throws {
    let console = try ConsoleHarness()
    let feed = ConsoleFeedProbe(console.test, limit: 400)
    let sender = console.test.raw()
    for number in 0..<6 {
      sender.send(try console.test.call("e\(number)", ["a"], data: "x"))
    }
    #expect(console.test.run { console.test.events.count { "\($0)".begins(with: "POST") } == 6 })
    let first = feed.take()
    let dropped = first.compactMap { if case .dropped(let loss) = $0 { loss } else { nil } }
    let loss = try #require(dropped.first)
    #expect(dropped.count == 1 && first.last == .dropped(loss), "\(first)")
    #expect(first.count - 1 + loss.count == 12, "six events and six calls")
    #expect(loss.last == 12 && loss.cause == .slow)
    sender.send(try console.test.call("late", ["a"], data: "x"))
    #expect(console.test.run { console.test.events.count { "\($0)".begins(with: "POST") } == 7 })
    let second = feed.take()
    #expect(second.count == 2)
    #expect(second.allSatisfy { if case .entry(let number, _) = $0 { number > 12 } else { false } })
  }

  @Test func `only so many may look on`() throws {
    let console = try ConsoleHarness()
    let probes = (0..<ServerFeed.readerLimit).map { _ in ConsoleFeedProbe(console.test, limit: 9) }
    #expect(probes.allSatisfy { $0.isOpen })
    #expect(!ConsoleFeedProbe(console.test, limit: 9).isOpen)
    probes[3].close()
    #expect(ConsoleFeedProbe(console.test, limit: 9).isOpen)
  }
}

private struct ConsoleFeedProbe {
  private let feed: ServerFeed
  private let reader: Int?

  init(_ test: ServerHarness, limit: Int) {
    feed = test.server.feed
    reader = feed.open(test.harness.loop.wakeUp, limit: limit)
  }

  var isOpen: Bool { reader != nil }
  func take() -> [ServerFeed.Line] { reader.map { feed.take($0) } ?? [] }
  func close() { reader.map { feed.close($0) } }
}
