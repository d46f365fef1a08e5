import PusherCore
import PusherServer
import TestSupport
import Testing

extension PusherFeedElement<PusherEvent>? {
  var shown: String {
    switch self {
    case .event(let event): event.data ?? "no data"
    case .lost(let count): "lost \(count)"
    case .gap: "gap"
    case .recovered(let count): "recovered \(count)"
    case nil: "end"
    }
  }
}

/// Sequences that pause reading from the socket, and the position of gaps.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Sequences that lose nothing` {
  private static func flood(_ count: Int) throws -> RawServer {
    try RawServer.greeting { peer in
      _ = peer.receive()
      peer.send((0..<count).flatMap { textFrame(#"{"event":"x","channel":"a","data":"\#($0)"}"#) })
    }
  }

  /// Waits until the client's thread has run all requests and delivered all events it had read.
  private func round(_ pusher: Pusher, _ delegate: RecordingDelegate) async throws {
    let before = delegate.failed.values.count
    for count in 1...2 {
      pusher.subscribe("two words")
      _ = try await delegate.failed.wait(for: before + count)
    }
  }

  @Test func `a full buffer leaves the socket unread until half of it is read`() async throws {
    let server = try Self.flood(100)
    let pusher = Pusher.local(server.port)
    let delegate = RecordingDelegate(of: pusher)
    let handled = Gathered<String?>()
    let channel = pusher.subscribe("a")
    channel.bind(eventName: "x") { handled.add($0.data) }
    let events = channel.feed(buffering: .suspending(10))
    pusher.connect()
    _ = try await handled.wait(for: 10)
    try await round(pusher, delegate)
    #expect(handled.values.count == 10)

    let iterator = events.makeAsyncIterator()
    for number in 0..<4 { #expect(await iterator.next().shown == "\(number)") }
    try await round(pusher, delegate)
    #expect(handled.values.count == 10)
    for number in 4..<100 { #expect(await iterator.next().shown == "\(number)") }
    #expect(handled.values.count == 100)
    #expect(events.droppedCount == 0)
  }

  @Test func `with several readers the socket is read when none is behind`() async throws {
    let server = try Self.flood(100)
    let pusher = Pusher.local(server.port)
    let delegate = RecordingDelegate(of: pusher)
    let handled = Gathered<String?>()
    let channel = pusher.subscribe("a")
    pusher.bind(eventName: "x") { handled.add($0.data) }
    let first = channel.feed(buffering: .suspending(10))
    let second = pusher.feed(buffering: .suspending(10))
    pusher.connect()
    _ = try await handled.wait(for: 10)
    try await round(pusher, delegate)
    let iterator = first.makeAsyncIterator()
    for number in 0..<10 { #expect(await iterator.next().shown == "\(number)") }
    try await round(pusher, delegate)
    #expect(handled.values.count == 10)
    second.cancel()
    for number in 10..<100 { #expect(await iterator.next().shown == "\(number)") }
  }

  @Test func `a reader that leaves, or is cancelled, lets the client go on`() async throws {
    for way in ["release", "cancel", "task"] {
      let server = try Self.flood(50)
      let pusher = Pusher.local(server.port)
      let handled = Gathered<String?>()
      let channel = pusher.subscribe("a")
      channel.bind(eventName: "x") { handled.add($0.data) }
      var events: PusherEventFeed? = channel.feed(buffering: .suspending(10))
      pusher.connect()
      _ = try await handled.wait(for: 10)
      switch way {
      case "release": events = nil
      case "cancel":
        events?.cancel()
        for await element in try #require(events) { Issue.record("\(element)") }
      default:
        let reader = Task { [events] in
          withUnsafeCurrentTask { $0?.cancel() }
          return await events?.makeAsyncIterator().next()
        }
        #expect(await reader.value.shown == "end")
      }
      #expect(try await handled.wait(for: 50).count == 50, "\(way)")
      withExtendedLifetime(events) {}
    }
  }

  @Test func `a client that is held can be disconnected, connected and let go`() async throws {
    let server = try Self.flood(50)
    var pusher: Pusher? = Pusher.local(server.port)
    let handled = Gathered<String?>()
    let channel = try #require(pusher?.subscribe("a"))
    // Handlers of all events are called in their order, so each handled event is in the feed too.
    let events = channel.feed(buffering: .suspending(10))
    channel.bind(matching: "x") { handled.add($0.data) }
    pusher?.connect()
    _ = try await handled.wait(for: 10)
    pusher?.disconnect()
    for await state in try #require(pusher?.states) where state == .disconnected { break }
    #expect(handled.values.count == 10)
    let more = channel.feed(buffering: .suspending(10))
    pusher?.connect()
    let former = events.makeAsyncIterator()
    for number in 0..<10 { #expect(await former.next().shown == "\(number)") }
    #expect(await former.next().shown == "end")
    let iterator = more.makeAsyncIterator()
    for number in 0..<50 { #expect(await iterator.next().shown == "\(number)") }
    try await pusher?.connected()
    _ = channel.feed(buffering: .suspending(1))
    pusher = nil
    #expect(await iterator.next().shown == "end")
    _ = try await server.closed.wait(for: 2)
  }

  @Test func `disconnect ends the sequences of client, channels and user`() async throws {
    let client = try await JoinedClient()
    let (pusher, channel) = (client.pusher, client.channel)
    for _ in 1...2 {
      let sequences = [pusher.feed(), channel.feed(), pusher.user.feed()]
      let readers = sequences.map { events in
        Task { for await case .event(let event) in events where event.eventName == "x" {} }
      }
      pusher.disconnect()
      for reader in readers { await reader.value }
      for await state in pusher.states where state == .disconnected { break }
    }
    // A bound handler stays bound, and so does a later sequence.
    let handled = Gathered<String?>()
    channel.bind(eventName: "x") { handled.add($0.data) }
    let iterator = channel.feed().makeAsyncIterator()
    pusher.connect()
    try await channel.subscribed(within: .seconds(10))
    try await client.service.trigger("x", "a", "later")
    #expect(try await handled.wait(for: 1) == ["later"])
    while let event = await iterator.next()?.event, event.eventName != "x" {}
  }

  @Test func `a gap is an element for the client and each subscribed channel`() async throws {
    let client = try await JoinedClient()
    let (ours, all) = (client.channel.feed(), client.pusher.feed())
    try await client.service.trigger("x", "a", "before")
    let next = try await client.service.restart()
    // A new channel has missed nothing.
    let late = client.pusher.subscribe("late").feed()
    let missed = try await client.delegate.missed.wait()
    try await next.trigger("x", "a", "after")
    try await next.trigger("x", "late", "after")

    for events in [ours, all] {
      var seen: [String] = []
      for await element in events {
        if case .event(let event) = element, event.eventName != "x" { continue }
        seen.append(Optional(element).shown)
        if case .gap(let gap) = element {
          let difference = gap.duration.inSeconds - (missed.first?.inSeconds ?? 0)
          #expect(abs(difference) < 0.002)
          #expect(gap.from.millisecondsSince1970 > 1_700_000_000_000)
        }
        if seen.count == 3 { break }
      }
      #expect(seen == ["before", "gap", "after"])
    }
    for await element in late {
      if case .event(let event) = element, event.eventName != "x" { continue }
      #expect(Optional(element).shown == "after")
      break
    }
  }

  @Test func `sockudo's replay is told in the feeds, in place of a gap`() async throws {
    let service = try LocalService {
      $0.faults = [try? StagedFault(parsing: "drop:after=1,times=1")].compactMap { $0 }
    }
    let pusher = service.pusher { $0.service = .sockudo }
    let channel = pusher.subscribe("a")
    let (ours, all) = (channel.feed(), pusher.feed())
    pusher.connect()
    try await channel.subscribed(within: .seconds(10))
    // The server cuts the connection after the first event.
    for data in ["1", "2", "3"] { try await service.trigger("x", "a", data) }
    for elements in [ours, all] {
      var seen: [String] = []
      for await element in elements {
        if case .event(let event) = element, event.eventName != "x" { continue }
        seen.append(Optional(element).shown)
        if seen.count == 4 { break }
      }
      #expect(seen.filter { $0.count == 1 } == ["1", "2", "3"])
      #expect(seen.count { $0.hasPrefix("recovered") } == 1, "\(seen)")
    }
  }
}
