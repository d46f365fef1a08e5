import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "The stream".
struct `The console: the stream of what happens` {
  private let console: ConsoleHarness

  init() throws { console = try ConsoleHarness() }

  private func names(_ entries: [JSONValue], _ member: String) -> [String] {
    entries.compactMap { $0[member]?.text }
  }

  // MARK: The greeting

  @Test func `a stream begins with what the server is`() throws {
    let client = try console.stream()
    #expect(client.text.holds("Content-Type: text/event-stream\r\n"))
    let hello = try console.hello(client)
    expect(hello, has: ["version": "1.2.3", "shared": false, "recording": .null])
    expect(hello["apps"]?.elements?.first, has: ["id": "3", "key": .string(ConsoleHarness.key)])
    #expect(!client.text.contains(ConsoleHarness.appSecret), "the secret stays here")
  }

  // MARK: Entries

  @Test func `sockets, channels and events come as they happen, numbered one by one`() throws {
    let client = try console.stream()
    let socket = try console.subscriber("private-a")
    try console.call("e", ["private-a"], data: #"{"a":1}"#)
    let event = console.await(1, "event", at: client)[0]
    expect(
      event,
      has: [
        "source": "api", "app": "3", "channel": "private-a", "event": "e", "data": #"{"a":1}"#,
        "recipients": 1,
      ])
    #expect(event["time"]?.text.flatMap(WallTime.init(rfc3339:)) != nil)
    expect(
      console.entries(client, "connection")[0],
      has: ["action": "opened", "socket_id": .string(socket.socketID)])
    #expect(names(console.entries(client, "subscription"), "action") == ["subscribed"])
    #expect(names(console.entries(client, "channel"), "action") == ["occupied"])
    expect(
      console.await(1, "request", at: client)[0], has: ["path": "/apps/3/events", "status": 200])
    socket.close()
    #expect(console.await(2, "channel", at: client).last?["action"] == "vacated")
    #expect(console.await(2, "connection", at: client).last?["action"] == "closed")
    let numbers = console.numbers(client)
    #expect(numbers == Array(1...numbers.count))
  }

  @Test func `a request tells how many of the events before it are its own`() throws {
    let client = try console.stream()
    // The page's own order is not shown as a request, so its event belongs to none.
    let order: JSONValue = ["app": "3", "channel": "a", "event": "own", "data": "1"]
    #expect(try console.post("trigger", order).status == 200)
    try console.call("e", ["a", "b", "c"])
    _ = console.await(1, "request", at: client)
    try console.call("e", ["a"], secret: "wrong")
    _ = console.await(2, "request", at: client)
    try console.call("e", ["a"])
    let requests = console.await(3, "request", at: client)
    #expect(requests.map { $0["events"] } == [.integer(3), nil, .integer(1)])
    #expect(names(console.entries(client, "event"), "event") == ["own", "e", "e", "e", "e"])
  }

  @Test func `members come and go, also where the app has no webhooks`() throws {
    let client = try console.stream()
    let socket = try console.subscriber("presence-room")
    expect(
      console.await(1, "member", at: client)[0],
      has: ["action": "added", "user_id": "ada", "channel": "presence-room"])
    socket.close()
    #expect(console.await(2, "member", at: client)[1]["action"] == "removed")
  }

  @Test func `a client's event has its sender; what is refused has its reason`() throws {
    let client = try console.stream()
    let socket = try console.subscriber("private-a")
    socket.send(#"{"event":"client-e","channel":"private-a","data":{"b":[2]}}"#)
    expect(
      console.await(1, "event", at: client)[0],
      has: ["source": "client", "socket_id": .string(socket.socketID), "data": #"{"b":[2]}"#])
    socket.subscribe("private-b", secret: "wrong")
    let refused = console.await(2, "subscription", at: client)[1]
    #expect(refused["action"] == "refused")
    #expect(refused["reason"]?.text?.contains("Invalid signature") == true)
    try console.call("e", ["a"], secret: "wrong")
    #expect(console.await(1, "request", at: client)[0]["status"] == 401)
  }

  @Test func `webhooks are told with their bodies, and can be sent again`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let place = try HTTPURL(parsing: receiver.url).origin
    let url = try HTTPURL(parsing: place + "/secret?secret=s")
    let console = try ConsoleHarness { $0.applications[0].webhooks = [url] }
    let client = try console.stream()
    _ = try console.subscriber("private-a")
    let webhook = console.await(1, "webhook", at: client)[0]
    expect(
      webhook,
      has: ["action": "sent", "event": "channel_occupied", "status": 200, "url": .string(place)])
    #expect(console.test.events.allSatisfy { !$0.description.holds("secret") })
    let body = try #require(webhook["body"]?.text)
    #expect(try console.post("webhook", ["app": "3", "body": .string(body)]).status == 200)
    _ = console.await(2, "webhook", at: client)
    #expect(receiver.requests.values.map(\.body) == [body, body])
  }

  // MARK: Readers

  @Test func `several look on, and each gets everything; more than the limit are refused`() throws {
    let clients = try (0..<ServerFeed.readerLimit).map { _ in try console.stream() }
    #expect(try console.get("events").status == 503)
    _ = try console.test.established()
    for client in clients { _ = console.await(1, "connection", at: client) }
    clients[0].close()
    #expect(console.getsRoom(), "who has gone makes room")
    let late = try console.stream()
    #expect(console.entries(late, "connection").isEmpty)
  }

  @Test func `a text with line ends and marks stays one line of JSON`() throws {
    let client = try console.stream()
    let hostile = "</script>\r\ndata: forged\n\nevent: entry\u{2028}\u{0}"
    try console.call("e", ["a"], data: hostile)
    #expect(console.await(1, "event", at: client)[0]["data"]?.text == hostile)
  }

  @Test func `the end of the server ends the stream`() throws {
    let client = try console.stream()
    console.test.server.stop()
    #expect(console.test.run { client.hasEnded })
  }

  @Test func `entries that do not fit for a slow reader are counted in their place`() throws {
    let feed = console.test.server.feed
    let reader = try #require(feed.open(console.test.harness.loop.wakeUp, limit: 400))
    for number in 0..<6 { try console.call("e\(number)", ["a"]) }
    #expect(console.test.run { console.callCount == 6 })
    let first = feed.take(reader)
    let entries = first.count { if case .entry = $0 { true } else { false } }
    #expect(entries == first.count - 1, "\(first)")
    #expect(first.last == .dropped(12 - entries, last: 12, .slow), "six events and six calls")
    try console.call("late", ["a"])
    #expect(console.test.run { console.callCount == 7 })
    let second = feed.take(reader)
    #expect(second.count == 2)
    #expect(second.allSatisfy { if case .entry(let number, _) = $0 { number > 12 } else { false } })
  }
}
