import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "What the page remembers" and "The stream".
struct `The console: readers that come later or come back` {
  /// A console, and a client whose calls each make an event and a request.
  private final class Scene {
    let console: ConsoleHarness
    private var calls = 0

    init(history: Int) throws {
      console = try ConsoleHarness(history: history)
    }

    func send(_ names: String...) throws {
      for name in names {
        try console.call(name, ["a"])
        calls += 1
        #expect(console.test.run { self.console.callCount == self.calls })
      }
    }

    /// A stream that ends after this call; returns the ID of its last entry.
    func idAfter(_ name: String) throws -> String {
      let client = try stream(having: 0)
      try send(name)
      _ = console.await(1, "request", at: client)
      client.close()
      return try lastID(client)
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
    let id = try scene.idAfter("e1")
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
    let id = try scene.idAfter("e1")
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
    let instance = try #require(try scene.console.hello(scene.stream(having: 2))["instance"]?.text)
    let client = try scene.stream(after: id.replacing("INSTANCE", with: instance), having: 1)
    // A blank at the end of a field is no part of it.
    let expected = id.hasSuffix("-1 ") ? [2] : [1, 2]
    #expect(scene.console.test.run { scene.console.numbers(client) == expected })
    #expect(!client.text.holds("event: dropped"))
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

/// docs/console.md, "What the page remembers".
struct `The console: the entries that are kept` {
  private func size(_ text: String) -> Int { text.utf8.count + EntryHistory.overhead }

  @Test func `the last entries are kept, the oldest first`() {
    var history = EntryHistory(3)
    #expect(history.texts(skipping: 0) == [])
    for text in ["a", "", "c", "d"] { history.add(text) }
    #expect(history.count == 3)
    #expect(history.texts(skipping: 0) == ["", "c", "d"])
    #expect(history.texts(skipping: 2) == ["d"])
    #expect(history.texts(skipping: 3) == [])
  }

  @Test func `entries of every length are kept up to both limits`() {
    for byteLimit in EntryHistory.overhead...(6 * EntryHistory.overhead) {
      var history = EntryHistory(5, byteLimit: byteLimit)
      var model: [String] = []
      for number in 0..<300 {
        let letter = number.isMultiple(of: 3) ? "🎉" : number.isMultiple(of: 2) ? "é" : "x"
        let text = String(repeating: letter, count: number * 7 % 13)
        history.add(text)
        model.append(text)
        if size(text) > byteLimit { model = [] }
        while model.count > 5 || model.reduce(0, { $0 + size($1) }) > byteLimit {
          model.removeFirst()
        }
        guard history.texts(skipping: 0) == model, history.count == model.count else {
          Issue.record("\(byteLimit) bytes, entry \(number): \(model)")
          return
        }
      }
    }
  }

  @Test func `the server keeps four megabytes of entries, and no more`() {
    var history = EntryHistory(100_000)
    let text = String(repeating: "x", count: 1024 - EntryHistory.overhead)
    for _ in 0..<5000 { history.add(text) }
    #expect(history.count == (4 << 20) / 1024)
    #expect(history.texts(skipping: history.count - 1) == [text])
  }
}
