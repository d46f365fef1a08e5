import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Waiting` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func lonely() -> Pusher { Pusher.local(1) { $0.autoReconnect = false } }

  private func unanswered() async throws -> (RawServer, Pusher, Task<Void, any Error>) {
    let server = try RawServer { $0.waitForEnd() }
    let pusher = Pusher.local(server.port)
    let wait = Task { try await pusher.connected() }
    for await state in pusher.states where state == .connecting { break }
    return (server, pusher, wait)
  }

  @Test func `connected and subscribed return at the answer, and at once later`() async throws {
    let pusher = service.pusher()
    let channel = pusher.subscribe("a")
    #expect(!channel.isSubscribed)
    try await pusher.connected()
    #expect(pusher.connection.socketId != nil)
    try await channel.subscribed()
    #expect(channel.isSubscribed && channel.subscribed)
    try await pusher.connected(within: .zero)
    try await channel.subscribed(within: .zero)
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

  @Test func `a wait that is too long names the failure of the last attempt`() async throws {
    let pusher = Pusher.local(1)
    let channel = pusher.subscribe("a")
    pusher.connect()
    for await state in pusher.states where state == .reconnecting { break }
    let failure = try #require(pusher.connection.failure as? ConnectionLoss)
    #expect("\(failure)".contains("connection refused"))
    let limit = Duration.milliseconds(1)
    let expected = PusherWaitError.timeout(limit, reason: "\(failure)")
    await #expect(throws: expected) { try await channel.subscribed(within: limit) }
    await #expect(throws: expected) { try await pusher.connected(within: limit) }
    #expect("\(expected)" == "timed out after 1 ms: \(failure)")
    pusher.disconnect()
    #expect(pusher.connection.failure == nil)
  }

  @Test func `a wait for a channel names what is missing: connect, or an answer`() async throws {
    let limit = Duration.milliseconds(1)
    let idle = service.pusher()
    let waiting = idle.subscribe("a")
    await #expect(
      throws: PusherWaitError.timeout(limit, reason: "the client is not connected; call connect()")
    ) { try await waiting.subscribed(within: limit) }

    let server = try RawServer.greeting()
    let pusher = Pusher.local(server.port)
    let unanswered = pusher.subscribe("b")
    try await pusher.connected()
    await #expect(
      throws: PusherWaitError.timeout(limit, reason: "no confirmation of b has come")
    ) { try await unanswered.subscribed(within: limit) }
  }

  @Test func `a client that gives up ends its channels' waits with the reason`() async throws {
    let pusher = lonely()
    let channel = pusher.subscribe("a")
    let wait = Task { try await channel.subscribed() }
    let events = pusher.events()
    pusher.connect()
    for await event in events { Issue.record("\(event)") }
    let loss = try await #require(throws: ConnectionLoss.self) { try await wait.value }
    #expect("\(loss)".contains("connection refused"))
    // A later wait knows it too.
    await #expect(throws: loss) { try await channel.subscribed() }
    #expect(pusher.connection.failure as? ConnectionLoss == loss)
  }

  @Test func `an unavailable signer is the reason of a wait that is too long`() async throws {
    struct Absent: AsyncAuthorizer {
      let isAskedAgain = RawServer.Gate()
      func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
        // The third failure would be final.
        if isAskedAgain.isOpen { try await Task.sleep(for: .seconds(600)) }
        isAskedAgain.open()
        throw AuthorizationUnavailable("the store is locked")
      }
    }
    let pusher = service.pusher(.authorizer(authorizer: Absent()))
    let delegate = RecordingDelegate(of: pusher)
    let channel = pusher.subscribe("private-a")
    pusher.connect()
    try await delegate.logged.wait {
      $0.contains { $0.contains("authorisation of private-a failed") }
    }
    let failure = try await #require(throws: SubscriptionFailure.self) {
      while true {
        do { try await channel.subscribed(within: .milliseconds(1)) } catch is PusherWaitError {}
      }
    }
    #expect(failure.type == "Unavailable")
    #expect(failure.message.contains("the store is locked"))
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
    let reason = "the server has not answered yet"
    await #expect(throws: PusherWaitError.timeout(limit, reason: reason)) {
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

  @Test func `an impossible channel throws at once, unsubscribing ends the wait`() async throws {
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

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Time limits` {
  private func run(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await PusherWaitError.limit(limit, body) { "no end" }
  }

  @Test func `a body that does not end is cancelled when its time has passed`() async throws {
    let cancelled = Gathered<Bool>()
    await #expect(throws: PusherWaitError.timeout(.milliseconds(1), reason: "no end")) {
      try await run(.milliseconds(1)) {
        for await _ in AsyncStream<Never>.makeStream().stream {}
        cancelled.add(Task.isCancelled)
      }
    }
    #expect(cancelled.values == [true])
  }

  @Test func `a task that is cancelled throws that, not that its time has passed`() async {
    let task = Task { try await run(.seconds(600)) { try await Task.sleep(for: .seconds(600)) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
