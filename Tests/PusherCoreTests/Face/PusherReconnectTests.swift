import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Reconnecting` {
  let service: LocalService
  init() throws { service = try LocalService() }

  @Test func `a lost connection is renewed, and all channels are subscribed again`() async throws {
    let delegate = RecordingDelegate()
    let pusher = try await service.joined(delegate)
    let events = Gathered<String?>()
    pusher.channel(named: "a")?.bind { events.add($0.data) }
    let next = try await service.restart()
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(delegate.connected.values.count == 2)
    #expect(Set(pusher.subscribedChannels.map(\.name)) == ["a", "private-b"])
    let end = try #require(delegate.disconnected.values.first)
    #expect(end.willRetry && end.error?.closeCode == 4200)
    #expect(try await delegate.missed.wait().count == 1)
    try await next.trigger("e", "a", "1")
    #expect(try await events.wait(for: 2).last == "1")
    #expect(delegate.states.values.contains("connected > reconnecting"))
    #expect(delegate.states.values.last == "reconnecting > connected")
  }

  @Test func `disconnect works while waiting to reconnect, and no attempt follows`() async throws {
    let server = try RawServer.greeting { $0.send(frame(.close, [0x10, 0x68])) }
    /// Disconnects when the client announces its next attempt, which is due soon.
    final class Delegate: PusherDelegate {
      let states = Gathered<String>()
      let disconnect: @Sendable () -> Void
      init(_ disconnect: @escaping @Sendable () -> Void) { self.disconnect = disconnect }
      func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        if new == .reconnecting { disconnect() }
        states.add(new.stringValue())
      }
      func connectionWillReconnect(
        _ connection: PusherConnection, afterDelay delay: Duration
      ) -> Duration? { .milliseconds(1) }
    }
    let pusher = Pusher.local(server.port)
    let delegate = Delegate { [weak pusher] in pusher?.disconnect() }
    pusher.delegate = delegate
    pusher.connect()
    #expect(
      try await delegate.states.wait(for: 5) == [
        "connecting", "connected", "reconnecting", "disconnecting", "disconnected",
      ])
    // A complete connection of another client takes longer than the planned attempt.
    let other = Pusher(key: "k", options: pusher.connection.options)
    let otherDelegate = RecordingDelegate(of: other, retry: { _ in nil })
    other.connect()
    _ = try await otherDelegate.disconnected.wait()
    #expect(server.opened.values.count == 2)
    #expect(delegate.states.values.count == 5)
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test func `after disconnect no attempt follows when the server closes too`() async throws {
    // The server's close frame has a code that requests another attempt.
    let server = try RawServer.greeting { peer in
      _ = peer.receive()
      peer.send(frame(.close, [0x10, 0x68]))
    }
    let pusher = Pusher.local(server.port)
    let delegate = RecordingDelegate(of: pusher, retry: { _ in .milliseconds(1) })
    pusher.connect()
    _ = try await delegate.connected.wait()
    pusher.disconnect()
    let states = try await delegate.states.wait(for: 4)
    #expect(states.suffix(2) == ["connected > disconnecting", "disconnecting > disconnected"])
    _ = try await server.closed.wait()
    let ends = try await delegate.disconnected.wait()
    #expect(delegate.delays.values.isEmpty)
    #expect(ends.map(\.willRetry) == [false])
  }

  @Test func `connect makes the next attempt at once`() async throws {
    let delegate = RecordingDelegate(retry: { _ in .seconds(60) })
    let pusher = try await service.joined(delegate)
    await service.stop()
    _ = try await delegate.disconnected.wait()
    let next = try service.successor()
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(pusher.connection.connectionState == .connected)
    withExtendedLifetime(next) {}
  }

  @Test(arguments: [false, true])
  func `autoReconnect off, or connectionWillReconnect afterDelay, leaves the client disconnected`(
    autoReconnect: Bool
  ) async throws {
    let delegate = RecordingDelegate(retry: { _ in nil })
    let pusher = try await service.joined(delegate) { $0.autoReconnect = autoReconnect }
    await service.stop()
    #expect(try await delegate.states.wait(for: 3).last == "connected > disconnected")
    #expect(try await delegate.disconnected.wait().map(\.willRetry) == [false])
    #expect(delegate.delays.values.count == (autoReconnect ? 1 : 0))
    #expect(pusher.connection.connectionState == .disconnected)
    #expect(pusher.subscribedChannels.isEmpty)
  }

  @Test(arguments: [
    (RetrySettings(reconnectAttemptsMax: 3), true, 3), (.pusherSwift, true, 6),
    // As in libPusher.
    (.standard, false, 0),
  ])
  func `reconnectAttemptsMax and retriesFirstConnection end the attempts`(
    retries: RetrySettings, retriesFirst: Bool, attempts: Int
  ) async throws {
    await service.stop()
    let pusher = service.pusher {
      $0.retries = retries
      $0.retriesFirstConnection = retriesFirst
    }
    let delegate = RecordingDelegate(of: pusher, retry: { _ in .milliseconds(1) })
    pusher.connect()
    let failures = try await delegate.connectFailures.wait(for: attempts + 1)
    #expect(failures.map(\.willRetry) == Array(repeating: true, count: attempts) + [false])
    #expect(failures.last?.error is ConnectionLoss)
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test func `libPusher's waits begin at five seconds, and may have no bound`() async throws {
    await service.stop()
    let pusher = service.pusher {
      $0.retries = .libPusher
      $0.retries.maxReconnectGap = nil
      $0.retries.reconnectAttemptsMax = 60
    }
    let delegate = RecordingDelegate(of: pusher, retry: { _ in .milliseconds(1) })
    pusher.connect()
    let delays = try await delegate.delays.wait(for: 60)
    #expect(delays[0] >= .seconds(5) && delays[0] <= .seconds(10))
    // The range has grown to days. At least one of 40 draws exceeds the usual two minutes.
    #expect(delays.suffix(40).contains { $0 > .seconds(120) })
  }

  @Test func `reconnectDelay and maxReconnectGapInSeconds bound the delays`() async throws {
    await service.stop()
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher, retry: { _ in .milliseconds(1) })
    pusher.connection.reconnectDelay = .milliseconds(200)
    pusher.connection.maxReconnectGapInSeconds = 0.3
    #expect(pusher.connection.maxReconnectGapInSeconds == 0.3)
    pusher.connect()
    let delays = try await delegate.delays.wait(for: 12)
    #expect(delays.allSatisfy { $0 >= .milliseconds(200) && $0 <= .milliseconds(300) })
  }

  @Test func `a code from 4000 to 4099 is fatal`() async throws {
    let pusher = service.pusher(key: "unknown")
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    let failures = try await delegate.connectFailures.wait()
    #expect(failures.map(\.willRetry) == [false])
    #expect((failures.first?.error as? ConnectionLoss)?.closeCode == 4001)
    #expect(delegate.errors.values.first?.code == 4001)
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test func `connectionWillConnect can refuse`() async throws {
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher, mayConnect: false)
    pusher.connect()
    #expect(
      try await delegate.states.wait(for: 2)
        == ["disconnected > connecting", "connecting > disconnected"])
    #expect(delegate.connected.values.isEmpty)
  }

  @Test func `the states have PusherSwift's numbers and names`() {
    #expect(ConnectionState.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
    #expect(
      ConnectionState.allCases.map { $0.stringValue() } == [
        "connecting", "connected", "disconnecting", "disconnected", "reconnecting",
      ])
  }

  @Test func `debugLog tells what goes on without signatures`() async throws {
    let delegate = RecordingDelegate()
    _ = try await service.joined(delegate)
    let lines = delegate.logged.values
    #expect(lines.contains { $0.contains("pusher:subscribe") && $0.contains("private-b") })
    #expect(lines.contains { $0.hasPrefix("received: ") })
    let key = service.pusher().key
    #expect(!lines.contains { $0.contains(key + ":") })
  }
}
