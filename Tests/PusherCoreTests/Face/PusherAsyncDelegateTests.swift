import PusherCore
import PusherServer
import TestSupport
import Testing

private actor Notes: PusherAsyncDelegate {
  private(set) var lines: [String] = []
  let added = Gathered<String>()

  private func add(_ line: String) async {
    // An interleaved call would change the order.
    await Task.yield()
    lines.append(line)
    added.add(line)
  }

  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) async {
    await add("\(old) > \(new)")
  }

  func connectionDidConnect(_ connection: PusherConnection) async { await add("connected") }

  func subscribedToChannel(name: String) async { await add("subscribed \(name)") }

  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) async {
    await add("failed \(name)")
  }

  func memberAdded(_ member: PusherPresenceChannelMember, to channel: PusherPresenceChannel) async {
    await add("added \(member.userId) to \(channel.name)")
  }

  func memberRemoved(
    _ member: PusherPresenceChannelMember, from channel: PusherPresenceChannel
  ) async {
    await add("removed \(member.userId) from \(channel.name)")
  }

  func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  ) async {
    await add("disconnected")
  }

  func connectionMayHaveMissedEvents(_ connection: PusherConnection, in gap: PusherGap) async {
    await add("gap")
  }

  func connectionDroppedEvents(_ connection: PusherConnection, count: Int) async {
    for _ in 0..<count { await add("dropped") }
  }
}

@MainActor private final class Status: PusherAsyncDelegate {
  private(set) var text = ""
  let changed = Gathered<String>()

  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
    MainActor.assertIsolated()
    text = new.stringValue()
    changed.add(text)
  }
}

private actor Slow: PusherAsyncDelegate {
  let begun = Gathered<Int>()
  let cancelled = Gathered<Int>()
  let errors = Gathered<Int?>()
  private var isWaiting = true
  private var reader: CheckedContinuation<Void, Never>?

  func proceed() {
    isWaiting = false
    reader?.resume()
  }

  func connectionDidConnect(_ connection: PusherConnection) async {
    begun.add(1)
    await withTaskCancellationHandler {
      if isWaiting { await withCheckedContinuation { reader = $0 } }
    } onCancel: {
      cancelled.add(1)
    }
  }

  func receivedError(error: PusherError) { errors.add(error.code) }
}

/// Delegates that are actors.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Asynchronous delegates` {
  let service: LocalService
  init() throws { service = try LocalService() }

  @Test func `an actor is told how many events slow readers did not get`() async throws {
    let notes = Notes()
    let pusher = service.signingPusher()
    pusher.asyncDelegate = notes
    let unread = pusher.events(named: "x", buffering: .oldest(1))
    pusher.subscribe("a")
    try await pusher.joined()
    for number in 0..<4 { try await service.trigger("x", "a", "\(number)") }
    let told = try await notes.added.wait { $0.filter { $0 == "dropped" }.count == 3 }
    #expect(told.last == "dropped")
    #expect(unread.droppedCount == 3)
  }

  @Test func `an actor is told everything in the order in which it happened`() async throws {
    let notes = Notes()
    let pusher = service.signingPusher()
    pusher.asyncDelegate = notes
    pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "me") }
    pusher.connection.reconnectDelay = .milliseconds(10)
    pusher.subscribe("presence-room")
    try await pusher.joined()
    pusher.subscribe("two words")
    _ = try await notes.added.wait(for: 5)

    let other = service.signingPusher()
    other.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "you") }
    other.subscribe("presence-room")
    other.connect()
    _ = try await notes.added.wait(for: 6)
    other.disconnect()
    _ = try await notes.added.wait(for: 7)
    let next = try await service.restart()
    _ = try await notes.added.wait(for: 13)
    pusher.disconnect()
    let told = try await notes.added.wait(for: 16)
    #expect(
      told
        == [
          "disconnected > connecting", "connecting > connected", "connected",
          "subscribed presence-room", "failed two words",
          "added you to presence-room", "removed you from presence-room",
          "connected > reconnecting", "disconnected", "reconnecting > connected", "connected",
          "subscribed presence-room", "gap", "connected > disconnecting",
          "disconnecting > disconnected", "disconnected",
        ])
    #expect(await notes.lines == told)
    withExtendedLifetime(next) {}
  }

  @Test @MainActor func `a class of the main actor needs no nonisolated methods`() async throws {
    let status = Status()
    let pusher = service.pusher()
    pusher.asyncDelegate = status
    try await pusher.connected()
    #expect(try await status.changed.wait(for: 2) == ["connecting", "connected"])
    #expect(status.text == "connected")
  }

  @Test func `a slow delegate holds the socket, and loses nothing`() async throws {
    let count = 3000
    let server = try RawServer.greeting { peer in
      _ = peer.receive()
      peer.send(
        (0..<count).flatMap {
          textFrame(#"{"event":"pusher:error","data":{"code":\#($0),"message":"m"}}"#)
        })
    }
    let pusher = Pusher.local(server.port)
    let (slow, recorder) = (Slow(), RecordingDelegate(of: pusher))
    pusher.asyncDelegate = slow
    pusher.subscribe("a")
    pusher.connect()
    _ = try await slow.begun.wait()
    _ = try await recorder.errors.wait(for: 300)
    for number in 1...2 {
      pusher.subscribe("two words")
      _ = try await recorder.failed.wait(for: number)
    }
    #expect(recorder.errors.values.count < 1024)
    await slow.proceed()
    #expect(try await slow.errors.wait(for: count) == (0..<count).map { $0 })
  }

  @Test func `a client that is released cancels the call, and tells nothing more`() async throws {
    let slow = Slow()
    var pusher: Pusher? = service.pusher()
    pusher?.asyncDelegate = slow
    pusher?.connect()
    _ = try await slow.begun.wait()
    pusher = nil
    _ = try await slow.cancelled.wait()
    await slow.proceed()
  }

  @Test func `the client does not keep its delegate, and goes on without it`() async throws {
    var notes: Notes? = Notes()
    weak let released = notes
    let pusher = service.pusher()
    let recorder = RecordingDelegate(of: pusher)
    pusher.asyncDelegate = notes
    try await pusher.connected()
    let added = try #require(notes?.added)
    _ = try await added.wait(for: 3)
    notes = nil
    try await condition("it is released") { released == nil }
    pusher.disconnect()
    _ = try await recorder.states.wait(for: 4)
    #expect(added.values.count == 3)
    #expect(pusher.asyncDelegate == nil)
  }
}
