import PusherCore
import PusherServer
import TestSupport
import Testing

struct `Protocol page, channels` {
  @Test func `a public channel needs no signature, and an empty one is passed over`() {
    let client = Hub.forTests().client()
    client.subscribe("news")
    client.send(#"{"event":"pusher:subscribe","data":"{\"channel\":\"other\"}"}"#)
    client.expect(
      #"{"event":"pusher_internal:subscription_succeeded","channel":"news","data":"{}"}"#,
      #"{"event":"pusher_internal:subscription_succeeded","channel":"other","data":"{}"}"#)
    #expect(client.hub.occupiedChannels == ["news", "other"])
  }

  /// The vectors of the pages "Authorizing users", "Authenticating users" and of the protocol.
  @Test(arguments: [
    (
      #"{"event":"pusher:subscribe","data":{"channel":"private-foobar","auth":"#
        + #""278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"}}"#,
      #"{"event":"pusher_internal:subscription_succeeded","channel":"private-foobar","data":"{}"}"#
    ),
    (
      #"{"event":"pusher:subscribe","data":{"channel":"presence-foobar","auth":"#
        + #""278d425bdf160c739803:31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80","#
        + #""channel_data":"{\"user_id\":10,\"user_info\":{\"name\":\"Mr. Channels\"}}"}}"#,
      #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-foobar","data":"#
        + #""{\"presence\":{\"ids\":[\"10\"],\"hash\":{\"10\":{\"name\":\"Mr. Channels\"}},"#
        + #"\"count\":1}}"}"#
    ),
    (
      #"{"event":"pusher:signin","data":{"user_data":"{\"id\":\"12345\"}","auth":"#
        + #""278d425bdf160c739803:4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"}}"#,
      #"{"event":"pusher:signin_success","data":{"user_data":"{\"id\":\"12345\"}"}}"#
    ),
  ])
  func `the documented signatures are accepted`(message: String, answer: String) {
    #expect(Hub.forTests().client("1234.1234").answers(to: message) == [answer])
  }

  @Test func `a wrong signature names what had to be signed and the channel`() throws {
    let client = Hub.forTests().client("1234.1234")
    client.send(
      #"{"event":"pusher:subscribe","data":{"channel":"private-foobar","#
        + #""auth":"278d425bdf160c739803:58df"}}"#)
    let error = try client.error()
    #expect(error.code == .null && error.channel == "private-foobar")
    #expect(
      error.message
        == "Invalid signature: Expected HMAC SHA256 hex digest of 1234.1234:private-foobar, "
        + "but got 58df")
    #expect(client.hub.occupiedChannels == [])
  }

  @Test(arguments: ["", "other:58df", "278d425bdf160c739803"])
  func `a signature with another key or none is refused`(auth: String) throws {
    let client = Hub.forTests().client()
    client.send(#"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"\#(auth)"}}"#)
    #expect(try client.error().message.hasPrefix("Invalid key in subscription auth data: "))
  }

  @Test(arguments: ["", "a b", "#server-to-user-1", "ä", String(repeating: "c", count: 201)])
  func `a name that cannot be a channel's is refused`(name: String) throws {
    let client = Hub.forTests().client()
    client.subscribe(name)
    #expect(try client.error().channel == name)
    #expect(client.hub.occupiedChannels == [])
  }

  @Test func `a second subscription and an unsubscription without one are errors`() throws {
    let client = Hub.forTests().client()
    client.subscribe("news")
    client.subscribe("news")
    #expect(try client.error().message == "Existing subscription to channel news")
    client.unsubscribe("other")
    #expect(
      try client.error().message
        == "No current subscription to channel other, or subscription in progress")
    client.unsubscribe("news")
    #expect(client.texts() == [])
    #expect(client.hub.occupiedChannels == [])
    client.subscribe("news")
    #expect(client.texts().count == 1)
  }

  @Test func `a connection has a limited number of subscriptions`() throws {
    let client = Hub.forTests { $0.subscriptions = 2 }.client()
    for name in ["a", "b", "c"] { client.subscribe(name) }
    #expect(try client.error().message == "a connection has at most 2 subscriptions")
    #expect(client.hub.occupiedChannels == ["a", "b"])
  }

  @Test func `an event goes once to each subscriber, without the excluded socket`() {
    let hub = Hub.forTests()
    let clients = hub.pair(on: "news") + [hub.client("1.3")]
    let data = #"{"a":"ä/\u0041"}"#
    #expect(hub.publish(name: "my-event", channel: "news", data: .string(data)) == 2)
    let expected = #"{"event":"my-event","channel":"news","data":"{\"a\":\"ä/\\u0041\"}"}"#
    #expect(clients.map { $0.texts() } == [[expected], [expected], []])
    #expect(hub.publish(name: "e", channel: "news", data: "", except: "1.1") == 1)
    #expect(clients.map { $0.texts().count } == [0, 1, 0])
    #expect(hub.publish(name: "e", channel: "empty", data: "") == 0)
  }

  @Test func `what happened is told without secrets`() {
    let client = HubClient(.forTests(), "1.1")
    client.authorize("private-a")
    client.subscribe("private-b")
    client.lose(reason: "reset")
    let log = client.hub.takeLog()
    #expect(
      log == [
        .connected(socketID: "1.1"),
        .subscribed(socketID: "1.1", channel: "private-a", userID: nil),
        .subscriptionRefused(
          socketID: "1.1", channel: "private-b",
          reason: "Invalid key in subscription auth data: ''"),
        .disconnected(socketID: "1.1", code: nil, reason: "reset"),
      ])
    #expect(!log.description.contains("7ad3773142a6692b25b8"))
    #expect(!"\(client.hub.application)".contains("7ad3773142a6692b25b8"))
  }

  @Test func `foreign text in a log line cannot drive a terminal`() {
    let event = ServerLogEvent.event(
      name: "e\u{1B}[2J", channel: "c", data: "a\nb\u{9B}c", recipients: 1)
    #expect(event.description == "event e?[2J on c to 1: a?b?c")
  }

  // MARK: Presence channels

  private let channel = "presence-room"

  private func user(_ id: String, _ name: String) -> String {
    #"{"user_id":"\#(id)","user_info":{"name":"\#(name)"}}"#
  }

  @Test func `a member is added with the first connection and removed with the last`() {
    let hub = Hub.forTests()
    let watcher = hub.client()
    watcher.authorize(channel, channelData: user("1", "A"))
    _ = watcher.texts()
    let (first, second) = (hub.client("1.2"), hub.client("1.3"))
    first.authorize(channel, channelData: user("2", "B"))
    watcher.expect(
      #"{"event":"pusher_internal:member_added","channel":"presence-room","#
        + #""data":"{\"user_id\":\"2\",\"user_info\":{\"name\":\"B\"}}"}"#)
    second.authorize(channel, channelData: user("2", "B"))
    #expect(watcher.texts() == [])
    #expect(hub.userIDs(channel) == ["1", "2"] && hub.subscriptionCount(channel) == 3)
    first.lose()
    #expect(watcher.texts() == [])
    second.unsubscribe(channel)
    watcher.expect(
      #"{"event":"pusher_internal:member_removed","channel":"presence-room","#
        + #""data":"{\"user_id\":\"2\"}"}"#)
    #expect(hub.userIDs(channel) == ["1"])
  }

  @Test func `who joins is told of all, itself included, in the order of joining`() throws {
    let hub = Hub.forTests()
    for (index, id) in ["9", "3", "5"].enumerated() {
      hub.client("1.\(index)").join(channel, as: id)
    }
    let last = hub.client("2.1")
    last.join(channel, as: "1")
    let answer = try JSONParser.parse(try #require(last.texts().last))
    #expect(
      answer["data"]?.text
        == #"{"presence":{"ids":["9","3","5","1"],"#
        + #""hash":{"9":null,"3":null,"5":null,"1":null},"count":4}}"#)
  }

  @Test(
    arguments: [
      (nil, "presence channels need channel_data with a user_id, or a signed-in user"),
      ("{}", "channel_data is not a JSON object with a user_id"),
      ("nonsense", "channel_data is not a JSON object with a user_id"),
      (#"{"user_id":""}"#, "channel_data is not a JSON object with a user_id"),
      (
        #"{"user_id":"\#(String(repeating: "u", count: 129))"}"#,
        "a user_id has at most 128 characters; this one has 129"
      ),
      (
        #"{"user_id":"\#(String(repeating: "u", count: 1011))"}"#,
        "channel_data has at most 1024 bytes; this one has 1025"
      ),
    ] as [(String?, String)])
  func `a member that cannot be read is refused`(data: String?, reason: String) throws {
    let client = Hub.forTests().client()
    client.authorize(channel, channelData: data)
    let error = try client.error()
    #expect(error.channel == channel && error.message == reason)
  }

  @Test func `a full channel takes no new user, but more connections of its users`() throws {
    let hub = Hub.forTests { $0.presenceMembers = 2 }
    let clients = (1...4).map { hub.client("1.\($0)") }
    for (client, id) in zip(clients, ["a", "b", "c", "b"]) { client.join(channel, as: id) }
    let error = try clients[2].error()
    #expect(error.code == 4004 && error.channel == channel)
    #expect(hub.userIDs(channel) == ["a", "b"])
    #expect(hub.subscriptionCount(channel) == 3)
  }

  @Test func `the hub's counts agree with a simple model`() {
    var random = SeededGenerator(seed: 7)
    let hub = Hub.forTests()
    var clients: [(client: HubClient, user: String, isIn: Bool)] = (0..<12).map { index in
      (HubClient(hub, "1.\(index)"), "u\(index % 5)", false)
    }
    for _ in 0..<2000 {
      let index = random.below(12)
      let (client, user, isIn) = clients[index]
      if isIn { client.unsubscribe(channel) } else { client.join(channel, as: user) }
      clients[index].isIn = !isIn
      let present = clients.filter { $0.isIn }
      #expect(hub.subscriptionCount(channel) == present.count)
      #expect(Set(hub.userIDs(channel)) == Set(present.map { $0.user }))
      for entry in clients { _ = entry.client.session.connection.takeOutput() }
    }
  }
}
