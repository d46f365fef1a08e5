import Testing

@testable import PusherCore

/// The protocol page, section "Connection closure", over the life of a session.
@Suite struct SessionReconnectTests {
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
  func `a close between 4100 and 4199, or after those of the protocol, is followed after a while`(
    code: Int
  ) throws {
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

  @Test func `a storm of 4200 waits longer each time`() {
    var harness = SessionHarness.connected(channels: ["c"])
    for attempt in 1...10 {
      let outputs = harness.lose(.closed(code: 4200, reason: ""))
      #expect(outputs.retry?.attempt == attempt)
      let delay = outputs.retry?.delay ?? .zero
      #expect(delay >= .seconds(1) && delay <= .seconds(min(120, 1 << attempt)))
      #expect(harness.advance(delay) == [.dial])
      harness.greet()
    }
  }

  @Test func `an error by itself never ends a connection`() {
    var harness = connected(for: .seconds(60))
    for code in [4000, 4001, 4009, 4100, 4200, 4201, 4301, 9999, nil] {
      #expect(harness.error(code: code) == [.report(.error(code: code, message: "no"))])
      #expect(harness.session.isFullySubscribed)
    }
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: nil, reason: ""), .closed(code: 1006, reason: ""),
    .network("reset"),
  ])
  func `an error that came before the socket dropped says why`(loss: ConnectionLoss) {
    var disabled = connected(for: .seconds(60), options(.always))
    disabled.error(code: 4003, "app disabled")
    #expect(disabled.lose(loss).end == .lost(loss, code: 4003))
    var inactive = connected(for: .seconds(60))
    inactive.error(code: 4201)
    #expect(inactive.lose(loss).dials == 1)
  }

  @Test func `an error counts for its own connection only`() {
    var harness = connected(for: .seconds(60))
    harness.error(code: 4001)
    #expect(harness.lose(.closed(code: 4200, reason: "")).dials == 1)
    #expect(harness.lose(.network("reset")).end == nil)
  }

  @Test func `an error that refused a channel does not explain a later loss`() throws {
    var harness = SessionHarness.connected(channels: ["private-a"])
    harness.advance(.seconds(1))
    let request = AuthorizationTestRequest.of(&harness, "private-b")
    harness.answer(request, .success(PusherAuth(auth: "K:S")))
    #expect(harness.error(code: 4009, "unauthorized").failures.count == 1)
    harness.advance(.seconds(3600))
    #expect(harness.lose(.closed(code: nil, reason: "")).end == nil)
  }

  @Test func `in automatic mode the first connection must come about`() {
    let loss = ConnectionLoss.network("refused")
    var harness = SessionHarness(options(.automatic))
    _ = harness.perform { $0.connect(at: $1) }
    #expect(harness.lose(loss).end == .lost(loss, code: nil))
    var later = SessionHarness.connected(options(.automatic))
    #expect(later.lose(loss).end == nil)
    later.advance(.seconds(2))
    #expect(later.lose(loss).end == nil)
  }

  @Test func `always means the first attempt, too; never means none`() {
    let loss = ConnectionLoss.network("refused")
    var always = SessionHarness(options(.always))
    _ = always.perform { $0.connect(at: $1) }
    for attempt in 1...20 {
      let outputs = always.lose(loss)
      #expect(outputs.retry?.attempt == attempt)
      #expect(always.advance(outputs.retry?.delay ?? .zero) == [.dial])
    }
    var never = connected(for: .seconds(60), options(.never))
    #expect(
      never.lose(.closed(code: 4200, reason: "")).end
        == .lost(.closed(code: 4200, reason: ""), code: 4200))
  }

  @Test(arguments: [0, 1, 3])
  func `the maximum limits the attempts in a row`(maximum: Int) {
    let loss = ConnectionLoss.network("refused")
    var harness = SessionHarness(options(.always, maximumAttempts: maximum))
    _ = harness.perform { $0.connect(at: $1) }
    for _ in 0..<maximum {
      let delay = harness.lose(loss).retry?.delay ?? .zero
      #expect(harness.advance(delay) == [.dial])
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

  @Test func `a refused upgrade ends the session when trying again cannot help`() {
    for (status, ends) in [(404, true), (403, true), (503, false), (429, false)] {
      var harness = SessionHarness(options(.always))
      _ = harness.perform { $0.connect(at: $1) }
      let loss = ConnectionLoss.refused(status: status, reason: "")
      #expect((harness.lose(loss).end != nil) == ends)
    }
  }

  @Test func `after a loss everything is asked for anew, and the gap is told`() {
    var harness = SessionHarness.connected(channels: ["a", "b"])
    harness.advance(.seconds(10))
    harness.receive(#"{"event":"e","channel":"a"}"#)
    let lastActivity = harness.now
    harness.advance(.seconds(7))
    let loss = ConnectionLoss.network("reset")
    var outputs = harness.lose(loss)
    outputs += harness.advance(.seconds(2))
    outputs += harness.greet(socketID: "3.4")
    harness.advance(.seconds(1))
    outputs += harness.succeed("b")
    harness.advance(.seconds(1))
    outputs += harness.succeed("a")
    let delay = outputs.retry?.delay
    #expect(
      outputs == [
        .report(.disconnected(loss, code: nil, retryIn: delay, attempt: 1)), .dial,
        .report(.connected(socketID: "3.4", activityTimeout: .seconds(120))),
        SessionHarness.subscribe("a"), SessionHarness.subscribe("b"),
        .report(.subscribed(channel: "b", presence: nil)),
        .report(.subscribed(channel: "a", presence: nil)),
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
    var failing = SessionHarness.connected(channels: ["a", "b"])
    failing.lose(.network("reset"))
    failing.advance(.seconds(2))
    failing.greet()
    #expect(failing.succeed("a").events.count == 1)
    #expect(
      failing.receive(#"{"event":"pusher:subscription_error","channel":"b"}"#).events.last
        == .gap(from: Instant(nanoseconds: 0), to: failing.now))

    var leaving = SessionHarness.connected(channels: ["a", "b"])
    leaving.lose(.network("reset"))
    leaving.advance(.seconds(2))
    leaving.greet()
    leaving.succeed("a")
    #expect(
      leaving.perform { $0.unsubscribe("b", at: $1) } == [
        SessionHarness.unsubscribe("b"),
        .report(.gap(from: Instant(nanoseconds: 0), to: leaving.now)),
      ])
  }

  @Test func `there is no gap when nothing was joined, or nothing is wanted any more`() {
    var never = SessionHarness(channels: ["c"])
    never.connect()
    never.lose(.network("reset"))
    never.advance(.seconds(2))
    never.greet()
    #expect(never.succeed("c").events == [.subscribed(channel: "c", presence: nil)])

    var left = SessionHarness.connected(channels: ["c"])
    left.lose(.network("reset"))
    #expect(left.perform { $0.unsubscribe("c", at: $1) } == [])
    left.advance(.seconds(2))
    #expect(left.greet().events.count == 1)
    _ = left.perform { $0.subscribe("d", at: $1) }
    #expect(left.succeed("d").events == [.subscribed(channel: "d", presence: nil)])
  }
}

enum AuthorizationTestRequest {
  static func of(_ harness: inout SessionHarness, _ channel: String) -> AuthorizationRequest {
    let outputs = harness.perform { $0.subscribe(channel, at: $1) }
    return outputs.requests[0]
  }
}

/// RFC 9110 section 10.2.3, across the attempts of a session.
@Suite struct SessionRetryAfterTests {
  private func wait(_ asked: Duration?, ceiling: Duration = .seconds(120)) throws -> Duration {
    let policy = ReconnectPolicy(mode: .always, backoff: Backoff(ceiling: ceiling))
    var harness = SessionHarness(SessionOptions(reconnect: policy), channels: ["c"])
    _ = harness.perform { $0.connect(at: $1) }
    let loss = ConnectionLoss.refused(status: 503, reason: "", retryAfter: asked)
    return try #require(harness.lose(loss).retry?.delay)
  }

  @Test func `the wait is at least what the server asks for`() throws {
    #expect(try wait(.seconds(60)) == .seconds(60))
    #expect(try wait(.seconds(119)) == .seconds(119))
  }

  @Test func `a short wish does not shorten the back-off`() throws {
    let own = try wait(nil)
    #expect(own >= .seconds(1))
    for asked: Duration in [.zero, .milliseconds(500), .seconds(1)] {
      #expect(try wait(asked) == own)
    }
  }

  @Test func `no wish is longer than the longest wait`() throws {
    #expect(try wait(.seconds(121)) == .seconds(120))
    #expect(try wait(.seconds(3_153_600_000)) == .seconds(120))
    #expect(try wait(.seconds(60), ceiling: .seconds(5)) == .seconds(5))
  }

  @Test func `a redirect is reported while the attempt goes on, and never else`() {
    var harness = SessionHarness(channels: ["c"])
    let redirected = { (session: inout Session, now: Instant) in
      session.redirected(status: 302, to: "ws://a/b")
    }
    #expect(harness.perform(redirected) == [])
    _ = harness.perform { $0.connect(at: $1) }
    #expect(
      harness.perform(redirected) == [.report(.redirected(status: 302, to: "ws://a/b"))])
    harness.greet()
    #expect(harness.perform(redirected) == [])
  }

  @Test func `an attempt that is given up says what it waited for`() {
    var harness = SessionHarness(channels: ["c"])
    _ = harness.perform { $0.connect(at: $1) }
    harness.now = harness.now.advanced(by: .seconds(10))
    let outputs = harness.perform { $0.tick(at: $1, stage: .upgrading(received: 7)) }
    let loss = ConnectionLoss.handshakeTimeout(.seconds(10), .upgrading(received: 7))
    #expect(outputs.contains(.report(.ended(.lost(loss, code: nil)))))
    #expect(
      "\(loss)"
        == "the server did not finish its answer to the upgrade (7 bytes received) within 10 s")
  }
}
