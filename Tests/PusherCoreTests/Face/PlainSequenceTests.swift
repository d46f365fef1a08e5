import TestSupport
import Testing

@testable import PusherCore

/// Sequences of events alone; the client reports what they miss.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Events alone as a sequence` {
  private let client: JoinedClient
  private var service: LocalService { client.service }
  private var pusher: Pusher { client.pusher }
  private var channel: PusherChannel { client.channel }

  init() async throws { client = try await JoinedClient() }

  @Test func `the elements are events, until the subscription ends`() async throws {
    let events = channel.events()
    let reader = Task {
      var seen: [String?] = []
      for await event in events { seen.append(event.data) }
      return seen
    }
    let last = Gathered<String?>()
    channel.bind(eventName: "last") { last.add($0.data) }
    for number in 0..<10 { try await service.trigger("x", "a", "\(number)") }
    try await service.trigger("last", "a", "10")
    // All handlers of the name run before the sequence gets the event.
    _ = try await last.wait()
    try await service.trigger("last", "a", "11")
    _ = try await last.wait(for: 2)
    channel.unsubscribe()
    let seen = await reader.value
    #expect(Array(seen.prefix(11)) == (0...10).map { String($0) })
  }

  @Test func `an element decodes into a type of the caller`() async throws {
    struct Price: Decodable { var amount: Double }
    let events = channel.events(named: "price")
    try await service.trigger("price", "a", #"{"amount":1.5}"#)
    for await event in events {
      #expect(try event.decode(Price.self).amount == 1.5)
      break
    }
  }

  @Test func `a loss does not end the sequence, and the delegate learns its size`() async throws {
    let events = channel.events(named: "x", buffering: .newest(3))
    for number in 0..<10 { try await service.trigger("x", "a", "\(number)") }
    let told = try await client.delegate.dropped.wait { $0.reduce(0, +) == 7 }
    #expect(told.allSatisfy { $0 > 0 })
    #expect(events.droppedCount == 7)
    #expect(client.delegate.logged.values.contains { $0.contains("events dropped: ") })
    let iterator = events.makeAsyncIterator()
    for number in 7..<10 { #expect(await iterator.next()?.data == "\(number)") }
    try await service.trigger("x", "a", "later")
    #expect(await iterator.next()?.data == "later")
  }

  @Test func `a feed tells its reader of a loss, and nobody else`() async throws {
    let feed = channel.feed(buffering: .newest(1))
    let end = Gathered<String?>()
    pusher.bind(eventName: "end") { end.add($0.data) }
    for number in 0..<5 { try await service.trigger("x", "a", "\(number)") }
    try await condition("they are dropped") { feed.droppedCount == 4 }
    // A report would come before the next event is read.
    try await service.trigger("end", "b", "")
    _ = try await end.wait()
    #expect(client.delegate.dropped.values.isEmpty)
    let iterator = feed.makeAsyncIterator()
    #expect(await iterator.next().shown == "lost 4")
  }

  @Test func `a gap does not end the sequence, and the delegate learns of it`() async throws {
    let events = channel.events(named: "x")
    try await service.trigger("x", "a", "before")
    let next = try await service.restart()
    _ = try await client.delegate.missed.wait()
    #expect(client.delegate.logged.values.contains { $0.hasPrefix("subscribed again; ") })
    try await next.trigger("x", "a", "after")
    let iterator = events.makeAsyncIterator()
    #expect(await iterator.next()?.data == "before")
    #expect(await iterator.next()?.data == "after")
  }

  @Test func `a sequence of a name buffers and drops events of this name only`() async throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let events = channel.events(named: composed, buffering: .newest(2))
    let end = Gathered<String?>()
    pusher.bind(eventName: "end") { end.add($0.data) }
    for name in [composed, "caf", "Caf\u{E9}", decomposed] {
      try await service.trigger(name, "a", "first")
    }
    try await service.trigger(composed, "a", "last")
    try await service.trigger("end", "b", "")
    _ = try await end.wait()
    #expect(events.droppedCount == 0)
    let iterator = events.makeAsyncIterator()
    for expected in ["first", "last"] { #expect(await iterator.next()?.data == expected) }
  }
}

/// When dropped events are reported.
struct `The pace of reports of dropped events` {
  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func `the first report is immediate, also after a quiet second`() {
    var pace = DropPace()
    #expect(pace.take(at: at(0)) == nil)
    for time: Int64 in [5, 5000] {
      pace.add(3)
      #expect(pace.take(at: at(time)) == 3)
      #expect(pace.take(at: at(time)) == nil)
      #expect(pace.deadline == nil)
    }
  }

  @Test func `further ones come after a second, with all that were dropped meanwhile`() {
    var pace = DropPace()
    pace.add(1)
    #expect(pace.take(at: at(0)) == 1)
    pace.add(2)
    #expect(pace.deadline == at(1000))
    #expect(pace.take(at: at(999)) == nil)
    pace.add(4)
    #expect(pace.take(at: at(1000)) == 6)
    #expect(pace.deadline == nil)
    pace.add(1)
    #expect(pace.deadline == at(2000))
  }

  @Test func `the end reports dropped events once`() {
    var pace = DropPace()
    #expect(pace.takeRest() == nil)
    pace.add(1)
    #expect(pace.take(at: at(0)) == 1)
    pace.add(2)
    #expect(pace.takeRest() == 2)
    #expect(pace.takeRest() == nil)
  }
}
