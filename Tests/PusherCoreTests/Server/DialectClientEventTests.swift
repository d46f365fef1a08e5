import PusherCore
import PusherServer
import Testing

/// Reverb and soketi relay client events on every channel of the sender; Pusher only on private and
/// presence channels.
struct `What servers do with client events` {
  private static func pair(_ dialect: Dialect, _ channel: String, isAllowed: Bool = true)
    -> [HubClient]
  {
    dialect.hub { $0.allowsClientEvents = isAllowed }.pair(on: channel, dialect: dialect)
  }

  @Test(arguments: ["news", "private-a", "private-encrypted-a", "cache-a"])
  func `Reverb and soketi pass client events on everywhere, Pusher on two kinds`(channel: String) {
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
    let client = dialect.client()
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
    let pair = Self.pair(dialect, "private-a", isAllowed: false)
    pair[0].send(#"{"event":"client-a","channel":"private-a","data":{}}"#)
    #expect(pair[0].texts() == [expected])
    #expect(pair[1].texts() == [])
  }

  /// Members after the channel as they are sent, and as they are passed on; `nil` for an error.
  @Test(
    arguments: [
      (.pusher, #","data":"{\"n\":1}""#, #","data":"{\"n\":1}""#),
      (.pusher, #","data":{"n":1.10,"s":"ä"}"#, #","data":{"n":1.10,"s":"ä"}"#),
      (.pusher, #","data":"plain""#, #","data":"plain""#), (.pusher, "", ""),
      (.soketi, #","data":"plain""#, #","data":"plain""#), (.soketi, "", ""),
      (.reverb, #","data":"{\"n\":1}""#, #","data":{"n":1}"#),
      (.reverb, #","data":{"n":1}"#, #","data":{"n":1}"#), (.reverb, "", #","data":null"#),
      (.reverb, #","data":"plain""#, nil),
    ] as [(Dialect, String, String?)])
  func `each server passes on its client events`(dialect: Dialect, data: String, relayed: String?) {
    let pair = Self.pair(dialect, "private-a")
    let event = #"{"event":"client-a","channel":"private-a""#
    pair[0].send(event + data + "}")
    #expect(pair[1].texts() == (relayed.map { [event + $0 + "}"] } ?? []))
    #expect(pair[0].texts().count == (relayed == nil ? 1 : 0))
  }

  @Test(arguments: [(Dialect.pusher, #""7""#), (.reverb, "7"), (.soketi, "7")])
  func `a sender's number stays a number with Reverb and soketi`(dialect: Dialect, id: String) {
    let client = dialect.client()
    client.authorize("presence-a", channelData: #"{"user_id":7}"#)
    let other = dialect.client("1.2", of: client.hub)
    other.join("presence-a", as: "8")
    _ = other.received()
    client.send(#"{"event":"client-a","channel":"presence-a","data":{}}"#)
    other.expect(#"{"event":"client-a","channel":"presence-a","data":{},"user_id":\#(id)}"#)
  }

  @Test func `soketi numbers every client event that it refuses`() {
    let pair = Self.pair(.soketi, "news")
    let name = "client-" + String(repeating: "x", count: 200)
    pair[0].send(#"{"event":"\#(name)","channel":"news","data":{}}"#)
    #expect(pair[0].texts().first?.contains(#""data":{"code":4301,"#) == true)
  }

  // MARK: Pusher

  private static let clientX = #"{"event":"client-x","channel":"private-room","data":{}}"#

  @Test func `a client event on a presence channel names its sender, whatever the sender claims`() {
    let clients = Hub.forTests().pair(on: "presence-room")
    clients[1].send(
      #"{"event":"client-x","channel":"presence-room","data":{},"user_id":"somebody"}"#)
    clients[0].expect(#"{"event":"client-x","channel":"presence-room","data":{},"user_id":"1"}"#)
  }

  @Test(arguments: ["news", "private-encrypted-a"])
  func `client events are for private and presence channels only`(channel: String) throws {
    let client = Hub.forTests().client()
    client.authorize(channel)
    client.send(#"{"event":"client-x","channel":"\#(channel)","data":{}}"#)
    #expect(
      try client.error().message
        == "Client event rejected - only supported on private and presence channels")
  }

  @Test func `ten pass in a second and the eleventh is refused with 4301`() throws {
    let clients = Hub.forTests().pair(on: "private-room")
    for _ in 0..<11 { clients[0].send(Self.clientX) }
    #expect(clients[1].texts().count == 10)
    #expect(try clients[0].error().code == 4301)
    clients[0].now = clients[0].now.advanced(by: .milliseconds(999))
    clients[0].send(Self.clientX)
    #expect(try clients[0].error().code == 4301)
    clients[0].now = clients[0].now.advanced(by: .milliseconds(1))
    clients[0].send(Self.clientX)
    #expect(clients[1].texts().count == 1)
    // Each connection has its own limit.
    clients[1].send(Self.clientX)
    #expect(clients[0].texts().count == 1)
  }

  @Test(arguments: [10_240, 10_241])
  func `a client event's data is limited like that of other events`(length: Int) throws {
    let clients = Hub.forTests().pair(on: "private-room")
    let data = String(repeating: "x", count: length)
    clients[0].send(#"{"event":"client-x","channel":"private-room","data":"\#(data)"}"#)
    #expect(clients[1].texts().count == (length == 10_240 ? 1 : 0))
    guard length > 10_240 else { return }
    #expect(
      try clients[0].error().message
        == "Client event rejected - the data has 10241 bytes; the maximum is 10240")
  }
}
