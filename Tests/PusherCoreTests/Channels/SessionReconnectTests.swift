import Testing

@testable import PusherCore

/// The protocol page, section "Connection closure", over the life of a session.
struct SessionReconnectTests {
  private func options(
    _ mode: ReconnectPolicy.Mode = .automatic, maximumAttempts: Int? = nil
  ) -> SessionOptions {
    SessionOptions(reconnect: ReconnectPolicy(mode: mode, maximumAttempts: maximumAttempts))
  }

  private func connected(
    for time: Duration, _ options: SessionOptions = SessionOptions()
  ) -> SessionHarness {
    var harness = SessionHarness.connected(options, channels: ["c"])
    harness.advance(time)
    return harness
  }

  @Test(arguments: [4000, 4001, 4004, 4009, 4050, 4099])
  func `a close between 4000 and 4099 is the end`(code: Int) {
    var harness = connected(for: .seconds(60))
    let loss = ConnectionLoss.closed(code: code, reason: "no")
    #expect(
      harness.lose(loss) == [
        .report(.disconnected(loss, code: code, retryIn: nil, attempt: 0)),
        .report(.ended(.lost(loss, code: code))),
      ])
    #expect(harness.advance(.seconds(3600)) == [])
  }

  @Test func `a refusal is followed like any loss where the policy wants that`() {
    var policy = ReconnectPolicy()
    policy.retriesRefusals = true
    for loss in [ConnectionLoss.closed(code: 4001, reason: ""), .refused(status: 403, reason: "")] {
      var harness = connected(for: .seconds(60), SessionOptions(reconnect: policy))
      #expect((harness.lose(loss).retry?.delay ?? .zero) >= .seconds(1))
    }
  }

  @Test(arguments: [4100, 4150, 4199, 4300, 4301])
  func `a close 4100 to 4199, or after the protocol's codes, is retried later`(code: Int) throws {
    var harness = connected(for: .seconds(60))
    let outputs = harness.lose(.closed(code: code, reason: ""))
    let delay = try #require(outputs.retry?.delay)
    #expect(outputs.count == 1)
    #expect(delay >= .seconds(1) && delay <= .seconds(2))
    #expect(harness.session.deadline == harness.now.advanced(by: delay))
    #expect(harness.advance(delay - .nanoseconds(1)) == [])
    #expect(harness.advance(.nanoseconds(1)) == [.dial])
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: 4200, reason: ""), .closed(code: 4201, reason: ""),
    .closed(code: 4202, reason: ""), .closed(code: 4299, reason: ""),
    .closed(code: 1000, reason: ""), .closed(code: 1001, reason: ""),
    .closed(code: 1006, reason: ""),
    .closed(code: 1011, reason: ""), .closed(code: nil, reason: ""), .network("reset"),
    .noPong(.seconds(30)),
  ])
  func `4200 to 4299 and losses without a code are followed at once, after 5 seconds`(
    loss: ConnectionLoss
  ) {
    let code = loss.effectiveCode(lastError: nil)
    var stable = connected(for: .seconds(5))
    #expect(
      stable.lose(loss) == [
        .report(.disconnected(loss, code: code, retryIn: .zero, attempt: 1)), .dial,
      ])
    var brief = connected(for: .seconds(5) - .nanoseconds(1))
    let delay = brief.lose(loss).retry?.delay ?? .zero
    #expect(delay >= .seconds(1))
  }

  @Test func `after the attempt at once the waits begin where they begin after any loss`() throws {
    let loss = ConnectionLoss.network("reset")
    var harness = connected(for: .seconds(5))
    #expect(harness.lose(loss).retry?.delay == .zero)
    for upper in [2, 4, 8, 16, 32, 64, 120, 120] {
      let delay = try #require(harness.lose(.network("no")).retry?.delay)
      #expect(delay >= .seconds(1) && delay <= .seconds(upper))
      harness.advance(delay)
    }
    // A connection that is lost within five seconds of its greeting proves nothing: the counter
    // goes on.
    harness.greet()
    harness.advance(.seconds(4))
    #expect(harness.lose(loss).retry?.attempt == 10)
  }

  @Test func `an error by itself never ends a connection`() {
    var harness = connected(for: .seconds(60))
    for code in [4000, 4001, 4009, 4100, 4200, 4201, 4301, 9999, nil] {
      #expect(harness.error(code: code) == [.report(.error(code: code, message: "no"))])
      #expect(harness.session.isFullySubscribed)
    }
  }

  @Test func `an error that came before the socket dropped says why, on its own connection only`() {
    let loss = ConnectionLoss.network("reset")
    var disabled = connected(for: .seconds(60), options(.always))
    disabled.error(code: 4003, "app disabled")
    #expect(disabled.lose(loss).end == .lost(loss, code: 4003))
    var inactive = connected(for: .seconds(60))
    inactive.error(code: 4201)
    #expect(inactive.lose(loss).dials == 1)
    var harness = connected(for: .seconds(60))
    harness.error(code: 4001)
    #expect(harness.lose(.closed(code: 4200, reason: "")).dials == 1)
    #expect(harness.lose(loss).end == nil)
  }

  @Test func `an error that refused a channel does not explain a later loss`() {
    var harness = SessionHarness.connected()
    harness.advance(.seconds(1))
    harness.sign(harness.subscribe("private-b").requests)
    #expect(harness.error(code: 4009, "unauthorized").failures.count == 1)
    harness.advance(.seconds(3600))
    #expect(harness.lose(.closed(code: nil, reason: "")).end == nil)
  }

  @Test func `automatic mode needs a first connection, and mode never ends at a loss`() {
    let loss = ConnectionLoss.network("refused")
    var harness = SessionHarness(options(.automatic))
    harness.dial()
    #expect(harness.lose(loss).end == .lost(loss, code: nil))
    var later = SessionHarness.connected(options(.automatic))
    #expect(later.lose(loss).end == nil)
    later.advance(.seconds(2))
    #expect(later.lose(loss).end == nil)
    var never = connected(for: .seconds(60), options(.never))
    let closed = ConnectionLoss.closed(code: 4200, reason: "")
    #expect(never.lose(closed).end == .lost(closed, code: 4200))
  }

  @Test(arguments: [0, 1, 3, 20])
  func `mode always also retries the first attempt, up to the maximum in a row`(maximum: Int) {
    let loss = ConnectionLoss.network("refused")
    var harness = SessionHarness(options(.always, maximumAttempts: maximum))
    harness.dial()
    for attempt in 0..<maximum {
      let retry = harness.lose(loss).retry
      #expect(retry?.attempt == attempt + 1)
      #expect(harness.advance(retry?.delay ?? .zero) == [.dial])
    }
    #expect(
      harness.lose(loss) == [
        .report(.disconnected(loss, code: nil, retryIn: nil, attempt: maximum)),
        .report(.ended(.retriesExhausted(loss, code: nil, attempts: maximum))),
      ])
  }

  @Test func `attempts are counted anew only after a stable connection`() {
    let loss = ConnectionLoss.network("reset")
    var harness = connected(for: .seconds(60), options(maximumAttempts: 3))
    for (time, attempt) in [(0, 1), (4, 2), (5, 1), (4, 2), (4, 3)] {
      harness.advance(.seconds(time))
      // A stable connection was lost: the counter starts at one.
      let outputs = harness.lose(loss)
      #expect(outputs.retry?.attempt == attempt)
      #expect((outputs + harness.advance(outputs.retry?.delay ?? .zero)).dials == 1)
      harness.greet()
    }
    harness.advance(.seconds(4))
    #expect(harness.lose(loss).end == .retriesExhausted(loss, code: nil, attempts: 3))
  }

  @Test func `after a loss everything is asked for anew, and the gap is told`() {
    var harness = SessionHarness.connected(channels: ["a", "b"])
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"a"}"#)
    let lastActivity = harness.now
    harness.advance(.seconds(7))
    let loss = ConnectionLoss.network("reset")
    var outputs = harness.lose(loss) + harness.advance(.seconds(2)) + harness.greet(socketID: "3.4")
    for channel in ["b", "a"] {
      harness.advance(.seconds(1))
      outputs += harness.succeed(channel)
    }
    #expect(
      outputs == [
        .report(.disconnected(loss, code: nil, retryIn: outputs.retry?.delay, attempt: 1)), .dial,
        .report(.connected(socketID: "3.4", activityTimeout: .seconds(120))),
        .subscribe("a"), .subscribe("b"),
        .subscribed("b"),
        .subscribed("a"),
        .report(.gap(from: lastActivity, to: harness.now)),
      ])
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `a gap over several losses begins at the first, and is told once`() {
    var harness = SessionHarness.connected(channels: ["c"])
    let start = harness.now
    harness.advance(.seconds(60))
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    harness.lose(.network("refused"))
    harness.advance(.seconds(4))
    harness.greet()
    harness.lose(.network("reset"))
    harness.advance(.seconds(8))
    harness.greet()
    #expect(harness.succeed("c").events.last == .gap(from: start, to: harness.now))
    #expect(harness.succeed("c") == [])
  }

  @Test func `a channel that fails or is left settles the gap for the others`() {
    for leaves in [false, true] {
      var harness = SessionHarness.connected(channels: ["a", "b"])
      let start = harness.now
      harness.renew()
      #expect(harness.succeed("a").events.count == 1)
      let outputs =
        leaves
        ? harness.unsubscribe("b")
        : harness.receive(#"{"event":"pusher:subscription_error","channel":"b"}"#)
      #expect(outputs.last == .report(.gap(from: start, to: harness.now)))
      #expect(!leaves || outputs.first == .unsubscribe("b"))
    }
  }

  @Test func `there is no gap when nothing was joined, or nothing is wanted any more`() {
    var never = SessionHarness(channels: ["c"])
    never.connect()
    never.renew()
    #expect(never.succeed("c").events == [.subscribed(channel: "c", presence: nil)])

    var left = SessionHarness.connected(channels: ["c"])
    left.lose(.network("reset"))
    #expect(left.unsubscribe("c") == [])
    left.advance(.seconds(2))
    #expect(left.greet().events.count == 1)
    left.subscribe("d")
    #expect(left.succeed("d").events == [.subscribed(channel: "d", presence: nil)])
  }
}

/// RFC 9110 section 10.2.3, across the attempts of a session.
struct SessionRetryAfterTests {
  private func wait(_ asked: Duration?, ceiling: Duration = .seconds(120)) throws -> Duration {
    let policy = ReconnectPolicy(mode: .always, backoff: Backoff(ceiling: ceiling))
    var harness = SessionHarness(SessionOptions(reconnect: policy), channels: ["c"])
    harness.dial()
    let loss = ConnectionLoss.refused(status: 503, reason: "", retryAfter: asked)
    return try #require(harness.lose(loss).retry?.delay)
  }

  @Test(
    arguments: [
      (60, 120, 60), (119, 120, 119), (121, 120, 120), (3_153_600_000, 120, 120), (60, 5, 5),
      // A short wish does not shorten the back-off.
      (0, 120, nil), (0.5, 120, nil), (1, 120, nil),
    ] as [(Double, Int, Int?)])
  func `the wait is at least what the server asks for, and at most the longest wait`(
    asked: Double, ceiling: Int, expected: Int?
  ) throws {
    let own = try wait(nil)
    #expect(own >= .seconds(1))
    let wait = try wait(.seconds(asked), ceiling: .seconds(ceiling))
    #expect(wait == expected.map { .seconds($0) } ?? own)
  }

  @Test func `a redirect is reported while the attempt goes on, and never else`() {
    var harness = SessionHarness(channels: ["c"])
    func redirect() -> [SessionEvent] {
      harness.perform { session, _ in session.redirected(status: 302, to: "ws://a/b") }.events
    }
    #expect(redirect() == [])
    harness.dial()
    #expect(redirect() == [.connection(.redirected(status: 302, to: "ws://a/b"))])
    harness.greet()
    #expect(redirect() == [])
  }

  @Test func `an attempt that is given up says what it waited for`() {
    var harness = SessionHarness(channels: ["c"])
    harness.dial()
    harness.now = harness.now.advanced(by: .seconds(10))
    let outputs = harness.perform { $0.tick(at: $1, stage: .upgrading(received: 7)) }
    let loss = ConnectionLoss.handshakeTimeout(.seconds(10), .upgrading(received: 7))
    #expect(outputs.contains(.report(.ended(.lost(loss, code: nil)))))
    #expect(
      "\(loss)"
        == "the server did not finish its answer to the upgrade (7 bytes received) within 10 s")
  }
}
