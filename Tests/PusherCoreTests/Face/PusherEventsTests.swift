import PusherCore
import TestSupport
import Testing

/// Sequences of all events of a client or a channel.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Events as a sequence` {
  private let client: JoinedClient
  private var service: LocalService { client.service }
  private var pusher: Pusher { client.pusher }
  private var channel: PusherChannel { client.channel }

  init() async throws {
    client = try await JoinedClient()
  }

  @Test func `a client's events come in their order`() async throws {
    let events = pusher.events()
    for number in 0..<20 {
      try await service.trigger("x", number % 2 == 0 ? "a" : "b", "\(number)")
    }
    var data: [String?] = []
    for await event in events {
      data.append(event.data)
      if data.count == 20 { break }
    }
    #expect(data == (0..<20).map { String($0) })
    #expect(events.droppedCount == 0)
  }

  @Test func `a channel's events end when the channel is unsubscribed`() async throws {
    let events = channel.events()
    try await service.trigger("x", "b", "1")
    try await service.trigger("x", "a", "2")
    let iterator = events.makeAsyncIterator()
    #expect(await iterator.next()?.data == "2")
    channel.unsubscribe()
    #expect(await iterator.next()?.data == nil)
  }

  @Test(arguments: [true, false])
  func `a full buffer drops as asked for, and says where and how many`(
    _ newest: Bool
  ) async throws {
    let events = pusher.feed(buffering: newest ? .newest(3) : .oldest(3))
    let end = Gathered<Int>()
    pusher.bind(eventName: "x") { _ in end.add(0) }
    for number in 0..<10 { try await service.trigger("x", "a", "\(number)") }
    _ = try await end.wait(for: 10)
    // The sequence was bound first, but named handlers run earlier. Let it receive the last event
    // too.
    try await condition("they are dropped") { events.droppedCount == 7 }
    let iterator = events.makeAsyncIterator()
    var seen: [String] = []
    for _ in 0..<4 { seen.append(await iterator.next().shown) }
    #expect(seen == (newest ? ["lost 7", "7", "8", "9"] : ["0", "1", "2", "lost 7"]))
    #expect(events.droppedCount == 7)
  }

  @Test func `a reader that is cancelled ends`() async throws {
    let pusher = pusher
    let reader = Task {
      var count = 0
      for await _ in pusher.events() { count += 1 }
      return count
    }
    reader.cancel()
    #expect(await reader.value == 0)
  }
}

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Client events` {
  let service: LocalService
  init() throws { service = try LocalService() }

  @Test func `events that are triggered before the channel is subscribed wait, and come in order`()
    async throws
  {
    let (sender, receiver) = (service.signingPusher(), service.signingPusher())
    let delegate = RecordingDelegate(of: receiver)
    let events = Gathered<PusherEvent>()
    receiver.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "r") }
    sender.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "s") }
    receiver.subscribe("presence-a").bind {
      if $0.eventName.hasPrefix("client-") { events.add($0) }
    }
    receiver.connect()
    _ = try await delegate.subscribed.wait()
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
    #expect(throws: ClientEventError.wrongKind(channel: "a", .public)) {
      try pusher.subscribe("a").trigger(eventName: "client-x", data: nil)
    }
    #expect(throws: ClientEventError.wrongKind(channel: "private-encrypted-a", .encrypted)) {
      try pusher.subscribe("private-encrypted-a").trigger(eventName: "client-x", data: nil)
    }
    #expect(throws: ClientEventError.emptyName) {
      try channel.trigger(eventName: "client-", data: nil)
    }
    let name = String(repeating: "x", count: 194)
    #expect(throws: ClientEventError.nameTooLong(bytes: 201, limit: 200)) {
      try channel.trigger(eventName: name, data: nil)
    }
    try channel.trigger(eventName: String(name.dropFirst()), data: nil)
    let text = String(repeating: "x", count: 10_239)
    #expect(throws: ClientEventError.dataTooLong(bytes: 10_241, limit: 10_240)) {
      try channel.trigger(eventName: "x", data: .string(text))
    }
    try channel.trigger(eventName: "x", data: .string(String(text.dropFirst())))
    channel.unsubscribe()
    #expect(throws: ClientEventError.notSubscribed(channel: "private-a")) {
      try channel.trigger(eventName: "x", data: nil)
    }
  }

  @Test func `the queue is bounded`() throws {
    let pusher = service.signingPusher()
    let channel = pusher.subscribe("private-a")
    for _ in 0..<PusherChannel.clientEventLimit { try channel.trigger(eventName: "x", data: nil) }
    #expect(throws: ClientEventError.queueFull(channel: "private-a", limit: 100)) {
      try channel.trigger(eventName: "x", data: nil)
    }
  }

  @Test func `too many a second get error 4301, by receivedError and as pusher error`()
    async throws
  {
    let pusher = service.signingPusher()
    let delegate = RecordingDelegate(of: pusher)
    let events = Gathered<JSONValue?>()
    pusher.bind(eventName: "pusher:error") { events.add($0.jsonObject) }
    let channel = pusher.subscribe("private-a")
    for _ in 0..<12 { try channel.trigger(eventName: "x", data: nil) }
    pusher.connect()
    #expect(try await delegate.errors.wait().first?.code == 4301)
    #expect(try await events.wait().first??["code"] == 4301)
  }
}
