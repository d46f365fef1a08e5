import PusherCore
import TestSupport
import Testing

/// Bindings that end with their owner.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Bindings with an owner` {
  private final class Screen: Sendable {
    let seen = Gathered<String>()
    let client: Pusher?
    init(client: Pusher? = nil) { self.client = client }
    func show(_ event: PusherEvent) { seen.add("\(event.eventName) \(event.data ?? "")") }
  }

  private final class Kept: Sendable {}

  @Test func `client, channel and user bind to an owner, by name or to every event`() async throws {
    let client = try await JoinedClient()
    let screen = Screen()
    client.pusher.bind(eventName: "x", to: screen) { screen, event in screen.show(event) }
    client.channel.bind(to: screen) { screen, event in screen.show(event) }
    client.pusher.user.bind(to: screen) { screen, event in screen.show(event) }
    try await client.service.trigger("y", "a", "1")
    try await client.service.trigger("x", "a", "2")
    #expect(try await screen.seen.wait(for: 3) == ["y 1", "x 2", "x 2"])
  }

  @Test func `a handler of an owner that is gone is not called, and is released`() async throws {
    let client = try await JoinedClient()
    let counts = Gathered<Int>()
    weak var kept: Kept?
    do {
      let screen = Screen()
      let object = Kept()
      kept = object
      client.channel.bind(eventName: "x", to: screen) { _, _ in
        withExtendedLifetime(object) { counts.add(1) }
      }
      try await client.service.trigger("x", "a", "1")
      _ = try await counts.wait()
      withExtendedLifetime(screen) {}
    }
    let end = Gathered<Int>()
    client.channel.bind(eventName: "x") { _ in end.add(1) }
    try await client.service.trigger("x", "a", "2")
    try await client.service.trigger("x", "a", "3")
    _ = try await end.wait(for: 2)
    #expect(counts.values.count == 1)
    try await condition("it is released") { kept == nil }
  }

  @Test func `owners that come and go leave nothing behind, without an event`() async throws {
    let service = try LocalService()
    let channel = service.pusher().subscribe("a")
    weak var kept: Kept?
    for _ in 0..<100 {
      let (screen, object) = (Screen(), Kept())
      // The next handler releases the former one.
      channel.bind(eventName: "x", to: screen) { _, _ in withExtendedLifetime(object) {} }
      #expect(kept == nil)
      kept = object
      withExtendedLifetime(screen) {}
    }
  }

  @Test func `a handler of an owner can be unbound, and does not keep its client`() async throws {
    let service = try LocalService()
    weak var released: Pusher?
    do {
      let pusher = service.pusher()
      released = pusher
      let screen = Screen(client: pusher)
      let binding = pusher.bind(eventName: "x", to: screen) { screen, event in screen.show(event) }
      pusher.subscribe("a").bind(to: screen) { screen, event in screen.show(event) }
      #expect(pusher.removeBinding(binding))
      #expect(!pusher.removeBinding(binding))
    }
    #expect(released == nil)
  }
}
