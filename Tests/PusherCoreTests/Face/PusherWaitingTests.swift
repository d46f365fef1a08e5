import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Waiting` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func lonely() -> Pusher {
    Pusher(
      key: "key",
      options: PusherClientOptions(
        autoReconnect: false, host: .host("127.0.0.1"), port: 1, useTLS: false))
  }

  private func unanswered() async throws -> (RawServer, Pusher, Task<Void, any Error>) {
    let server = try RawServer { $0.waitForEnd() }
    let pusher = Pusher(
      key: "key",
      options: PusherClientOptions(host: .host("127.0.0.1"), port: server.port, useTLS: false))
    let wait = Task { try await pusher.connected() }
    for await state in pusher.states where state == .connecting { break }
    return (server, pusher, wait)
  }

  @Test func `connected returns once the server has greeted the socket, and at once after that`()
    async throws
  {
    let pusher = service.pusher()
    try await pusher.connected()
    #expect(pusher.connection.socketId != nil)
    try await pusher.connected(within: .zero)
  }

  @Test func `connected throws what keeps the client from connecting`() async throws {
    let error = try await #require(throws: ConnectionLoss.self) {
      try await lonely().connected()
    }
    #expect("\(error)".contains("connection refused"))
    await #expect(throws: PusherConfigurationError.missingKey) {
      try await Pusher(key: "").connected()
    }
  }

  @Test func `the members are known when subscribed returns`() async throws {
    for number in 0..<100 {
      let pusher = service.signingPusher()
      pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ann") }
      let room = pusher.subscribeToPresenceChannel(channelName: "presence-\(number)")
      pusher.connect()
      try await room.subscribed()
      guard room.me()?.userId == "ann" else {
        Issue.record("no members in attempt \(number)")
        return
      }
    }
  }

  @Test func `disconnect ends the wait`() async throws {
    let (server, pusher, wait) = try await unanswered()
    defer { withExtendedLifetime(server) {} }
    pusher.disconnect()
    await #expect(throws: PusherWaitError.disconnected) { try await wait.value }
  }

  @Test func `a wait that is cancelled or too long ends, and the client goes on`() async throws {
    let (server, pusher, wait) = try await unanswered()
    defer { withExtendedLifetime(server) {} }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    let limit = Duration.milliseconds(1)
    await #expect(throws: PusherWaitError.timeout(limit)) {
      try await pusher.connected(within: limit)
    }
    #expect(pusher.connection.connectionState == .connecting)
  }

  @Test func `states begins with the present one and ends with the client`() async throws {
    var pusher: Pusher? = service.pusher()
    let states = try #require(pusher?.states)
    try await pusher?.connected()
    pusher?.disconnect()
    var seen: [ConnectionState] = []
    for await state in states {
      seen.append(state)
      if seen.count == 5 { pusher = nil }
    }
    #expect(seen == [.disconnected, .connecting, .connected, .disconnecting, .disconnected])
  }

  @Test func `subscribed returns once the server has confirmed, and at once after that`()
    async throws
  {
    let pusher = service.pusher()
    let channel = pusher.subscribe("a")
    try await pusher.connected()
    try await channel.subscribed()
    #expect(channel.isSubscribed && channel.subscribed)
    try await channel.subscribed(within: .zero)
  }

  @Test func `subscribed throws the failure, and a new attempt can succeed`() async throws {
    let pusher = service.pusher()
    let channel = pusher.subscribe("private-a")
    var failures = channel.failures.makeAsyncIterator()
    try await pusher.connected()
    let failure = try await #require(throws: SubscriptionFailure.self) {
      try await channel.subscribed()
    }
    #expect(await failures.next() == failure)
    #expect(channel.failure == failure)
    await #expect(throws: failure) { try await channel.subscribed() }
  }

  @Test func `a channel that cannot be throws at once, and one that is unsubscribed ends the wait`()
    async throws
  {
    let pusher = service.pusher()
    await #expect(throws: SubscriptionFailure.self) {
      try await pusher.subscribe("two words").subscribed()
    }
    let channel = pusher.subscribe("a")
    let wait = Task { try await channel.subscribed() }
    let failures = channel.failures
    channel.unsubscribe()
    await #expect(throws: PusherWaitError.ended) { try await wait.value }
    for await failure in failures { Issue.record("\(failure)") }
    await #expect(throws: PusherWaitError.ended) { try await channel.subscribed() }
  }

  @Test func `a client that is gone ends every wait`() async throws {
    var pusher: Pusher? = service.pusher()
    let channel = try #require(pusher?.subscribe("a"))
    let wait = Task { try await channel.subscribed() }
    pusher = nil
    await #expect(throws: PusherWaitError.ended) { try await wait.value }
  }
}
