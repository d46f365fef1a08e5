import PusherCore
import Testing

@Suite struct SessionPauseTests {
  @discardableResult
  private func setPaused(_ paused: Bool, _ harness: inout SessionHarness) -> [SessionOutput] {
    harness.perform { $0.setReadingPaused(paused, at: $1) }
  }

  @Test func `pings go out, and the connection is kept however long it takes`() {
    var harness = SessionHarness.connected(channels: ["c"])
    setPaused(true, &harness)
    let outputs = harness.advance(.seconds(3600))
    #expect(outputs == Array(repeating: .send(#"{"event":"pusher:ping","data":{}}"#), count: 30))
    setPaused(false, &harness)
    #expect(harness.session.isFullySubscribed)
    #expect(harness.advance(.seconds(120)).count == 1)
    #expect(harness.advance(.seconds(30)).events.count == 1)
  }

  @Test func `a loss is not followed by a dial before reading goes on`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(60))
    setPaused(true, &harness)
    #expect(harness.lose(.closed(code: 4200, reason: "")).dials == 0)
    #expect(harness.session.deadline == nil)
    #expect(harness.advance(.seconds(3600)) == [])
    #expect(setPaused(false, &harness) == [])
    #expect(harness.advance(.zero) == [.dial])
  }

  @Test func `a dial that is under way gets its whole time once reading goes on`() {
    var harness = SessionHarness(channels: ["c"])
    _ = harness.perform { $0.connect(at: $1) }
    harness.advance(.seconds(9))
    setPaused(true, &harness)
    #expect(harness.advance(.seconds(60)) == [])
    setPaused(false, &harness)
    #expect(harness.advance(.seconds(10) - .nanoseconds(1)) == [])
    #expect(harness.greet().events.count == 1)
  }

  @Test func `an answer to a subscription is not late while nobody reads it`() {
    var harness = SessionHarness.connected()
    _ = harness.perform { $0.subscribe("c", at: $1) }
    harness.advance(.seconds(9))
    setPaused(true, &harness)
    #expect(harness.advance(.seconds(60)) == [])
    setPaused(false, &harness)
    #expect(harness.advance(.seconds(10) - .nanoseconds(1)) == [])
    #expect(harness.succeed("c").events == [.subscribed(channel: "c", presence: nil)])
  }

  @Test func `a loss after a pause begins where reading stopped`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let start = harness.now
    setPaused(true, &harness)
    harness.advance(.seconds(100))
    setPaused(false, &harness)
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    harness.greet()
    #expect(harness.succeed("c").events.last == .gap(from: start, to: harness.now))
  }
}

/// The machine sleeps or the program is stopped: the clock jumps, and all timers are late.
@Suite struct SessionSleepTests {
  private let ping = SessionOutput.send(#"{"event":"pusher:ping","data":{}}"#)

  /// Lets the session check the clock once after a jump.
  private func jump(_ time: Duration, _ harness: inout SessionHarness) -> [SessionOutput] {
    harness.now = harness.now.advanced(by: time)
    return harness.perform { $0.tick(at: $1) }
  }

  @Test func `after hours of sleep it asks first, and gives the whole time for an answer`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(60))
    #expect(jump(.seconds(8 * 3600), &harness) == [ping])
    #expect(harness.advance(.seconds(30) - .nanoseconds(1)) == [])
    harness.receive(#"{"event":"pusher:pong","data":"{}"}"#)
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `a server that has gone meanwhile is left, and the gap covers the sleep and no more`()
  {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(60))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let start = harness.now
    #expect(jump(.seconds(8 * 3600), &harness) == [ping])
    let outputs = harness.advance(.seconds(30))
    #expect(outputs.first == .abort)
    // The connection had been good for more than five seconds.
    #expect(outputs.retry?.delay == .zero)
    #expect(outputs.dials == 1)
    harness.greet()
    #expect(harness.succeed("c").events.last == .gap(from: start, to: harness.now))
    #expect(start.duration(to: harness.now) == .seconds(8 * 3600 + 30))
  }

  @Test func `a sleep during the wait for a pong ends the connection at once`() {
    var harness = SessionHarness.connected(channels: ["c"])
    #expect(harness.advance(.seconds(120)) == [ping])
    #expect(jump(.seconds(3600), &harness).first == .abort)
  }

  @Test func `a sleep while it waits to dial is no reason to wait longer`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.lose(.closed(code: 4100, reason: ""))
    #expect(jump(.seconds(3600), &harness) == [.dial])
    #expect(jump(.seconds(3600), &harness).first == .abort)
  }
}
