import PusherCore
import TestSupport
import Testing

@testable import PusherServer

/// Two spellings of é are two channels, two users and two keys for the local server.
@Suite struct `Names that only look alike, at the server` {
  static let (one, other) = ("caf\u{E9}", "cafe\u{301}")

  /// A hub whose dialect takes any text as a channel's name.
  private func hub() -> Hub {
    Hub(application: .forTests(), dialect: .reverb)
  }

  /// Returns the data that a client received under an event's name, byte by byte.
  private func data(_ client: HubClient, _ event: String) -> [String] {
    client.texts().filter { $0.contains("\"event\":\"\(event)\"") }
  }

  @Test(arguments: ["", "private-", "cache-"])
  func `an event goes to the channel whose bytes were named`(prefix: String) {
    let hub = hub()
    let (a, b) = (HubClient(hub, "1.1", dialect: .reverb), HubClient(hub, "1.2", dialect: .reverb))
    a.authorize(prefix + Self.one)
    b.authorize(prefix + Self.other)
    #expect(hub.occupiedChannels.count == 2)
    _ = (a.texts(), b.texts())
    #expect(hub.publish(name: "e", channel: prefix + Self.one, data: "secret") == 1)
    #expect(data(a, "e").count == 1 && data(b, "e").isEmpty)
    #expect(hub.subscriptionCount(prefix + Self.other) == 1)
  }

  @Test func `one client may be in both, and leaves the one that it names`() {
    let hub = hub()
    let client = HubClient(hub, "1.1", dialect: .reverb)
    client.subscribe(Self.one)
    client.subscribe(Self.other)
    #expect(data(client, "pusher_internal:subscription_succeeded").count == 2)
    client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(Self.one)"}}"#)
    #expect(hub.occupiedChannels.map { Array($0.utf8) } == [Array(Self.other.utf8)])
  }

  @Test func `a channel is private by the bytes that it begins with`() {
    let hub = hub()
    let client = HubClient(hub, "1.1", dialect: .reverb)
    _ = client.texts()
    // `String` combines the accent with the hyphen, so this name does not have the prefix private-.
    client.subscribe("private-\u{301}x")
    #expect(hub.occupiedChannels.isEmpty, "\(client.texts())")
  }

  @Test func `two users in a presence channel are two members, and each leaves alone`() throws {
    let hub = hub()
    let clients = [Self.one, Self.other].enumerated().map { number, id in
      let client = HubClient(hub, "1.\(number + 1)", dialect: .reverb)
      client.authorize("presence-a", channelData: #"{"user_id":"\#(id)"}"#)
      return client
    }
    #expect(
      hub.userIDs("presence-a").map { Array($0.utf8) }
        == [Self.one, Self.other].map { Array($0.utf8) })
    #expect(data(clients[0], "pusher_internal:member_added").count == 1)
    hub.disconnect(clients[1].session, at: clients[1].now)
    #expect(data(clients[0], "pusher_internal:member_removed").count == 1)
    #expect(hub.userIDs("presence-a").count == 1)
  }

  @Test func `a cached event is that of the channel whose bytes were named`() {
    let hub = hub()
    hub.publish(name: "e", channel: "cache-" + Self.one, data: "one")
    #expect(hub.cachedData("cache-" + Self.other) == nil)
    hub.publish(name: "e", channel: "cache-" + Self.other, data: "other")
    #expect(hub.cachedData("cache-" + Self.one) == "one")
  }

  @Test func `a user's connections, watchers and end are those of the id's bytes`() {
    let hub = Hub.forTests()
    let clients = [Self.one, Self.other].enumerated().map { number, id in
      let client = HubClient(hub, "1.\(number + 1)")
      let userData = #"{"id":"\#(id)","watchlist":["\#(Self.one)"]}"#
      let application = hub.application
      let auth = SubscriptionSignature(key: application.key, secret: application.secret)
        .signIn(socketID: client.session.socketID, userData: userData)
      client.send(
        ClientCommand(service: .pusher).signIn(
          Authorization(PusherUserAuth(auth: auth, userData: userData))))
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
    let applications = Applications(
      [
        Application(id: "K", key: Self.one, secret: "s"),
        Application(id: "\u{212A}", key: Self.other, secret: "s"),
      ], random: SeededGenerator(seed: 1))
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
