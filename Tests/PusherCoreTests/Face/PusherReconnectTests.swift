import PusherCore
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Reconnecting` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func joined(
    _ delegate: RecordingDelegate, _ change: (inout PusherClientOptions) -> Void = { _ in }
  ) async throws -> Pusher {
    var options = service.signingPusher().connection.options
    change(&options)
    let pusher = Pusher(key: service.pusher().key, options: options)
    pusher.delegate = delegate
    pusher.subscribe("a")
    pusher.subscribe("private-b")
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 2)
    return pusher
  }

  @Test func `a lost connection is renewed, and all channels are subscribed again`() async throws {
    let delegate = RecordingDelegate()
    let pusher = try await joined(delegate)
    let events = Gathered<String?>()
    pusher.channel(named: "a")?.bind { events.add($0.data) }
    await service.stop()
    let next = try service.successor()
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(delegate.connected.values.count == 2)
    #expect(Set(pusher.subscribedChannels.map(\.name)) == ["a", "private-b"])
    #expect(delegate.disconnected.values.first?.willRetry == true)
    guard case .closed(let code, _) = delegate.disconnected.values.first?.error else {
      Issue.record("no close code")
      return
    }
    #expect(code == 4200)
    #expect(try await delegate.missed.wait().count == 1)
    try await next.trigger("e", "a", "1")
    #expect(try await events.wait(for: 2).last == "1")
    #expect(delegate.states.values.contains("connected > reconnecting"))
    #expect(delegate.states.values.last == "reconnecting > connected")
  }

  @Test func `disconnect works while waiting to reconnect, and no attempt follows`() async throws {
    let server = try RawServer { peer in
      RawServer.greet(peer)
      peer.send(frame(.close, [0x10, 0x68]))
      peer.waitForEnd()
    }
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
    let otherDelegate = RecordingDelegate(retry: { _ in nil })
    other.delegate = otherDelegate
    other.connect()
    _ = try await otherDelegate.disconnected.wait()
    #expect(server.opened.values.count == 2)
    #expect(delegate.states.values.count == 5)
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test func `after disconnect no attempt follows when the server closes too`() async throws {
    // The server's close frame has a code that requests another attempt.
    let server = try RawServer { peer in
      RawServer.greet(peer)
      _ = peer.receive()
      peer.send(frame(.close, [0x10, 0x68]))
      peer.waitForEnd()
    }
    let delegate = RecordingDelegate(retry: { _ in .milliseconds(1) })
    let pusher = Pusher.local(server.port)
    pusher.delegate = delegate
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
    let pusher = try await joined(delegate)
    await service.stop()
    _ = try await delegate.disconnected.wait()
    let next = try service.successor()
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(pusher.connection.connectionState == .connected)
    withExtendedLifetime(next) {}
  }

  @Test func `connectionWillReconnect afterDelay can refuse`() async throws {
    let delegate = RecordingDelegate(retry: { _ in nil })
    let pusher = try await joined(delegate)
    await service.stop()
    let states = try await delegate.states.wait(for: 3)
    #expect(states.last == "connected > disconnected")
    #expect(try await delegate.disconnected.wait().map(\.willRetry) == [false])
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test func `autoReconnect off leaves the client disconnected`() async throws {
    let delegate = RecordingDelegate()
    let pusher = try await joined(delegate) { $0.autoReconnect = false }
    await service.stop()
    let ends = try await delegate.disconnected.wait()
    #expect(ends.map(\.willRetry) == [false])
    #expect(delegate.delays.values.isEmpty)
    #expect(pusher.connection.connectionState == .disconnected)
    #expect(pusher.subscribedChannels.isEmpty)
  }

  @Test func `reconnectAttemptsMax ends the attempts`() async throws {
    await service.stop()
    let delegate = RecordingDelegate(retry: { _ in .milliseconds(1) })
    let pusher = service.pusher()
    pusher.delegate = delegate
    pusher.connection.reconnectAttemptsMax = 3
    pusher.connect()
    let failures = try await delegate.connectFailures.wait(for: 4)
    #expect(failures.map(\.willRetry) == [true, true, true, false])
    #expect(failures.last?.error is ConnectionLoss)
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test func `the options may bring PusherSwift's six attempts`() async throws {
    await service.stop()
    var options = service.options()
    options.retries = .pusherSwift
    let delegate = RecordingDelegate(retry: { _ in .milliseconds(1) })
    let pusher = Pusher(key: "k", options: options)
    pusher.delegate = delegate
    #expect(pusher.connection.reconnectAttemptsMax == 6)
    #expect(pusher.connection.maxReconnectGapInSeconds == nil)
    pusher.connect()
    let failures = try await delegate.connectFailures.wait(for: 7)
    #expect(failures.map(\.willRetry) == [true, true, true, true, true, true, false])
  }

  @Test func `libPusher's waits begin at five seconds, and no longest gap means none`() async throws
  {
    await service.stop()
    let delegate = RecordingDelegate(retry: { _ in .milliseconds(1) })
    var options = service.options()
    options.retries = .libPusher
    options.retries.maxReconnectGap = nil
    options.retries.reconnectAttemptsMax = 60
    let pusher = Pusher(key: "k", options: options)
    pusher.delegate = delegate
    pusher.connect()
    let delays = try await delegate.delays.wait(for: 60)
    #expect(delays[0] >= .seconds(5) && delays[0] <= .seconds(10))
    // The range has grown to days. At least one of 40 draws exceeds the usual two minutes.
    #expect(delays.suffix(40).contains { $0 > .seconds(120) })
  }

  @Test func `maxReconnectGapInSeconds and reconnectDelay bound the planned delays`()
    async throws
  {
    await service.stop()
    let delegate = RecordingDelegate(retry: { _ in .milliseconds(1) })
    let pusher = service.pusher()
    pusher.delegate = delegate
    pusher.connection.reconnectDelay = .milliseconds(200)
    pusher.connection.maxReconnectGapInSeconds = 0.3
    #expect(pusher.connection.maxReconnectGapInSeconds == 0.3)
    pusher.connect()
    let delays = try await delegate.delays.wait(for: 12)
    #expect(delays.allSatisfy { $0 >= .milliseconds(200) && $0 <= .milliseconds(300) })
  }

  @Test func `retriesFirstConnection off makes the first failure final, as in libPusher`()
    async throws
  {
    await service.stop()
    var options = service.options()
    options.retriesFirstConnection = false
    let delegate = RecordingDelegate()
    let pusher = Pusher(key: "k", options: options)
    pusher.delegate = delegate
    pusher.connect()
    #expect(try await delegate.connectFailures.wait().map(\.willRetry) == [false])
  }

  @Test func `a code from 4000 to 4099 is fatal`() async throws {
    let delegate = RecordingDelegate()
    let pusher = Pusher(key: "unknown", options: service.options())
    pusher.delegate = delegate
    pusher.connect()
    let failures = try await delegate.connectFailures.wait()
    #expect(failures.map(\.willRetry) == [false])
    guard case .closed(let code, _) = failures.first?.error as? ConnectionLoss else {
      Issue.record("\(failures)")
      return
    }
    #expect(code == 4001)
    #expect(delegate.errors.values.first?.code == 4001)
    #expect(pusher.connection.connectionState == .disconnected)
  }

  @Test(arguments: [
    (4000, false), (4099, false), (4100, true), (4199, true), (4200, true), (4299, true),
    (4300, true), (1001, true),
  ])
  func `the range of the close code decides whether another attempt follows`(
    code: Int, willRetry: Bool
  ) async throws {
    let server = try RawServer { peer in
      RawServer.greet(peer)
      peer.send(frame(.close, [UInt8(code >> 8), UInt8(code & 0xFF)]))
      peer.waitForEnd()
    }
    let delegate = RecordingDelegate(retry: { _ in nil })
    let pusher = Pusher.local(server.port)
    pusher.delegate = delegate
    pusher.connect()
    let end = try #require(try await delegate.disconnected.wait().first)
    #expect(end.error == .closed(code: code, reason: ""))
    // The client asks its delegate, which may refuse an attempt, only when one is planned.
    #expect(delegate.delays.values.count == (willRetry ? 1 : 0))
  }

  @Test func `connectionWillConnect can refuse`() async throws {
    let delegate = RecordingDelegate(mayConnect: false)
    let pusher = service.pusher()
    pusher.delegate = delegate
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
    _ = try await joined(delegate)
    let lines = delegate.logged.values
    #expect(lines.contains { $0.contains("pusher:subscribe") && $0.contains("private-b") })
    #expect(lines.contains { $0.hasPrefix("received: ") })
    let key = service.pusher().key
    #expect(!lines.contains { $0.contains(key + ":") })
  }

  @Test func `a client that is dropped closes its socket`() async throws {
    let delegate = RecordingDelegate()
    var pusher: Pusher? = service.pusher()
    pusher?.delegate = delegate
    let events = pusher?.events()
    pusher?.connect()
    _ = try await delegate.connected.wait()
    let connection = try #require(pusher?.connection)
    pusher = nil
    // The sequence ends together with its client.
    if let events { for await _ in events {} }
    #expect(connection.connectionState == .disconnected)
    connection.channels.find(name: "a")?.unsubscribe()
  }
}
