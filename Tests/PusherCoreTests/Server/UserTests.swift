import PusherCore
import PusherServer
import Testing

struct `Server: users` {
  private let hub = Hub.forTests()

  /// A client that has signed in as this user.
  private func signedIn(_ socketID: String, _ userData: String) -> HubClient {
    let client = hub.client(socketID)
    client.signIn(userData)
    return client
  }

  private func isSubscribed(_ client: HubClient, to channel: String) throws -> Bool {
    client.subscribe(channel)
    let text = try #require(client.texts().first)
    if text.contains("subscription_succeeded") { return true }
    #expect(text.contains("is only for its signed-in user"))
    return false
  }

  @Test(arguments: [("", ""), ("58df", "58df"), ("other:58df", "other")])
  func `a sign-in without the app's key names what it got`(auth: String, named: String) throws {
    let client = hub.client()
    client.send(
      #"{"event":"pusher:signin","data":{"user_data":"{\"id\":\"7\"}","auth":"\#(auth)"}}"#)
    #expect(
      try client.error().message.contains(
        "Invalid key in user auth data: '\(named)', expected KEY:SIGNATURE"))
  }

  @Test(arguments: [
    (#"{"id":"7"}"#, "wrong", "Invalid signature: "),
    (#"{"id":"7","user_info":"Ada"}"#, nil, "user_info in user_data is not a JSON object"),
    (#"{"id":"7","user_info":[1]}"#, nil, "user_info in user_data is not a JSON object"),
    ("7", nil, "user_data is not a JSON object with an id"),
    (#"{"id":""}"#, nil, "user_data is not a JSON object with an id"),
    (#"{"id":"\#(String(repeating: "x", count: 129))"}"#, nil, "a user's id has at most 128"),
    (
      #"{"id":"7","watchlist":[\#((0...100).map { "\"\($0)\"" }.joined(separator: ","))]}"#, nil,
      "a watchlist has at most 100 users; this one has 101"
    ),
    (
      #"{"id":"7","x":"\#(String(repeating: "x", count: 16_384))"}"#, nil,
      "user_data has at most 16384 bytes"
    ),
  ])
  func `a bad sign-in is told why, and ends the connection with 4009`(
    userData: String, secret: String?, reason: String
  ) throws {
    let client = hub.client()
    client.signIn(userData, secret: secret)
    let error = try client.error()
    #expect(error.code == 4009)
    #expect(error.message.hasPrefix(reason), "\(error)")
    #expect(client.closeCode() == 4009)
  }

  @Test func `a connection has one user`() {
    let client = signedIn("1.1", #"{"id":"7"}"#)
    _ = client.texts()
    client.signIn(#"{"id":"8"}"#)
    #expect(client.texts().first?.contains("already signed in as user 7") == true)
  }

  @Test func `the channel of a user is for that user, and takes events of the API`() throws {
    let (owner, other) = (hub.client(), signedIn("1.2", #"{"id":"8"}"#))
    #expect(try !isSubscribed(owner, to: "#server-to-user-7"))
    owner.signIn(#"{"id":"7"}"#)
    _ = (owner.texts(), other.texts())
    #expect(try isSubscribed(owner, to: "#server-to-user-7"))
    #expect(try !isSubscribed(other, to: "#server-to-user-7"))
    #expect(hub.publish(name: "note", channel: "#server-to-user-7", data: "1") == 1)
    #expect(owner.texts() == [##"{"event":"note","channel":"#server-to-user-7","data":"1"}"##])
  }

  @Test func `a presence channel takes the user who is signed in`() {
    let client = signedIn("1.1", #"{"id":"7","user_info":{"name":"Ada"}}"#)
    _ = client.texts()
    client.authorize("presence-a")
    #expect(client.texts().first?.contains(#"\"hash\":{\"7\":{\"name\":\"Ada\"}}"#) == true)
  }

  @Test func `a watchlist is told at once, then with each first and last connection`() {
    let watcher = signedIn("1.1", #"{"id":"w","watchlist":["a","b"]}"#)
    func watchlist(_ events: String) -> String {
      #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":[\#(events)]}"}"#
    }
    func event(_ name: String, _ ids: String) -> String {
      #"{\"name\":\"\#(name)\",\"user_ids\":[\#(ids)]}"#
    }
    #expect(watcher.texts().last == watchlist(event("offline", #"\"a\",\"b\""#)))
    let first = signedIn("1.2", #"{"id":"a"}"#)
    #expect(watcher.texts() == [watchlist(event("online", #"\"a\""#))])
    let second = signedIn("1.3", #"{"id":"a"}"#)
    #expect(watcher.texts() == [])
    first.lose()
    #expect(watcher.texts() == [])
    second.lose()
    #expect(watcher.texts() == [watchlist(event("offline", #"\"a\""#))])
    let late = signedIn("1.4", #"{"id":"l","watchlist":["w","a"]}"#)
    #expect(
      late.texts().last
        == watchlist(event("online", #"\"w\""#) + "," + event("offline", #"\"a\""#)))
    watcher.lose()
    #expect(late.texts() == [watchlist(event("offline", #"\"w\""#))])
  }

  @Test func `the app can end all connections of a user`() {
    let clients = ["7", "7", "8"].enumerated().map { signedIn("1.\($0)", #"{"id":"\#($1)"}"#) }
    #expect(hub.terminateConnections(userID: "7", at: Instant(nanoseconds: 0)))
    #expect(clients.map { $0.closeCode() } == [4009, 4009, nil])
    for client in clients { client.settle() }
    #expect(hub.connectionCount == 1)
    #expect(hub.terminateConnections(userID: "7", at: Instant(nanoseconds: 0)))
    #expect(hub.connectionCount == 1)
  }
}

struct `Server: cache channels and subscription counts` {
  @Test(arguments: ["cache-a", "private-cache-a", "presence-cache-a", "private-encrypted-cache-a"])
  func `a cache channel has its last event, or tells that it has none`(channel: String) {
    let hub = Hub.forTests()
    let first = hub.client()
    first.join(channel, as: "1")
    #expect(first.texts().last == #"{"event":"pusher:cache_miss","channel":"\#(channel)"}"#)
    hub.publish(name: "e", channel: channel, data: "1")
    hub.publish(name: "f", channel: channel, data: "2")
    first.lose()
    let second = hub.client("1.2")
    second.join(channel, as: "2")
    #expect(second.texts().last == #"{"event":"f","channel":"\#(channel)","data":"2"}"#)
    #expect(hub.cachedData(channel) == "2")
  }

  @Test func `a client event is not kept for a cache channel`() {
    let client = Hub.forTests().client()
    client.authorize("private-cache-a")
    client.send(#"{"event":"client-x","channel":"private-cache-a","data":"1"}"#)
    #expect(client.hub.cachedData("private-cache-a") == nil)
  }

  @Test func `as many cache channels are kept as the limit says, the oldest go`() {
    let hub = Hub.forTests { $0.cachedEvents = 2 }
    for name in ["a", "b", "a", "c"] {
      hub.publish(name: "e", channel: "cache-\(name)", data: .string(name))
    }
    #expect(["a", "b", "c"].map { hub.cachedData("cache-\($0)") } == [nil, "b", "c"])
  }

  @Test(arguments: [(.pusher, 1800), (.soketi, 3600), (.reverb, nil)] as [(Dialect, Int?)])
  func `the last event is kept for so many seconds`(dialect: Dialect, lifetime: Int?) {
    let hub = dialect.hub()
    let member = hub.client()
    hub.publish(name: "e", channel: "cache-a", data: "1")
    member.wait(.seconds(lifetime ?? 1_000_000) - .nanoseconds(1))
    #expect(hub.cachedData("cache-a", at: member.now) == "1")
    member.wait(.nanoseconds(1))
    #expect(hub.cachedData("cache-a", at: member.now) == (lifetime == nil ? "1" : nil))
    hub.publish(name: "e", channel: "cache-a", data: "2", at: member.now)
    #expect(hub.cachedData("cache-a", at: member.now) == "2")
  }

  @Test func `who comes too late for the last event is told that there is none`() {
    let hub = Hub.forTests { $0.times.cachedEvent = .seconds(10) }
    hub.publish(name: "e", channel: "cache-a", data: "1")
    let late = hub.client()
    late.wait(.seconds(10))
    late.subscribe("cache-a")
    #expect(late.texts().last == #"{"event":"pusher:cache_miss","channel":"cache-a"}"#)
  }

  private func countingHub() -> Hub { Dialect.pusher.hub { $0.sendsSubscriptionCounts = true } }

  private func count(_ number: Int, _ channel: String = "a") -> String {
    #"{"event":"pusher_internal:subscription_count","channel":"\#(channel)","#
      + #""data":"{\"subscription_count\":\#(number)}"}"#
  }

  @Test func `subscribers are told how many they are, those of presence channels are not`() {
    let hub = countingHub()
    let first = hub.client()
    first.subscribe("a")
    #expect(first.texts().last == count(1))
    let second = hub.client("1.2")
    second.subscribe("a")
    #expect(first.texts() == [count(2)])
    #expect(second.texts().last == count(2))
    second.lose()
    #expect(first.texts() == [count(1)])
    first.join("presence-a")
    #expect(first.texts().count == 1)
  }

  @Test func `above a hundred subscribers the count comes every five seconds`() {
    let hub = countingHub()
    let clients = (1...102).map { hub.client("1.\($0)") }
    for client in clients { client.subscribe("a") }
    #expect(clients[0].texts().last == count(100))
    let now = Instant(nanoseconds: 0)
    hub.tick(at: now)
    #expect(clients[0].texts() == [count(102)])
    clients[101].lose()
    hub.tick(at: now.advanced(by: .seconds(4)))
    #expect(clients[0].texts() == [])
    hub.tick(at: now.advanced(by: .seconds(5)))
    #expect(clients[0].texts() == [count(101)])
    hub.tick(at: now.advanced(by: .seconds(10)))
    #expect(clients[0].texts() == [])
  }

  @Test func `a service's own names are used throughout`() {
    let hub = Hub(application: .forTests(), service: .eventflit)
    let client = HubClient(hub, "1.1")
    client.send(#"{"event":"eventflit:subscribe","data":{"channel":"cache-a"}}"#)
    #expect(
      client.names() == [
        "eventflit:connection_established", "eventflit_internal:subscription_succeeded",
        "eventflit:cache_miss",
      ])
  }
}
