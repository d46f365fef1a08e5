import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Switching a living client` {
  private let first: LocalService
  private let second: LocalService
  private let delegate = RecordingDelegate()

  private static let other = Application(id: "4", key: "other-key", secret: "other-secret")

  init() throws {
    first = try LocalService()
    second = try LocalService { $0.applications.append(Self.other) }
  }

  @Test func `another host gets all channels and bindings, and the gap is told`() async throws {
    let pusher = try await first.joined(delegate)
    let events = Gathered<String?>()
    let channel = try #require(pusher.channel(named: "a"))
    channel.bind(eventName: "e") { events.add($0.data) }
    try pusher.connection.switch(to: .host("127.0.0.1"), port: second.port)
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(
      delegate.states.values.suffix(2) == ["connected > reconnecting", "reconnecting > connected"])
    #expect(pusher.connection.options.port == second.port)
    #expect(pusher.connection.url?.contains(":\(second.port)/") == true)
    #expect(pusher.channel(named: "a") === channel && channel.isSubscribed)
    #expect(try await delegate.missed.wait().count == 1)
    #expect(delegate.disconnected.values.map(\.willRetry) == [true])
    // The user has already decided, so the client does not ask the delegate.
    #expect(delegate.delays.values.isEmpty)
    try await second.trigger("e", "a", "2")
    #expect(try await events.wait() == ["2"])
    // The former server has noticed that the client left.
    while try await !first.api.channels().isEmpty {}
  }

  @Test func `another app is signed with its own secret`() async throws {
    let pusher = try await first.joined(delegate)
    var options = second.options(.inline(secret: Self.other.secret))
    options.retries.reconnectAttemptsMax = 7
    try pusher.connection.switch(to: options, key: Self.other.key)
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(delegate.failed.values.isEmpty)
    #expect(pusher.key == Self.other.key)
    #expect(pusher.connection.reconnectAttemptsMax == 7)
    #expect(Set(pusher.subscribedChannels.map(\.name)) == ["a", "private-b"])
  }

  @Test func `a switch to what cannot work is refused and changes nothing`() async throws {
    let pusher = try await first.joined(delegate)
    let socket = pusher.connection.socketId
    #expect(throws: PusherConfigurationError.invalidPort(0)) {
      try pusher.connection.switch(to: .host("127.0.0.1"), port: 0)
    }
    #expect(throws: PusherConfigurationError.missingKey) {
      try pusher.connection.switch(to: second.options(), key: "")
    }
    var options = second.options()
    options.useTLS = true
    options.caFile = "/nowhere/ca.pem"
    #expect(throws: PusherConfigurationError.self) { try pusher.connection.switch(to: options) }
    #expect(pusher.connection.options.port == first.port && pusher.connection.socketId == socket)
    #expect(pusher.connection.connectionState == .connected)
    #expect(delegate.states.values.count == 2)
  }

  @Test func `a handler may switch, and the last of many switches counts`() async throws {
    let pusher = try await first.joined(delegate)
    let (here, there) = (first.port, second.port)
    pusher.bind(eventName: "go") { [weak pusher] _ in
      for port in [there, here, there, here, there] {
        try? pusher?.connection.switch(to: .host("127.0.0.1"), port: port)
      }
    }
    try await first.trigger("go", "a")
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(pusher.connection.options.port == there)
    #expect(delegate.connected.values.count == 2)
  }
}
