import PusherCore
import Testing

@testable import PusherServer

/// Two spellings of é are two channels, two users and two keys for the local server.
struct `Names that only look alike, at the server` {
  static let (one, other) = ("caf\u{E9}", "cafe\u{301}")

  /// The dialect takes any text as a channel's name.
  private func clients() -> (HubClient, HubClient) {
    let client = Dialect.reverb.client()
    return (client, Dialect.reverb.client("1.2", of: client.hub))
  }

  private func utf8(_ names: [String]) -> [[UInt8]] { names.map { Array($0.utf8) } }

  @Test(arguments: ["", "private-", "cache-"])
  func `an event goes to the channel whose bytes were named`(prefix: String) {
    let (a, b) = clients()
    let hub = a.hub
    a.authorize(prefix + Self.one)
    b.authorize(prefix + Self.other)
    #expect(hub.occupiedChannels.count == 2)
    _ = (a.texts(), b.texts())
    #expect(hub.publish(name: "e", channel: prefix + Self.one, data: "secret") == 1)
    #expect(a.names() == ["e"] && b.names() == [])
    #expect(hub.subscriptionCount(prefix + Self.other) == 1)
  }

  @Test func `a client may be in two channels that look alike, and leaves one of them`() {
    let client = clients().0
    for channel in [Self.one, Self.other] { client.subscribe(channel) }
    #expect(
      client.names() == [String](repeating: "pusher_internal:subscription_succeeded", count: 2))
    client.unsubscribe(Self.one)
    #expect(utf8(client.hub.occupiedChannels) == utf8([Self.other]))
  }

  @Test func `two users in a presence channel are two members, and each leaves alone`() {
    let (a, b) = clients()
    let hub = a.hub
    a.join("presence-a", as: Self.one)
    b.join("presence-a", as: Self.other)
    #expect(utf8(hub.userIDs("presence-a")) == utf8([Self.one, Self.other]))
    #expect(a.names().last == "pusher_internal:member_added")
    hub.disconnect(b.session, at: b.now)
    #expect(a.names() == ["pusher_internal:member_removed"])
    #expect(hub.userIDs("presence-a").count == 1)
  }

  @Test func `a cached event is that of the channel whose bytes were named`() {
    let hub = Dialect.reverb.hub()
    hub.publish(name: "e", channel: "cache-" + Self.one, data: "one")
    #expect(hub.cachedData("cache-" + Self.other) == nil)
    hub.publish(name: "e", channel: "cache-" + Self.other, data: "other")
    #expect(hub.cachedData("cache-" + Self.one) == "one")
  }

  @Test func `a user's connections, watchers and end are those of the id's bytes`() {
    let hub = Hub.forTests()
    let clients = [Self.one, Self.other].enumerated().map { number, id in
      let client = hub.client("1.\(number)")
      client.signIn(#"{"id":"\#(id)","watchlist":["\#(Self.one)"]}"#)
      return client
    }
    #expect(hub.users.sessions(of: Self.one).count == 1)
    #expect(hub.users.sessions(of: Self.other).count == 1)
    #expect(hub.terminateConnections(userID: Self.other, at: Instant(nanoseconds: 0)))
    #expect(clients[0].session.isOpen && !clients[1].session.isOpen)
  }

  @Test func `sockets and apps are found by the bytes of id and key`() {
    let hub = Hub.forTests()
    // `String` treats U+212A, the kelvin sign, as K, and U+037E as a semicolon.
    _ = HubClient(hub, "1;K")
    #expect(hub.hasSocket("1;K") && !hub.hasSocket("1\u{37E}K") && !hub.hasSocket("1;\u{212A}"))
    let applications = Applications([
      Application(id: "K", key: Self.one, secret: "s"),
      Application(id: "\u{212A}", key: Self.other, secret: "s"),
    ])
    #expect(applications.hub(key: Self.one) === applications.hubs[0])
    #expect(applications.hub(key: Self.other) === applications.hubs[1])
    #expect(applications.hub(id: "K") === applications.hubs[0])
    #expect(applications.hub(id: "\u{212A}") === applications.hubs[1])
  }

  @Test func `a departure is not taken back by the arrival of another`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let now = Instant(nanoseconds: 0)
    #expect(notices.take(.init(.channelVacated, Self.one), at: now) == nil)
    #expect(notices.take(.init(.channelOccupied, Self.other), at: now) != nil)
    #expect(notices.take(.init(.memberRemoved, "a", userID: Self.one), at: now) == nil)
    #expect(notices.take(.init(.memberAdded, "a", userID: Self.other), at: now) != nil)
    #expect(notices.takeDue(at: now.advanced(by: .seconds(3))).count == 2)
  }
}
