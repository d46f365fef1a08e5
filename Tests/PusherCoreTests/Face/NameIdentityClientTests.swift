import TestSupport
import Testing

@testable import PusherCore

/// Two spellings of é are two events and two users for a client.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Names that only look alike, at the client` {
  static let (one, other) = ("caf\u{E9}", "cafe\u{301}")

  @Test func `a roster keeps two members, and one that leaves is the one that is named`() {
    let list =
      #"{"presence":{"count":2,"ids":["\#(Self.one)","\#(Self.other)"],"hash":{"\#(Self.one)":1,"\#(Self.other)":2}}}"#
    var roster = PresenceRoster()
    withView(Array(list.utf8)) { roster.read(data: $0) }
    #expect(
      roster.count == 2 && roster[Self.one]?.userInfo == 1 && roster[Self.other]?.userInfo == 2)
    #expect(roster.remove(Self.other)?.userInfo == 2)
    #expect(roster[Self.other] == nil && roster[Self.one]?.userInfo == 1)
    #expect(roster.insert(Self.other, 3) && roster.count == 2)
  }

  @Test func `a handler gets the events whose bytes it is bound to`() async throws {
    let service = try LocalService()
    let pusher = service.pusher()
    let told = Gathered<String>()
    let channel = pusher.subscribe("a")
    channel.bind(eventName: Self.one) { _ in told.add("channel one") }
    channel.bind(eventName: Self.other) { _ in told.add("channel other") }
    pusher.bind(eventName: Self.one) { _ in told.add("client one") }
    try await pusher.joined()
    for name in [Self.other, Self.one] { try await service.trigger(name, "a") }
    #expect(try await told.wait(for: 3) == ["channel other", "channel one", "client one"])
  }

  @Test func `subscriptions are told apart by their bytes`() {
    var table = SubscriptionTable()
    for name in [Self.one, Self.other] {
      var subscription = Subscription(channel: name)
      subscription.state = .subscribed
      table[name] = subscription
    }
    #expect(table.count == 2 && table.areAllSubscribed)
    table[Self.one] = nil
    #expect(
      table[Self.other] != nil && table.names.map { Array($0.utf8) } == [Array(Self.other.utf8)])
  }

  @Test func `listeners of an event source are told apart by their bytes`() {
    let source = EventSource(url: "http://127.0.0.1:1/")
    source.addEventListener(Self.one) { _, _, _ in }
    source.addEventListener(Self.other) { _, _, _ in }
    #expect(source.events().count == 2)
    source.removeEventListener(Self.one)
    #expect(source.events().map { Array($0.utf8) } == [Array(Self.other.utf8)])
  }
}
