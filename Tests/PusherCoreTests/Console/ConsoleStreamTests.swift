import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "The stream".
@Suite("The console: the stream of what happens")
struct ConsoleStreamTests {
  private let console: ConsoleHarness

  init() throws {
    console = try ConsoleHarness()
  }

  private func names(_ entries: [JSONValue], _ member: String) -> [String] {
    entries.compactMap { $0[member]?.text }
  }

  // MARK: The greeting

  @Test func `a stream begins with what the server is`() throws {
    let client = try console.stream()
    let text = client.text
    #expect(text.holds("Content-Type: text/event-stream\r\n"))
    let hello = try console.hello(client)
    #expect(hello["version"] == "1.2.3")
    #expect(hello["shared"] == false)
    #expect(hello["recording"] == .null)
    let app = try #require(hello["apps"]?.elements?.first)
    #expect(app["id"] == "3")
    #expect(app["key"]?.text == ConsoleHarness.key)
    #expect(!text.holds("7ad3773142a6692b25b8"), "the secret stays here")
  }

  // MARK: Entries

  @Test func `sockets, channels and events come as they happen, numbered one by one`() throws {
    let client = try console.stream()
    let socket = try console.subscriber("private-a")
    let sender = console.test.raw()
    sender.send(try console.test.call("e", ["private-a"], data: #"{"a":1}"#))
    let event = console.await(1, "event", at: client)[0]
    #expect(event["source"] == "api")
    #expect(event["app"] == "3")
    #expect(event["channel"] == "private-a")
    #expect(event["event"] == "e")
    #expect(event["data"] == #"{"a":1}"#)
    #expect(event["recipients"] == .integer(1))
    #expect(event["time"]?.text.flatMap(WallTime.init(rfc3339:)) != nil)
    let opened = console.entries(client, "connection")[0]
    #expect(opened["action"] == "opened")
    #expect(opened["socket_id"]?.text == socket.socketID)
    #expect(names(console.entries(client, "subscription"), "action") == ["subscribed"])
    #expect(names(console.entries(client, "channel"), "action") == ["occupied"])
    let request = console.await(1, "request", at: client)[0]
    #expect(request["path"] == "/apps/3/events")
    #expect(request["status"] == .integer(200))
    socket.close()
    #expect(console.await(2, "channel", at: client).last?["action"] == "vacated")
    #expect(console.await(2, "connection", at: client).last?["action"] == "closed")
    let numbers = console.numbers(client)
    #expect(numbers == Array(1...numbers.count))
  }

  @Test func `a request tells how many of the events before it are its own`() throws {
    let client = try console.stream()
    let senders = (0..<3).map { _ in console.test.raw() }
    // The page's own order is not shown as a request, so its event belongs to none.
    let order: JSONValue = ["app": "3", "channel": "a", "event": "own", "data": "1"]
    #expect(try console.post("trigger", order).status == 200)
    senders[0].send(try console.test.call("e", ["a", "b", "c"], data: "1"))
    _ = console.await(1, "request", at: client)
    senders[1].send(try console.test.call("e", ["a"], data: "1", secret: "wrong"))
    _ = console.await(2, "request", at: client)
    senders[2].send(try console.test.call("e", ["a"], data: "1"))
    let requests = console.await(3, "request", at: client)
    #expect(requests.map { $0["events"] } == [.integer(3), nil, .integer(1)])
    #expect(names(console.entries(client, "event"), "event") == ["own", "e", "e", "e", "e"])
  }

  @Test func `members come and go, also where the app has no webhooks`() throws {
    let client = try console.stream()
    let socket = try console.test.socket()
    #expect(console.test.run { socket.isEstablished })
    socket.subscribe("presence-room", channelData: #"{"user_id":"ada"}"#)
    let added = console.await(1, "member", at: client)[0]
    #expect(added["action"] == "added")
    #expect(added["user_id"] == "ada")
    #expect(added["channel"] == "presence-room")
    socket.close()
    #expect(console.await(2, "member", at: client)[1]["action"] == "removed")
  }

  @Test func `a client's event has its sender; what is refused has its reason`() throws {
    let client = try console.stream()
    let socket = try console.subscriber("private-a")
    socket.send(#"{"event":"client-e","channel":"private-a","data":{"b":[2]}}"#)
    let event = console.await(1, "event", at: client)[0]
    #expect(event["source"] == "client")
    #expect(event["socket_id"]?.text == socket.socketID)
    #expect(event["data"] == #"{"b":[2]}"#)
    socket.subscribe("private-b", secret: "wrong")
    let refused = console.await(2, "subscription", at: client)[1]
    #expect(refused["action"] == "refused")
    #expect(refused["reason"]?.text?.contains("Invalid signature") == true)
    let call = console.test.raw()
    call.send(try console.test.call("e", ["a"], data: "1", secret: "wrong"))
    #expect(console.await(1, "request", at: client)[0]["status"] == .integer(401))
  }

  @Test func `webhooks are told with their bodies, and can be sent again`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let place = try HTTPURL(parsing: receiver.url).origin
    let url = try HTTPURL(parsing: place + "/secret?secret=s")
    let console = try ConsoleHarness { $0.applications[0].webhooks = [url] }
    let client = try console.stream()
    _ = try console.subscriber("private-a")
    let webhook = console.await(1, "webhook", at: client)[0]
    #expect(webhook["action"] == "sent")
    #expect(webhook["event"] == "channel_occupied")
    #expect(webhook["status"] == .integer(200))
    #expect(webhook["url"]?.text == place)
    #expect(console.test.events.allSatisfy { !$0.description.holds("secret") })
    let body = try #require(webhook["body"]?.text)
    #expect(
      try console.post("webhook", ["app": "3", "body": .string(body)]).status == 200)
    _ = console.await(2, "webhook", at: client)
    #expect(receiver.requests.values.map(\.body) == [body, body])
  }

  // MARK: Readers

  @Test func `several look on, and each gets everything; more than the limit are refused`() throws {
    let clients = try (0..<ServerFeed.readerLimit).map { _ in try console.stream() }
    #expect(try console.get("events").status == 503)
    let socket = try console.test.socket()
    #expect(console.test.run { socket.isEstablished })
    for client in clients { _ = console.await(1, "connection", at: client) }
    clients[0].close()
    let feed = console.test.server.feed
    let hasRoom = console.test.run {
      let reader = feed.open(console.test.harness.loop.wakeUp)
      reader.map { feed.close($0) }
      return reader != nil
    }
    #expect(hasRoom, "who has gone makes room")
    let late = try console.stream()
    #expect(console.entries(late, "connection").isEmpty)
  }

  @Test func `a text with line ends and marks stays one line of JSON`() throws {
    let client = try console.stream()
    let hostile = "</script>\r\ndata: forged\n\nevent: entry\u{2028}\u{0}"
    let sender = console.test.raw()
    sender.send(try console.test.call("e", ["a"], data: hostile))
    #expect(console.await(1, "event", at: client)[0]["data"]?.text == hostile)
  }

  @Test func `nothing is noted while nobody looks on`() throws {
    let socket = try console.subscriber("private-a")
    let client = try console.stream()
    socket.close()
    let closed = console.await(1, "connection", at: client)
    #expect(closed.map { $0["n"] } == [.integer(1)])
  }

  @Test func `the end of the server ends the stream`() throws {
    let client = try console.stream()
    console.test.server.stop()
    #expect(console.test.run { client.hasEnded })
  }
}
