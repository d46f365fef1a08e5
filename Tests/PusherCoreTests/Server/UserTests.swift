import PusherCore
import PusherServer
import Testing

@Suite("Server: users")
struct UserTests {
  private let hub = Hub.forTests()

  private func client(_ socketID: String) -> HubClient {
    let client = HubClient(hub, socketID)
    _ = client.texts()
    return client
  }

  private func signIn(_ client: HubClient, _ userData: String, secret: String? = nil) {
    let application = hub.application
    let auth = SubscriptionSignature(
      key: application.key, secret: secret ?? application.secret
    ).signIn(socketID: client.session.socketID, userData: userData)
    client.send(
      ClientCommand(service: .pusher).signIn(
        Authorization(PusherUserAuth(auth: auth, userData: userData))))
  }

  @Test func `the documented signature is accepted`() {
    let client = client("1234.1234")
    client.send(
      #"{"event":"pusher:signin","data":{"user_data":"{\"id\":\"12345\"}","auth":"#
        + #""278d425bdf160c739803:4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"}}"#
    )
    #expect(
      client.texts() == [
        #"{"event":"pusher:signin_success","data":{"user_data":"{\"id\":\"12345\"}"}}"#
      ])
  }

  @Test(arguments: [("", ""), ("58df", "58df"), ("other:58df", "other")])
  func `a sign-in without the app's key names what it got`(auth: String, named: String) {
    let client = client("1.1")
    client.send(
      #"{"event":"pusher:signin","data":{"user_data":"{\"id\":\"7\"}","auth":"\#(auth)"}}"#)
    guard case .text(let text)? = client.received().first else {
      Issue.record("no answer")
      return
    }
    #expect(
      text.contains("Invalid key in user auth data: '\(named)', expected KEY:SIGNATURE"), "\(text)")
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
    let client = client("1.1")
    signIn(client, userData, secret: secret)
    let received = client.received()
    guard case .text(let text) = received.first, case .closed(let code?, _) = received.last else {
      Issue.record("\(received)")
      return
    }
    let error = try JSONParser.parse(text)
    #expect(error["data"]?["code"] == .integer(4009))
    #expect(error["data"]?["message"]?.text?.hasPrefix(reason) == true)
    #expect(code == 4009)
  }

  @Test func `a connection has one user`() {
    let client = client("1.1")
    signIn(client, #"{"id":"7"}"#)
    _ = client.texts()
    signIn(client, #"{"id":"8"}"#)
    #expect(client.texts().first?.contains("already signed in as user 7") == true)
  }

  @Test func `the channel of a user is for that user, and takes events of the API`() {
    let owner = client("1.1")
    let other = client("1.2")
    owner.subscribe("#server-to-user-7")
    #expect(owner.texts().first?.contains("is only for its signed-in user") == true)
    signIn(owner, #"{"id":"7"}"#)
    signIn(other, #"{"id":"8"}"#)
    _ = (owner.texts(), other.texts())
    owner.subscribe("#server-to-user-7")
    other.subscribe("#server-to-user-7")
    #expect(owner.texts().first?.contains("subscription_succeeded") == true)
    #expect(other.texts().first?.contains("is only for its signed-in user") == true)
    #expect(hub.publish(name: "note", channel: "#server-to-user-7", data: "1") == 1)
    #expect(
      owner.texts() == [##"{"event":"note","channel":"#server-to-user-7","data":"1"}"##])
  }

  @Test func `a presence channel takes the user who is signed in`() {
    let client = client("1.1")
    signIn(client, #"{"id":"7","user_info":{"name":"Ada"}}"#)
    _ = client.texts()
    client.authorize("presence-a")
    #expect(
      client.texts().first?.contains(#"\"hash\":{\"7\":{\"name\":\"Ada\"}}"#) == true)
  }

  @Test func `a watchlist is told at once, then with each first and last connection`() {
    let watcher = client("1.1")
    signIn(watcher, #"{"id":"w","watchlist":["a","b"]}"#)
    func watchlist(_ events: String) -> String {
      #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":[\#(events)]}"}"#
    }
    func event(_ name: String, _ ids: String) -> String {
      #"{\"name\":\"\#(name)\",\"user_ids\":[\#(ids)]}"#
    }
    #expect(watcher.texts().last == watchlist(event("offline", #"\"a\",\"b\""#)))
    let first = client("1.2")
    signIn(first, #"{"id":"a"}"#)
    #expect(watcher.texts() == [watchlist(event("online", #"\"a\""#))])
    let second = client("1.3")
    signIn(second, #"{"id":"a"}"#)
    #expect(watcher.texts() == [])
    first.lose()
    #expect(watcher.texts() == [])
    second.lose()
    #expect(watcher.texts() == [watchlist(event("offline", #"\"a\""#))])
    let late = client("1.4")
    signIn(late, #"{"id":"l","watchlist":["w","a"]}"#)
    #expect(
      late.texts().last
        == watchlist(event("online", #"\"w\""#) + "," + event("offline", #"\"a\""#)))
    watcher.lose()
    #expect(late.texts() == [watchlist(event("offline", #"\"w\""#))])
  }

  @Test func `the app can end all connections of a user`() {
    let first = client("1.1")
    let second = client("1.2")
    signIn(first, #"{"id":"7"}"#)
    signIn(second, #"{"id":"7"}"#)
    let other = client("1.3")
    signIn(other, #"{"id":"8"}"#)
    _ = (first.texts(), second.texts())
    #expect(hub.terminateConnections(userID: "7", at: Instant(nanoseconds: 0)))
    for client in [first, second] {
      guard case .closed(let code, _)? = client.received().last else {
        Issue.record("still open")
        return
      }
      #expect(code == 4009)
      client.settle()
    }
    #expect(hub.connectionCount == 1)
    #expect(hub.terminateConnections(userID: "7", at: Instant(nanoseconds: 0)))
    #expect(hub.connectionCount == 1)
  }
}

@Suite("Server: cache channels and subscription counts")
struct CacheChannelTests {
  private func client(_ hub: Hub, _ socketID: String) -> HubClient {
    let client = HubClient(hub, socketID)
    _ = client.texts()
    return client
  }

  @Test(arguments: [
    "cache-a", "private-cache-a", "presence-cache-a", "private-encrypted-cache-a",
  ])
  func `a cache channel has its last event, or tells that it has none`(channel: String) {
    let hub = Hub.forTests()
    let first = client(hub, "1.1")
    first.authorize(channel, channelData: channel.hasPrefix("presence") ? #"{"user_id":"1"}"# : nil)
    #expect(first.texts().last == #"{"event":"pusher:cache_miss","channel":"\#(channel)"}"#)
    hub.publish(name: "e", channel: channel, data: "1")
    hub.publish(name: "f", channel: channel, data: "2")
    first.lose()
    let second = client(hub, "1.2")
    second.authorize(
      channel, channelData: channel.hasPrefix("presence") ? #"{"user_id":"2"}"# : nil)
    #expect(second.texts().last == #"{"event":"f","channel":"\#(channel)","data":"2"}"#)
    #expect(hub.cachedData(channel) == "2")
  }

  @Test func `other channels keep nothing, and client events are not kept`() {
    let hub = Hub.forTests()
    hub.publish(name: "e", channel: "news", data: "1")
    hub.publish(name: "e", channel: "cached", data: "1")
    let first = client(hub, "1.1")
    first.subscribe("news")
    first.subscribe("cached")
    #expect(first.texts().count == 2)
    first.authorize("private-cache-a")
    _ = first.texts()
    first.send(#"{"event":"client-x","channel":"private-cache-a","data":"1"}"#)
    #expect(hub.cachedData("private-cache-a") == nil)
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
    let hub = Hub(
      application: .forTests(), limits: dialect.limits, dialect: dialect)
    let member = client(hub, "1.1")
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
    let late = client(hub, "1.1")
    late.wait(.seconds(10))
    late.subscribe("cache-a")
    #expect(late.texts().last == #"{"event":"pusher:cache_miss","channel":"cache-a"}"#)
  }

  private func countingHub() -> Hub {
    var application = Application.forTests()
    application.sendsSubscriptionCounts = true
    return Hub(application: application)
  }

  private func count(_ number: Int, _ channel: String = "a") -> String {
    #"{"event":"pusher_internal:subscription_count","channel":"\#(channel)","#
      + #""data":"{\"subscription_count\":\#(number)}"}"#
  }

  @Test func `subscribers are told how many they are, those of presence channels are not`() {
    let hub = countingHub()
    let first = client(hub, "1.1")
    first.subscribe("a")
    #expect(first.texts().last == count(1))
    let second = client(hub, "1.2")
    second.subscribe("a")
    #expect(first.texts() == [count(2)])
    #expect(second.texts().last == count(2))
    second.lose()
    #expect(first.texts() == [count(1)])
    first.authorize("presence-a", channelData: #"{"user_id":"1"}"#)
    #expect(first.texts().count == 1)
  }

  @Test func `above a hundred subscribers the count comes every five seconds`() {
    let hub = countingHub()
    let clients = (1...102).map { client(hub, "1.\($0)") }
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
      client.texts().map { (try? JSONParser.parse($0))?["event"]?.text } == [
        "eventflit:connection_established", "eventflit_internal:subscription_succeeded",
        "eventflit:cache_miss",
      ])
  }
}
