import Testing

@testable import PusherCore

/// The protocol page, section "Ping and pong messages"; seconds of a made-up clock.
struct KeepaliveTests {
  private func at(_ seconds: Int) -> Instant {
    Instant(nanoseconds: Int64(seconds) * 1_000_000_000)
  }

  private func keepalive() -> Keepalive {
    Keepalive(activityTimeout: .seconds(120), pongTimeout: .seconds(30), at: at(0))
  }

  @Test func `any byte is a sign of life, also instead of a pong`() {
    var keepalive = keepalive()
    keepalive.noteActivity(at: at(100))
    #expect(keepalive.deadline == at(220))
    #expect(keepalive.tick(at: at(219)) == nil)
    #expect(keepalive.tick(at: at(220)) == .sendPing)
    keepalive.noteActivity(at: at(249))
    #expect(keepalive.lastActivity == at(249))
    #expect(keepalive.tick(at: at(250)) == nil)
    #expect(keepalive.tick(at: at(369)) == .sendPing)
  }

  @Test func `a late tick sends its ping then, and waits the whole pong timeout from there`() {
    var keepalive = keepalive()
    #expect(keepalive.tick(at: at(1000)) == .sendPing)
    #expect(keepalive.deadline == at(1030))
  }

  @Test func `a pause during the wait for a pong forgives it`() {
    var keepalive = keepalive()
    #expect(keepalive.tick(at: at(120)) == .sendPing)
    keepalive.setPaused(true, at: at(140))
    #expect(keepalive.tick(at: at(150)) == nil)
    #expect(keepalive.deadline == at(260))
  }

  @Test func `pausing twice is pausing once`() {
    var keepalive = keepalive()
    keepalive.setPaused(true, at: at(10))
    keepalive.setPaused(true, at: at(100))
    #expect(keepalive.lastActivity == at(10))
    keepalive.setPaused(false, at: at(110))
    keepalive.setPaused(false, at: at(120))
    #expect(keepalive.lastActivity == at(110))
  }
}
