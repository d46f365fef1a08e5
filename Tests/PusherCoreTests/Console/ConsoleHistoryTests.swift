import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "What the page remembers" and "The stream".
@Suite("The console: readers that come later or come back")
struct ConsoleHistoryTests {
  /// A console, and a client whose calls each make an event and a request.
  private final class Scene {
    let console: ConsoleHarness
    private let sender: RawClient
    private var calls = 0

    init(history: Int) throws {
      console = try ConsoleHarness(history: history)
      sender = console.test.raw()
    }

    func send(_ names: String...) throws {
      for name in names {
        sender.send(try console.test.call(name, ["a"], data: "1"))
        calls += 1
        let isAnswered = console.test.run { [self] in
          console.test.events.filter { "\($0)".begins(with: "POST") }.count == calls
        }
        #expect(isAnswered)
      }
    }

    /// Opens a stream that has begun with `count` messages.
    func stream(after id: String? = nil, having count: Int) throws -> RawClient {
      let client = try console.stream(lastEventID: id)
      let hasBegun = console.test.run { [console] in console.numbers(client).count >= count }
      #expect(hasBegun, "\(client.text)")
      return client
    }

    func events(_ client: RawClient) -> [String] {
      console.entries(client, "event").compactMap { $0["event"]?.text }
    }

    func lastID(_ client: RawClient) throws -> String {
      try #require(client.text.lines.compactMap { String($0).dropping(prefix: "id: ") }.last)
    }
  }

  // MARK: Later readers

  @Test func `a reader that comes later begins with what is kept`() throws {
    let scene = try Scene(history: 5)
    try scene.send("e1", "e2", "e3")
    let client = try scene.stream(having: 5)
    #expect(scene.console.numbers(client) == [2, 3, 4, 5, 6])
    #expect(scene.events(client) == ["e2", "e3"])
    #expect(!client.text.holds("event: dropped"), "it has missed nothing")
    try scene.send("e4")
    _ = scene.console.await(3, "event", at: client)
    #expect(scene.console.await(4, "request", at: client).last?["n"] == .integer(8))
    #expect(scene.console.numbers(client) == Array(2...8))
  }

  @Test func `several readers get the same, and none takes it from another`() throws {
    let scene = try Scene(history: 10)
    try scene.send("e1", "e2")
    for _ in 0..<3 {
      let client = try scene.stream(having: 4)
      #expect(scene.console.numbers(client) == [1, 2, 3, 4])
    }
  }

  @Test func `without a history a reader begins with what is new`() throws {
    let scene = try Scene(history: 0)
    #expect(!scene.console.test.server.feed.isOpen)
    try scene.send("e1")
    let client = try scene.stream(having: 0)
    try scene.send("e2")
    _ = scene.console.await(1, "request", at: client)
    #expect(scene.events(client) == ["e2"])
    #expect(scene.console.numbers(client) == [1, 2])
  }

  // MARK: Readers that come back

  @Test func `a reader that comes back gets what it missed, and nothing twice`() throws {
    let scene = try Scene(history: 100)
    let first = try scene.stream(having: 0)
    try scene.send("e1")
    _ = scene.console.await(1, "request", at: first)
    let id = try scene.lastID(first)
    first.close()
    try scene.send("e2", "e3")
    let second = try scene.stream(after: id, having: 4)
    #expect(scene.console.numbers(second) == [3, 4, 5, 6])
    #expect(scene.events(second) == ["e2", "e3"])
    #expect(!second.text.holds("event: dropped"))
    let third = try scene.stream(after: try scene.lastID(second), having: 0)
    try scene.send("e4")
    _ = scene.console.await(1, "request", at: third)
    #expect(scene.console.numbers(third) == [7, 8], "it had everything")
  }

  @Test func `entries that are no longer kept are counted at their place`() throws {
    let scene = try Scene(history: 3)
    let first = try scene.stream(having: 0)
    try scene.send("e1")
    _ = scene.console.await(1, "request", at: first)
    let id = try scene.lastID(first)
    first.close()
    try scene.send("e2", "e3", "e4")
    let second = try scene.stream(after: id, having: 4)
    #expect(second.text.holds("event: dropped\ndata: {\"count\":3,\"reason\":\"expired\"}\n"))
    #expect(scene.console.numbers(second) == [5, 6, 7, 8], "the loss has the number of its last")
    #expect(scene.events(second) == ["e4"])
    // A reader that was told, and lost its connection then, is not told again.
    let told = try scene.lastID(second).replacing("-8", with: "-5")
    let third = try scene.stream(after: told, having: 3)
    #expect(scene.console.numbers(third) == [6, 7, 8])
    #expect(!third.text.holds("event: dropped"))
  }

  @Test(arguments: [
    "0123456789abcdef-1", "1", "", "INSTANCE", "INSTANCE-", "INSTANCE-99", "INSTANCE-x",
    "INSTANCE--1", "INSTANCE-+1", "INSTANCE-1 ", "INSTANCE-0", "INSTANCE-0x1",
    "INSTANCE-99999999999999999999", "xINSTANCE-1",
  ])
  func `an id of another run, or none at all, gets everything that is kept`(id: String) throws {
    let scene = try Scene(history: 9)
    try scene.send("e1")
    let instance = try #require(
      try scene.console.hello(scene.stream(having: 2))["instance"]?.text)
    let client = try scene.stream(after: id.replacing("INSTANCE", with: instance), having: 1)
    // A blank at the end of a field is no part of it.
    let expected = id.hasSuffix("-1 ") ? [2] : [1, 2]
    #expect(console(scene, shows: expected, at: client))
    #expect(!client.text.holds("event: dropped"))
  }

  private func console(_ scene: Scene, shows numbers: [Int], at client: RawClient) -> Bool {
    scene.console.test.run { scene.console.numbers(client) == numbers }
  }

  @Test func `each run has a name of its own`() throws {
    let names = try (0..<2).map { _ in
      let console = try ConsoleHarness()
      return try console.hello(console.stream())["instance"]?.text ?? ""
    }
    #expect(names[0] != names[1])
    #expect(names.allSatisfy { $0.utf8.count == 16 })
  }

  @Test func `the greeting says whether the address stays, and the server's time`() throws {
    for keepsToken in [false, true] {
      let console = try ConsoleHarness(keepsToken: keepsToken)
      let hello = try console.hello(console.stream())
      #expect(hello["keeps_token"] == .bool(keepsToken))
      #expect(hello["time"]?.text.flatMap(WallTime.init(rfc3339:)) != nil)
    }
  }
}
