import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite struct `What servers answer to connections and subscriptions` {
  private static func hub(_ dialect: Dialect) -> Hub {
    Hub(application: .forTests(), limits: dialect.limits, dialect: dialect)
  }

  private static func client(_ dialect: Dialect, of hub: Hub? = nil) -> HubClient {
    let client = HubClient(
      hub ?? Self.hub(dialect), hub == nil ? "1.1" : "1.2", dialect: dialect)
    _ = client.received()
    return client
  }

  @Test(arguments: [
    ("?protocol=7", [nil, nil, nil]), ("?protocol=8", [4007, nil, nil]),
    ("?protocol=x", [4007, nil, nil]), ("?version=beta", [4006, nil, nil]), ("", [nil, nil, nil]),
  ])
  func `only Pusher looks at protocol and version`(query: String, expected: [Int?]) {
    for (dialect, expected) in zip(Dialect.allCases, expected) {
      let applications = Applications(
        [Application(id: "1", key: "abc", secret: "s")], dialect: dialect,
        random: SeededGenerator(seed: 1))
      let head = HTTPRequestHead(method: "GET", target: "/app/abc" + query)
      do throws(ProtocolRefusal) {
        _ = try applications.admit(head)
        #expect(expected == nil, "\(dialect)")
      } catch { #expect(error.code?.rawValue == expected, "\(dialect)") }
    }
  }

  @Test(arguments: [Dialect.reverb, .soketi])
  func `subscribing twice succeeds twice, and makes one subscription`(dialect: Dialect) {
    let hub = Self.hub(dialect)
    let clients = [Self.client(dialect, of: hub), HubClient(hub, "1.3", dialect: dialect)]
    for channel in ["news", "private-a", "presence-a", "cache-a"] {
      let member = channel.hasPrefix("presence") ? #"{"user_id":"7"}"# : nil
      for client in clients { client.authorize(channel, channelData: member) }
      for client in clients { _ = client.texts() }
      clients[0].authorize(channel, channelData: member)
      let names = clients[0].texts().map { (try? JSONParser.parse($0))?["event"]?.text }
      let isCache = channel.hasPrefix("cache")
      #expect(
        names == ["pusher_internal:subscription_succeeded"] + (isCache ? ["pusher:cache_miss"] : [])
      )
      #expect(clients[1].texts() == [])
      #expect(hub.subscriptionCount(channel) == 2)
      #expect(hub.publish(name: "e", channel: channel, data: "{}") == 2)
      for client in clients { #expect(client.texts().count == 1) }
      clients[0].send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
      #expect(hub.subscriptionCount(channel) == 1)
    }
  }

  @Test func `subscribing again as somebody else takes the old member away`() {
    let hub = Self.hub(.reverb)
    let client = Self.client(.reverb, of: hub)
    let watcher = HubClient(hub, "1.3", dialect: .reverb)
    watcher.authorize("presence-a", channelData: #"{"user_id":"1"}"#)
    client.authorize("presence-a", channelData: #"{"user_id":"7"}"#)
    _ = watcher.texts()
    client.authorize("presence-a", channelData: #"{"user_id":"8"}"#)
    let data = watcher.texts().compactMap { (try? JSONParser.parse($0))?["data"]?.text }
    #expect(data == [#"{"user_id":"7"}"#, #"{"user_id":"8"}"#])
    #expect(hub.userIDs("presence-a") == ["1", "8"])
    client.lose()
    #expect(hub.userIDs("presence-a") == ["1"])
  }

  @Test(arguments: [
    (Dialect.pusher, #"\"10\""#), (.reverb, "10"), (.soketi, "10"),
  ])
  func `a member's number stays a number with Reverb and soketi`(dialect: Dialect, id: String) {
    let hub = Self.hub(dialect)
    let client = Self.client(dialect, of: hub)
    client.authorize("presence-a", channelData: #"{"user_id":10,"user_info":{"n":1}}"#)
    #expect(client.texts().last?.contains(#"\"ids\":[\#(id)],\"hash\":{\"10\":{\"n\":1}}"#) == true)
    let other = HubClient(hub, "1.3", dialect: dialect)
    other.authorize("presence-a", channelData: #"{"user_id":"x"}"#)
    _ = other.texts()
    let again = HubClient(hub, "1.4", dialect: dialect)
    again.authorize("presence-a", channelData: #"{"user_id":"10"}"#)
    #expect(hub.userIDs("presence-a") == ["10", "x"])
    client.lose()
    again.lose()
    #expect(other.texts().last?.hasSuffix(#""data":"{\"user_id\":\#(id)}"}"#) == true)
    client.lose()
    let newcomer = HubClient(hub, "1.5", dialect: dialect)
    newcomer.authorize("presence-a", channelData: #"{"user_id":10}"#)
    #expect(other.texts().last?.hasSuffix(#""data":"{\"user_id\":\#(id)}"}"#) == true)
  }

  @Test(arguments: [#""Ada""#, "7", "true", "[]", "null", "{}"])
  func `only Pusher requires an object as user_info`(info: String) {
    for dialect in Dialect.allCases {
      let hub = Self.hub(dialect)
      let client = Self.client(dialect, of: hub)
      client.authorize("presence-a", channelData: #"{"user_id":"7","user_info":\#(info)}"#)
      let isRefused = dialect == .pusher && info != "null" && info != "{}"
      #expect(hub.userIDs("presence-a") == (isRefused ? [] : ["7"]), "\(dialect)")
      guard isRefused else { continue }
      let reason = "user_info in channel_data is not a JSON object"
      #expect(client.texts().last?.contains(reason) == true)
    }
  }

  @Test func `soketi refuses a bad name and a full channel as subscription errors`() {
    let long = String(repeating: "c", count: 201)
    let client = Self.client(.soketi)
    client.subscribe(long)
    client.subscribe("a b")
    #expect(
      client.texts() == [
        #"{"event":"pusher:subscription_error","channel":"\#(long)","data":{"type":"LimitReached","#
          + #""error":"The channel name is longer than the allowed 200 characters.","status":4009}}"#,
        #"{"event":"pusher:subscription_error","channel":"a b","data":{"#
          + #""error":"Invalid channel name: byte 0x20 is not allowed in a channel name "#
          + #"(use A-Z a-z 0-9 _ - = @ , . ;)","status":4009}}"#,
      ])
    for index in 0..<100 {
      HubClient(client.hub, "2.\(index)", dialect: .soketi).authorize(
        "presence-a", channelData: #"{"user_id":"\#(index)"}"#)
    }
    client.authorize("presence-a", channelData: #"{"user_id":"x"}"#)
    #expect(
      client.texts() == [
        #"{"event":"pusher:subscription_error","channel":"presence-a","data":{"#
          + #""type":"LimitReached","#
          + #""error":"The maximum members per presence channel limit was reached","status":4100}}"#
      ])
    let info = String(repeating: "x", count: 2048)
    client.authorize("presence-b", channelData: #"{"user_id":"7","user_info":"\#(info)"}"#)
    #expect(client.texts().first?.contains(#""type":"LimitReached""#) == true)
    client.authorize("presence-b", channelData: "{}")
    #expect(client.texts().first?.contains(#""type":"ServerError""#) == true)
    #expect(!client.session.isFinished)
  }
}
