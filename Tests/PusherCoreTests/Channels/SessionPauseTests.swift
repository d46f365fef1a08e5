import PusherCore
import Testing

struct SessionPauseTests {
  @Test func `pings go out, and the connection is kept however long it takes`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.pause(true)
    let outputs = harness.advance(.seconds(3600))
    #expect(outputs == Array(repeating: .ping, count: 30))
    harness.pause(false)
    #expect(harness.session.isFullySubscribed)
    #expect(harness.advance(.seconds(120)).count == 1)
    #expect(harness.advance(.seconds(30)).events.count == 1)
  }

  @Test func `a loss is not followed by a dial before reading goes on`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(60))
    harness.pause(true)
    #expect(harness.lose(.closed(code: 4200, reason: "")).dials == 0)
    #expect(harness.session.deadline == nil)
    #expect(harness.advance(.seconds(3600)) == [])
    #expect(harness.pause(false) == [])
    #expect(harness.advance(.zero) == [.dial])
  }

  @Test func `a dial that is under way gets its whole time once reading goes on`() {
    var harness = SessionHarness(channels: ["c"])
    harness.dial()
    harness.advance(.seconds(9))
    harness.pause(true)
    #expect(harness.advance(.seconds(60)) == [])
    harness.pause(false)
    #expect(harness.advance(.seconds(10) - .nanoseconds(1)) == [])
    #expect(harness.greet().events.count == 1)
  }

  @Test func `an answer to a subscription is not late while nobody reads it`() {
    var harness = SessionHarness.connected()
    harness.subscribe("c")
    harness.advance(.seconds(9))
    harness.pause(true)
    #expect(harness.advance(.seconds(60)) == [])
    harness.pause(false)
    #expect(harness.advance(.seconds(10) - .nanoseconds(1)) == [])
    #expect(harness.succeed("c").events == [.subscribed(channel: "c", presence: nil)])
  }

  @Test func `a loss after a pause begins where reading stopped`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let start = harness.now
    harness.pause(true)
    harness.advance(.seconds(100))
    harness.pause(false)
    harness.renew()
    #expect(harness.succeed("c").events.last == .gap(from: start, to: harness.now))
  }
}

/// The machine sleeps or the program is stopped: the clock jumps, and all timers are late.
struct SessionSleepTests {
  /// Lets the session check the clock once after a jump.
  private func jump(_ time: Duration, _ harness: inout SessionHarness) -> [SessionOutput] {
    harness.now = harness.now.advanced(by: time)
    return harness.perform { $0.tick(at: $1) }
  }

  @Test func `a server that has gone meanwhile is left, and the gap covers the sleep`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.advance(.seconds(60))
    harness.receive(#"{"event":"e","channel":"c"}"#)
    let start = harness.now
    #expect(jump(.seconds(8 * 3600), &harness) == [.ping])
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
    #expect(harness.advance(.seconds(120)) == [.ping])
    #expect(jump(.seconds(3600), &harness).first == .abort)
  }

  @Test func `a sleep while it waits to dial is no reason to wait longer`() {
    var harness = SessionHarness.connected(channels: ["c"])
    harness.lose(.closed(code: 4100, reason: ""))
    #expect(jump(.seconds(3600), &harness) == [.dial])
    #expect(jump(.seconds(3600), &harness).first == .abort)
  }
}
