import PusherCore
import TestSupport
import Testing

/// Sequences of all events of a client or a channel.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Events as a sequence` {
  @Test func `a client's events come in their order`() async throws {
    let client = try await JoinedClient()
    let events = client.pusher.events()
    for number in 0..<20 {
      try await client.service.trigger("x", number % 2 == 0 ? "a" : "b", "\(number)")
    }
    let iterator = events.makeAsyncIterator()
    for number in 0..<20 { #expect(await iterator.next()?.data == "\(number)") }
    #expect(events.droppedCount == 0)
  }
}

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Client events` {
  let service: LocalService
  init() throws { service = try LocalService() }

  @Test func `events triggered before the subscription wait, and come in order`() async throws {
    let (sender, receiver) = (service.signingPusher(), service.signingPusher())
    let events = Gathered<PusherEvent>()
    receiver.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "r") }
    sender.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "s") }
    receiver.subscribe("presence-a").bind {
      if $0.eventName.hasPrefix("client-") { events.add($0) }
    }
    try await receiver.joined()
    let channel = sender.subscribe("presence-a")
    for number in 0..<5 {
      try channel.trigger(eventName: "client-x", data: ["n": .integer(number)])
    }
    try channel.trigger(eventName: "y", data: "text")
    sender.connect()
    let all = try await events.wait(for: 6)
    #expect(all.prefix(5).map { $0.jsonObject?["n"]?.integer } == [0, 1, 2, 3, 4])
    #expect(all.last?.eventName == "client-y")
    #expect(all.last?.data == "text")
    #expect(all.map(\.userId) == [String?](repeating: "s", count: 6))
  }

  @Test func `what no server takes is refused before anything is sent`() throws {
    let pusher = service.signingPusher()
    let channel = pusher.subscribe("private-a")
    let name = String(repeating: "x", count: 194)
    let text = String(repeating: "x", count: 10_239)
    let refused: [(PusherChannel, String, JSONValue?, ClientEventError)] = [
      (pusher.subscribe("a"), "client-x", nil, .wrongKind(channel: "a", .public)),
      (
        pusher.subscribe("private-encrypted-a"), "client-x", nil,
        .wrongKind(channel: "private-encrypted-a", .encrypted)
      ),
      (channel, "client-", nil, .emptyName),
      (channel, name, nil, .nameTooLong(bytes: 201, limit: 200)),
      (channel, "x", .string(text), .dataTooLong(bytes: 10_241, limit: 10_240)),
    ]
    for (channel, name, data, error) in refused {
      #expect(throws: error) { try channel.trigger(eventName: name, data: data) }
    }
    try channel.trigger(eventName: String(name.dropFirst()), data: nil)
    try channel.trigger(eventName: "x", data: .string(String(text.dropFirst())))
    channel.unsubscribe()
    #expect(throws: ClientEventError.notSubscribed(channel: "private-a")) {
      try channel.trigger(eventName: "x", data: nil)
    }
  }

  @Test func `the queue of client events is bounded`() throws {
    let pusher = service.signingPusher()
    let channel = pusher.subscribe("private-a")
    for _ in 0..<PusherChannel.clientEventLimit { try channel.trigger(eventName: "x", data: nil) }
    #expect(throws: ClientEventError.queueFull(channel: "private-a", limit: 100)) {
      try channel.trigger(eventName: "x", data: nil)
    }
  }
}
