import PusherCore
import PusherServer
import Testing

/// Reverb and soketi relay client events on every channel of the sender; Pusher only on private and
/// presence channels.
@Suite struct `What servers do with client events` {
  private static func hub(_ dialect: Dialect, allowsClientEvents: Bool = true) -> Hub {
    Hub(
      application: .forTests(allowsClientEvents: allowsClientEvents), limits: dialect.limits,
      dialect: dialect)
  }

  private static func pair(
    _ dialect: Dialect, _ channel: String, allowsClientEvents: Bool = true
  ) -> [HubClient] {
    let hub = hub(dialect, allowsClientEvents: allowsClientEvents)
    let clients = ["1.1", "1.2"].map { HubClient(hub, $0, dialect: dialect) }
    for (client, id) in zip(clients, [7, 8]) {
      let isPresence = channel.hasPrefix("presence-")
      client.authorize(channel, channelData: isPresence ? #"{"user_id":\#(id)}"# : nil)
    }
    for client in clients { _ = client.received() }
    return clients
  }

  @Test(arguments: ["news", "private-a", "private-encrypted-a", "cache-a"])
  func `Reverb and soketi pass them on on every channel, Pusher on private and presence ones`(
    channel: String
  ) {
    let event = #"{"event":"client-a","channel":"\#(channel)","data":{"n":1}}"#
    for dialect in Dialect.allCases {
      let pair = Self.pair(dialect, channel)
      pair[0].send(event)
      let isPassedOn = dialect != .pusher || channel == "private-a"
      #expect(pair[1].texts() == (isPassedOn ? [event] : []), "\(dialect)")
      #expect(pair[0].texts().count == (isPassedOn ? 0 : 1), "\(dialect)")
    }
  }

  @Test(
    arguments: [
      (
        Dialect.pusher,
        #"{"event":"pusher:error","channel":"private-a","data":{"code":null,"message":"#
          + #""Client event rejected - this connection is not subscribed to private-a"}}"#
      ),
      (
        .reverb,
        #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":"#
          + #"\"The client is not a member of the specified channel.\"}"}"#
      ), (.soketi, nil),
    ] as [(Dialect, String?)])
  func `who is not subscribed is told in three ways`(dialect: Dialect, expected: String?) {
    let client = HubClient(Self.hub(dialect), "1.1", dialect: dialect)
    _ = client.received()
    client.send(#"{"event":"client-a","channel":"private-a","data":{}}"#)
    #expect(client.texts() == (expected.map { [$0] } ?? []))
    #expect(!client.session.isFinished)
  }

  @Test(arguments: [
    (
      Dialect.pusher,
      #"{"event":"pusher:error","channel":"private-a","data":{"code":null,"message":"#
        + #""Client event rejected - client events are switched off for this app"}}"#
    ),
    (
      .reverb,
      #"{"event":"pusher:error","data":"{\"code\":4301,\"message\":"#
        + #"\"The app does not have client messaging enabled.\"}"}"#
    ),
    (
      .soketi,
      #"{"event":"pusher:error","channel":"private-a","data":{"code":4301,"message":"#
        + #""The app does not have client messaging enabled."}}"#
    ),
  ])
  func `an app that has switched them off says so in each server's words`(
    dialect: Dialect, expected: String
  ) {
    let pair = Self.pair(dialect, "private-a", allowsClientEvents: false)
    pair[0].send(#"{"event":"client-a","channel":"private-a","data":{}}"#)
    #expect(pair[0].texts() == [expected])
    #expect(pair[1].texts() == [])
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"event":"client-a","channel":"private-a"}"#),
    (.reverb, #"{"event":"client-a","channel":"private-a","data":null}"#),
    (.soketi, #"{"event":"client-a","channel":"private-a"}"#),
  ])
  func `one without data stays one, and Reverb gives it null`(dialect: Dialect, expected: String) {
    let pair = Self.pair(dialect, "private-a")
    pair[0].send(#"{"event":"client-a","channel":"private-a"}"#)
    #expect(pair[1].texts() == [expected])
  }

  @Test(arguments: [(Dialect.pusher, #""7""#), (.reverb, "7"), (.soketi, "7")])
  func `its sender's number stays a number with Reverb and soketi`(dialect: Dialect, id: String) {
    let pair = Self.pair(dialect, "presence-a")
    pair[0].send(#"{"event":"client-a","channel":"presence-a","data":{}}"#)
    #expect(
      pair[1].texts() == [
        #"{"event":"client-a","channel":"presence-a","data":{},"user_id":\#(id)}"#
      ])
  }
}
