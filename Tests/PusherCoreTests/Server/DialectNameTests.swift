import PusherCore
import PusherServer
import Testing

@Suite struct `What servers read from names` {
  private static func client(_ dialect: Dialect) -> HubClient {
    let client = HubClient(
      Hub(
        application: .forTests(), limits: dialect.limits, dialect: dialect),
      "1.1", dialect: dialect)
    _ = client.received()
    return client
  }

  private static func names(_ client: HubClient) -> [String] {
    client.texts().map { (try? JSONParser.parse($0))?["event"]?.text ?? $0 }
  }

  @Test(arguments: [
    ("cache-a", [true, true, true]), ("cache", [false, true, false]),
    ("cached", [false, true, false]), ("private-cache-a", [true, true, true]),
    ("private-cached", [false, false, false]), ("presence-cache-a", [true, true, true]),
    ("private-encrypted-cache-a", [true, false, true]), ("news", [false, false, false]),
  ])
  func `each dialect has its own cache channels`(channel: String, isCache: [Bool]) {
    for (dialect, isCache) in zip(Dialect.allCases, isCache) {
      let client = Self.client(dialect)
      let member = channel.hasPrefix("presence") ? #"{"user_id":"7"}"# : nil
      client.authorize(channel, channelData: member)
      #expect(Self.names(client).contains("pusher:cache_miss") == isCache, "\(dialect)")
      client.hub.publish(name: "e", channel: channel, data: "1")
      #expect(client.hub.cachedData(channel) == (isCache ? "1" : nil), "\(dialect)")
    }
  }

  @Test(arguments: ["privately", "presence"])
  func `Reverb wants a signature for names that only begin like private ones`(channel: String) {
    for dialect in Dialect.allCases {
      let client = Self.client(dialect)
      client.subscribe(channel)
      let answer = dialect == .reverb ? "pusher:error" : "pusher_internal:subscription_succeeded"
      #expect(Self.names(client) == [answer])
    }
  }

  @Test func `encrypted channels are private ones to Reverb, with client events`() {
    let client = Self.client(.reverb)
    let other = HubClient(client.hub, "1.2", dialect: .reverb)
    for each in [client, other] {
      each.authorize("private-encrypted-a")
      _ = each.texts()
    }
    client.send(#"{"event":"client-x","channel":"private-encrypted-a","data":{}}"#)
    #expect(Self.names(client) == [])
    #expect(Self.names(other) == ["client-x"])
  }

  @Test(arguments: [String(repeating: "c", count: 201), "a b", "größe"])
  func `Reverb takes any name`(channel: String) {
    for dialect in Dialect.allCases {
      let client = Self.client(dialect)
      client.subscribe(channel)
      let answer =
        switch dialect {
        case .pusher: "pusher:error"
        case .reverb: "pusher_internal:subscription_succeeded"
        default: "pusher:subscription_error"
        }
      #expect(Self.names(client) == [answer], "\(dialect)")
    }
  }
}
