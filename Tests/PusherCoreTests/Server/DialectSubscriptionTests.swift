import PusherCore
import PusherServer
import Testing

struct `What servers answer to subscriptions` {
  private static let succeeded = "pusher_internal:subscription_succeeded"

  // MARK: Names

  @Test(arguments: [
    ("cache-a", [true, true, true]), ("cache", [false, true, false]),
    ("cached", [false, true, false]), ("private-cache-a", [true, true, true]),
    ("private-cached", [false, false, false]), ("presence-cache-a", [true, true, true]),
    ("private-encrypted-cache-a", [true, false, true]), ("news", [false, false, false]),
  ])
  func `each dialect has its own cache channels`(channel: String, isCache: [Bool]) {
    for (dialect, isCache) in zip(Dialect.allCases, isCache) {
      let client = dialect.client()
      client.join(channel)
      #expect(client.names().contains("pusher:cache_miss") == isCache, "\(dialect)")
      client.hub.publish(name: "e", channel: channel, data: "1")
      #expect(client.hub.cachedData(channel) == (isCache ? "1" : nil), "\(dialect)")
    }
  }

  /// The answers of Pusher, Reverb and soketi to a subscription without a signature.
  @Test(arguments: [
    ("privately", [succeeded, "pusher:error", succeeded]),
    ("presence", [succeeded, "pusher:error", succeeded]),
    (String(repeating: "c", count: 201), ["pusher:error", succeeded, "pusher:subscription_error"]),
    ("a b", ["pusher:error", succeeded, "pusher:subscription_error"]),
    ("größe", ["pusher:error", succeeded, "pusher:subscription_error"]),
  ])
  func `Reverb takes any name, and asks for a signature where it begins like a private one`(
    channel: String, answers: [String]
  ) {
    for (dialect, answer) in zip(Dialect.allCases, answers) {
      let client = dialect.client()
      client.subscribe(channel)
      #expect(client.names() == [answer], "\(dialect)")
    }
  }

  // MARK: Answers

  @Test(arguments: [
    (
      Dialect.pusher,
      [
        #""channel":"news","data":"{}"}"#,
        #""channel":"news","data":"{\"subscription_count\":1}"}"#,
      ]
    ), (.reverb, [#""channel":"news","data":"{}"}"#]), (.soketi, [#""channel":"news"}"#]),
  ])
  func `subscription_succeeded may have data, and counts follow`(dialect: Dialect, ends: [String]) {
    let client = dialect.client(of: dialect.hub { $0.sendsSubscriptionCounts = true })
    client.subscribe("news")
    let texts = client.texts()
    #expect(texts.count == ends.count)
    #expect(zip(texts, ends).allSatisfy { $0.hasSuffix($1) }, "\(texts)")
  }

  @Test(arguments: [Dialect.reverb, .soketi])
  func `subscribing twice succeeds twice, and makes one subscription`(dialect: Dialect) {
    let hub = dialect.hub()
    let clients = ["1.2", "1.3"].map { dialect.client($0, of: hub) }
    for channel in ["news", "private-a", "presence-a", "cache-a"] {
      for client in clients { client.join(channel) }
      for client in clients { _ = client.texts() }
      clients[0].join(channel)
      let isCache = channel.hasPrefix("cache")
      #expect(clients[0].names() == [Self.succeeded] + (isCache ? ["pusher:cache_miss"] : []))
      #expect(clients[1].texts() == [])
      #expect(hub.subscriptionCount(channel) == 2)
      #expect(hub.publish(name: "e", channel: channel, data: "{}") == 2)
      #expect(clients.map { $0.texts().count } == [1, 1])
      clients[0].unsubscribe(channel)
      #expect(hub.subscriptionCount(channel) == 1)
    }
  }

  @Test func `soketi refuses a bad name and a full channel as subscription errors`() {
    let long = String(repeating: "c", count: 201)
    let client = Dialect.soketi.client()
    client.subscribe(long)
    client.subscribe("a b")
    client.expect(
      #"{"event":"pusher:subscription_error","channel":"\#(long)","data":{"type":"LimitReached","#
        + #""error":"The channel name is longer than the allowed 200 characters.","status":4009}}"#,
      #"{"event":"pusher:subscription_error","channel":"a b","data":{"#
        + #""error":"Invalid channel name: byte 0x20 is not allowed in a channel name "#
        + #"(use A-Z a-z 0-9 _ - = @ , . ;)","status":4009}}"#)
    for index in 0..<100 {
      Dialect.soketi.client("2.\(index)", of: client.hub).join("presence-a", as: "\(index)")
    }
    client.join("presence-a", as: "x")
    client.expect(
      #"{"event":"pusher:subscription_error","channel":"presence-a","data":{"#
        + #""type":"LimitReached","#
        + #""error":"The maximum members per presence channel limit was reached","status":4100}}"#)
    let info = String(repeating: "x", count: 2048)
    client.authorize("presence-b", channelData: #"{"user_id":"7","user_info":"\#(info)"}"#)
    #expect(client.texts().first?.contains(#""type":"LimitReached""#) == true)
    client.authorize("presence-b", channelData: "{}")
    #expect(client.texts().first?.contains(#""type":"ServerError""#) == true)
    #expect(!client.session.isFinished)
  }

  // MARK: Members

  @Test func `subscribing again as somebody else takes the old member away`() {
    let client = Dialect.reverb.client()
    let watcher = Dialect.reverb.client("1.3", of: client.hub)
    watcher.join("presence-a", as: "1")
    client.join("presence-a", as: "7")
    _ = watcher.texts()
    client.join("presence-a", as: "8")
    let data = watcher.texts().compactMap { (try? JSONParser.parse($0))?["data"]?.text }
    #expect(data == [#"{"user_id":"7"}"#, #"{"user_id":"8"}"#])
    #expect(client.hub.userIDs("presence-a") == ["1", "8"])
    client.lose()
    #expect(client.hub.userIDs("presence-a") == ["1"])
  }

  @Test(arguments: [(Dialect.pusher, #"\"10\""#), (.reverb, "10"), (.soketi, "10")])
  func `a member's number stays a number with Reverb and soketi`(dialect: Dialect, id: String) {
    let client = dialect.client()
    let hub = client.hub
    client.authorize("presence-a", channelData: #"{"user_id":10,"user_info":{"n":1}}"#)
    #expect(client.texts().last?.contains(#"\"ids\":[\#(id)],\"hash\":{\"10\":{\"n\":1}}"#) == true)
    let other = dialect.client("1.3", of: hub)
    other.join("presence-a", as: "x")
    _ = other.texts()
    let again = dialect.client("1.4", of: hub)
    again.join("presence-a", as: "10")
    #expect(hub.userIDs("presence-a") == ["10", "x"])
    client.lose()
    again.lose()
    let end = #""data":"{\"user_id\":\#(id)}"}"#
    #expect(other.texts().last?.hasSuffix(end) == true)
    dialect.client("1.5", of: hub).authorize("presence-a", channelData: #"{"user_id":10}"#)
    #expect(other.texts().last?.hasSuffix(end) == true)
  }

  @Test(arguments: [#""Ada""#, "7", "true", "[]", "null", "{}"])
  func `only Pusher requires an object as user_info`(info: String) {
    for dialect in Dialect.allCases {
      let client = dialect.client()
      client.authorize("presence-a", channelData: #"{"user_id":"7","user_info":\#(info)}"#)
      let isRefused = dialect == .pusher && info != "null" && info != "{}"
      #expect(client.hub.userIDs("presence-a") == (isRefused ? [] : ["7"]), "\(dialect)")
      guard isRefused else { continue }
      let reason = "user_info in channel_data is not a JSON object"
      #expect(client.texts().last?.contains(reason) == true)
    }
  }

  @Test func `Reverb calls channel_data that is no JSON an invalid message, 4200`() {
    let client = Dialect.reverb.client()
    client.authorize("presence-a", channelData: "{nonsense")
    client.expect(
      #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#)
    #expect(client.hub.userIDs("presence-a").isEmpty)
    client.authorize("presence-a", channelData: #"{"user_id":1}"#)
    #expect(client.hub.userIDs("presence-a") == ["1"])
  }
}
