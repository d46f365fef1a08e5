import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Connecting` {
  let service: LocalService
  init() throws { service = try LocalService() }

  @Test func `connect and disconnect go through the states in their order`() async throws {
    let pusher = service.pusher()
    let delegate = RecordingDelegate()
    pusher.connection.delegate = delegate
    #expect(pusher.connection.connectionState == .disconnected)
    pusher.connect()
    #expect(pusher.connection.connectionState != .disconnected)
    _ = try await delegate.connected.wait()
    #expect(pusher.connection.connectionState == .connected)
    #expect(pusher.connection.socketId?.contains(".") == true)
    pusher.disconnect()
    #expect(
      try await delegate.states.wait(for: 4) == [
        "disconnected > connecting", "connecting > connected", "connected > disconnecting",
        "disconnecting > disconnected",
      ])
    #expect(pusher.connection.socketId == nil)
    let ends = try await delegate.disconnected.wait()
    #expect(ends.map(\.willRetry) == [false])
    #expect(ends.first?.error == nil)
  }

  @Test func `url is the address that is dialled, and nil for options that name none`() throws {
    let pusher = service.pusher()
    let url = try #require(pusher.connection.url)
    #expect(url.hasPrefix("ws://127.0.0.1:\(service.port)/app/"))
    #expect(url.contains("?protocol=7&client=swift-pusher-core&version="))
    #expect(Pusher(key: "").connection.url == nil)
  }

  @Test func `channels and bindings survive disconnect and connect`() async throws {
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher)
    let events = Gathered<String>()
    let channel = pusher.subscribe("a")
    channel.bind(eventName: "e") { events.add($0.data ?? "none") }
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    pusher.disconnect()
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 2)
    try await service.trigger("e", "a", "1")
    #expect(try await events.wait() == ["1"])
    #expect(channel.isSubscribed)
  }

  @Test func `an event arrives with name, channel, data and time`() async throws {
    let pusher = service.pusher()
    let events = Gathered<PusherEvent>()
    pusher.subscribe("my-channel").bind(eventName: "my-event") { events.add($0) }
    try await pusher.joined()
    let data = #"{"text":"grüße \"x\" \\ \u00e9 😀","n":1.10}"#
    try await service.trigger("my-event", "my-channel", data)
    let event = try #require(try await events.wait().first)
    #expect(event.eventName == "my-event")
    #expect(event.channelName == "my-channel")
    #expect(event.data == data)
    #expect(event.jsonObject?["n"] == .number("1.10"))
    #expect(event.property(withKey: "channel") == "my-channel")
    #expect(event.userId == nil)
    #expect(event.timeReceived.millisecondsSince1970 > 1_700_000_000_000)
  }
}
