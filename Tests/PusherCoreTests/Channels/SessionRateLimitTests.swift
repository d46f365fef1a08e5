import TestSupport
import Testing

@testable import PusherCore

/// Reverb's `rate_limiting`: the server drops messages above the limit and answers with error 4301,
/// which names no channel.
///
/// Sources: `Server::ensureWithinRateLimit` of Laravel Reverb, Pusher's error codes.
struct SessionRateLimitTests {
  private static let words = "Rate limit exceeded"
  private static let names = (1...20).map { "ch\($0)" }

  private static let error =
    #"{"event":"pusher:error","data":"{\"code\":4301,\"message\":\"Rate limit exceeded\"}"}"#

  private func limited() -> (SessionHarness, [SessionOutput]) {
    var harness = SessionHarness(channels: Self.names)
    harness.connect()
    for name in Self.names.prefix(5) { harness.succeed(name) }
    var outputs: [SessionOutput] = []
    for _ in 0..<15 { outputs += harness.receive(Self.error) }
    return (harness, outputs)
  }

  private func limits(_ outputs: [SessionOutput]) -> [RateLimit] {
    outputs.events.compactMap { if case .rateLimited(let limit) = $0 { limit } else { nil } }
  }

  @Test func `the limit is told once for all dropped subscriptions, and none is refused`() {
    var (harness, outputs) = limited()
    #expect(limits(outputs) == [RateLimit(message: Self.words, waiting: 15, retryIn: .seconds(1))])
    #expect(outputs.events.filter { $0 == .error(code: 4301, message: Self.words) }.count == 15)
    for seconds in [1, 2, 4, 8, 16] {
      outputs += harness.advance(.seconds(seconds)) + harness.receive(Self.error)
    }
    #expect(outputs.failures.isEmpty)
    #expect(harness.session.isConnected)
  }

  /// The channels that are asked for, in order.
  private func asked(_ outputs: [SessionOutput]) -> [String] {
    outputs.sent.compactMap { try? JSONParser.parse($0)["data"]?["channel"]?.text }
  }

  @Test func `after a second one channel is asked for again, and each drop doubles the wait`() {
    var (harness, _) = limited()
    #expect(harness.advance(.milliseconds(999)) == [])
    #expect(harness.advance(.milliseconds(1)) == [.subscribe("ch6")])
    for seconds in [2, 4, 8, 16, 32, 60, 60] {
      let limit = limits(harness.receive(Self.error)).first
      #expect(limit?.retryIn == .seconds(seconds))
      #expect(harness.advance(.seconds(seconds) - .milliseconds(1)) == [])
      #expect(harness.advance(.milliseconds(1)).sent.count == 1)
    }
  }

  @Test func `an answered request is followed by half a burst, and later by the next`() {
    var (harness, _) = limited()
    let first = asked(harness.advance(.seconds(1)))
    let rest = asked(harness.succeed(first[0]))
    #expect(rest.count == 9)
    for name in rest { harness.succeed(name) }
    #expect(harness.advance(.milliseconds(999)) == [])
    #expect(harness.advance(.milliseconds(1)).sent.count == 5)
  }

  @Test func `a burst that is cut is halved, and the next comes after the same time`() {
    var (harness, _) = limited()
    let first = asked(harness.advance(.seconds(1)))
    let rest = asked(harness.succeed(first[0]))
    for name in rest.prefix(3) { harness.succeed(name) }
    #expect(limits(harness.receive(Self.error)).first?.retryIn == .seconds(1))
    let probe = asked(harness.advance(.seconds(1)))
    #expect(probe.count == 1)
    #expect(harness.succeed(probe[0]).sent.count == 4)
  }

  @Test func `once a burst is answered, it is told how long all take, and only once`() {
    var (harness, _) = limited()
    let first = asked(harness.advance(.seconds(1)))
    var told: [RateLimit] = []
    for name in asked(harness.succeed(first[0])) { told += limits(harness.succeed(name)) }
    let rest = harness.advance(.seconds(1))
    for name in asked(rest) { told += limits(harness.succeed(name)) }
    let plan = RateLimit.Plan(requests: 10, interval: .seconds(1), rest: .seconds(1))
    #expect(told == [RateLimit(message: Self.words, waiting: 5, retryIn: .seconds(1), plan: plan)])
    #expect(
      told.first?.inWords == "the server's rate limit (error 4301: Rate limit exceeded): "
        + "sending 10 in 1 s; 5 requests wait, which takes about 1 s")
  }

  @Test func `no plan is told without a channel that waits`() {
    var harness = SessionHarness(channels: ["a", "b"])
    harness.connect()
    harness.succeed("a")
    harness.receive(Self.error)
    harness.advance(.seconds(1))
    #expect(limits(harness.succeed("b")) == [])
  }

  @Test func `a late confirmation counts, and its channel is not asked for again`() {
    var (harness, _) = limited()
    for name in Self.names.dropFirst(5) {
      #expect(harness.succeed(name) == [.subscribed(name)])
    }
    #expect(harness.advance(.seconds(60)) == [])
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `a signature is sent again as it was signed`() throws {
    var harness = SessionHarness(channels: ["private-a"])
    harness.sign(harness.connect().requests)
    harness.receive(Self.error)
    #expect(harness.advance(.seconds(1)) == [.subscribe("private-a", auth: "K:S")])
  }

  @Test func `a sign-in that is dropped is sent again before the channels`() throws {
    var harness = SessionHarness(channels: ["a"])
    _ = harness.signIn()
    let request = try #require(harness.connect().requests.first)
    let user = Authorization(PusherUserAuth(auth: "K:S", userData: #"{"id":"7"}"#))
    let sent = harness.perform { $0.authorized(request, .success(user), at: $1) }
    let outputs = harness.receive(Self.error)
    #expect(outputs.signInFailure == nil)
    #expect(limits(outputs).first?.waiting == 1)
    #expect(harness.advance(.seconds(1)) == sent)
  }

  private static let unexplained = [
    ConnectionLoss.closed(code: nil, reason: ""), .closed(code: 1006, reason: ""),
    .network("reset"),
  ]

  @Test(arguments: unexplained)
  func `a server that closes at its limit is named as the cause`(loss: ConnectionLoss) throws {
    var (harness, _) = limited()
    let outputs = harness.lose(loss)
    #expect(outputs.loss == .init(loss: .closed(code: 4301, reason: Self.words), code: 4301))
    // The next connection starts with half, and sends no more for ten seconds.
    harness.advance(try #require(outputs.retry?.delay))
    #expect(harness.greet().sent.count == 10)
    for name in Self.names.prefix(10) { harness.succeed(name) }
    #expect(harness.advance(.milliseconds(9999)) == [])
    #expect(harness.advance(.milliseconds(1)).sent.count == 10)
  }

  // Reverb's `terminate_on_limit`: the connection ends without an error and without a close frame.

  /// Confirms the first channels of a connection, ends it, and dials again; returns the outputs of
  /// the greeting.
  private func again(
    _ harness: inout SessionHarness, after answers: Int,
    _ loss: ConnectionLoss = .closed(code: nil, reason: "")
  ) -> [SessionOutput] {
    for name in Self.names.prefix(answers) { harness.succeed(name) }
    let delay = harness.lose(loss).retry?.delay ?? .zero
    harness.advance(delay)
    return harness.greet()
  }

  private func connected() -> SessionHarness {
    var harness = SessionHarness(channels: Self.names)
    harness.connect()
    return harness
  }

  @Test(arguments: unexplained)
  func `an end among requests without a reason halves the burst and is told`(loss: ConnectionLoss) {
    var harness = connected()
    let outputs = again(&harness, after: 12, loss)
    #expect(outputs.sent.count == 10)
    #expect(limits(outputs).isEmpty)
    var told: [RateLimit] = []
    for name in Self.names.prefix(10) { told += limits(harness.succeed(name)) }
    let plan = RateLimit.Plan(requests: 10, interval: .seconds(10), rest: .seconds(10))
    let limit = RateLimit(message: nil, waiting: 10, retryIn: .seconds(10), plan: plan)
    #expect(told == [limit])
    #expect(
      limit.inWords == "the server's rate limit (it ends the connection, without an error): "
        + "sending 10 in 10 s; 10 requests wait, which takes about 10 s")
    #expect(harness.advance(.milliseconds(9999)) == [])
    #expect(harness.advance(.milliseconds(1)).sent.count == 10)
    for name in Self.names.dropFirst(10) { harness.succeed(name) }
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `an end in a later burst doubles the time between bursts`() {
    var harness = connected()
    #expect(again(&harness, after: 12).sent.count == 10)
    for name in Self.names.prefix(10) { harness.succeed(name) }
    #expect(harness.advance(.seconds(10)).sent.count == 10)
    harness.succeed("ch11")
    #expect(again(&harness, after: 0).sent.count == 10)
    for name in Self.names.prefix(10) { harness.succeed(name) }
    #expect(harness.advance(.milliseconds(19_999)).sent.isEmpty)
    #expect(harness.advance(.milliseconds(1)).sent.count == 10)
  }

  @Test func `an end without a missing answer, or without any answer, is an accident`() {
    var harness = connected()
    for answers in [20, 20, 0, 0, 20] {
      #expect(again(&harness, after: answers).sent.count == 20)
    }
  }

  @Test(arguments: [
    ConnectionLoss.closed(code: 1001, reason: ""), .closed(code: 4200, reason: ""),
    .noPong(.seconds(30)), .dropped("x"), .violation("x"),
  ])
  func `an end with a reason is not the limit's`(loss: ConnectionLoss) {
    var harness = connected()
    for _ in 0..<3 { #expect(again(&harness, after: 12, loss).sent.count == 20) }
  }

  @Test func `an end after an error, or long after the requests, is not the limit's`() {
    var harness = connected()
    for _ in 0..<3 {
      harness.error(code: 4100, "over capacity")
      #expect(again(&harness, after: 12).sent.count == 20)
    }
    for name in Self.names.prefix(12) { harness.succeed(name) }
    harness.advance(.seconds(5))
    #expect(again(&harness, after: 0).sent.count == 20)
  }

  @Test func `an end soon after four requests or fewer is an accident`() {
    var harness = connected()
    for count in [10, 5, 2, 2, 2] {
      #expect(again(&harness, after: max(count / 2, 1)).sent.count == count)
    }
    var few = SessionHarness(channels: ["a", "b", "c", "d"])
    few.connect()
    for _ in 0..<3 {
      few.succeed("a")
      few.advance(few.lose(.network("reset")).retry?.delay ?? .zero)
      #expect(few.greet().sent.count == 4)
    }
  }

  @Test func `after a minute without a limit, the next connection's bursts are twice as large`() {
    var harness = connected()
    _ = again(&harness, after: 12)
    #expect(again(&harness, after: 7).sent.count == 5)
    for burst in 0..<4 {
      for name in Self.names.dropFirst(5 * burst).prefix(5) { harness.succeed(name) }
      harness.advance(.seconds(10))
    }
    harness.advance(.seconds(20))
    #expect(again(&harness, after: 0).sent.count == 10)
  }

  @Test func `attempts that fail say nothing about the limit`() {
    var harness = connected()
    #expect(again(&harness, after: 12).sent.count == 10)
    let lastLimit = harness.now
    while harness.now < lastLimit.advanced(by: .seconds(120)) {
      let delay = harness.lose(.network("refused")).retry?.delay ?? .zero
      harness.advance(delay)
    }
    #expect(harness.greet().sent.count == 10)
  }

  @Test func `another server has no known limit`() {
    var harness = connected()
    #expect(again(&harness, after: 12).sent.count == 10)
    _ = harness.perform { $0.move(to: SessionOptions(), reason: "moved", at: $1) }
    #expect(harness.greet().sent.count == 20)
  }

  @Test func `a limit that is past does not explain a loss`() {
    var harness = SessionHarness.connected(channels: ["a"])
    harness.receive(Self.error)
    harness.advance(.seconds(5))
    #expect(harness.lose(.network("gone")).loss == .init(loss: .network("gone"), code: nil))
  }

  private func whisper(_ count: Int, _ harness: inout SessionHarness) throws {
    harness.succeed("private-a")
    let event = try ClientEvent(channel: "private-a", name: "client-x", data: .null)
    for _ in 0..<count { _ = harness.perform { _ = $0.trigger(event, at: $1) } }
  }

  @Test func `client events that are dropped are counted, and pings are not`() throws {
    var harness = SessionHarness.connected(channels: ["a"])
    #expect(harness.receive(Self.error).events.count == 1)
    harness.sign(harness.subscribe("private-a").requests)
    try whisper(3, &harness)
    let dropped = SessionEvent.clientEventsDropped(count: 1, message: Self.words)
    #expect(harness.receive(Self.error).events.last == dropped)
    let named =
      #"{"event":"pusher:error","channel":"private-a","data":{"code":4301,"message":"Rate limit exceeded"}}"#
    #expect(harness.receive(named).events.last == dropped)
    harness.advance(.seconds(11))
    #expect(harness.receive(Self.error).events.count == 1)
  }

  @Test func `client events dropped among subscriptions are told by their number`() throws {
    var harness = SessionHarness(channels: ["private-a", "b"])
    harness.sign(harness.connect().requests)
    try whisper(2, &harness)
    for _ in 0..<3 { harness.receive(Self.error) }
    let outputs = harness.advance(.seconds(1))
    #expect(outputs.events == [.clientEventsDropped(count: 2, message: Self.words)])
    #expect(outputs.last == .subscribe("b"))
  }
}

/// Sessions subscribe to many channels of a server with Reverb's limit, on a simulated clock.
struct RateLimitSimulationTests {
  /// Maximum number of messages in a window that starts with its first message.
  private struct Limiter {
    let most: Int
    let time: Duration
    private var start: Instant?
    private var count = 0

    init(most: Int, time: Duration) { (self.most, self.time) = (most, time) }

    mutating func takes(at now: Instant) -> Bool {
      if let start, start.duration(to: now) >= time { self.start = nil }
      if start == nil { (start, count) = (now, 0) }
      count += 1
      return count <= most
    }
  }

  private struct Outcome {
    var joined: Set<String> = []
    var asks = 0
    var drops = 0
    var connections = 0
    var failures: [SubscriptionFailure] = []
    var time = Duration.zero
  }

  /// What a server does with a message above its limit.
  enum Answer {
    case error
    case errorAndEnd
    case end
  }

  private func play(
    channels: Int, most: Int, time: Duration, answer: Answer, delay: Duration, seed: UInt64 = 1
  ) -> Outcome {
    var harness = SessionHarness(
      SessionOptions(reconnect: ReconnectPolicy(mode: .always)),
      channels: (1...channels).map { "c\($0)" }, seed: seed)
    var outcome = Outcome()
    var limiter = Limiter(most: most, time: time)
    var waiting = harness.dial()
    while harness.now < Instant(nanoseconds: 0).advanced(by: .seconds(3600)) {
      let outputs = waiting
      waiting = []
      outcome.failures += outputs.failures
      if outputs.contains(.dial) {
        (limiter, outcome.joined) = (Limiter(most: most, time: time), [])
        outcome.connections += 1
        waiting += harness.greet()
        continue
      }
      let texts = outputs.sent
      if !texts.isEmpty { harness.now = harness.now.advanced(by: delay) }
      for text in texts {
        guard let channel = try? JSONParser.parse(text)["data"]?["channel"]?.text else { continue }
        outcome.asks += 1
        if limiter.takes(at: harness.now) {
          outcome.joined.insert(channel)
          waiting += harness.succeed(channel)
          continue
        }
        outcome.drops += 1
        if answer != .end { waiting += harness.error(code: 4301, "Rate limit exceeded") }
        if answer != .error {
          waiting += harness.lose(.closed(code: nil, reason: ""))
          break
        }
      }
      if waiting.isEmpty {
        if harness.session.isFullySubscribed { break }
        guard let deadline = harness.session.deadline else { break }
        harness.now = max(harness.now, deadline)
        waiting = harness.perform { $0.tick(at: $1) }
      }
    }
    outcome.time = Instant(nanoseconds: 0).duration(to: harness.now)
    if !harness.session.isFullySubscribed { outcome.joined = [] }
    return outcome
  }

  @Test(
    arguments: [
      (20, 5, 10, .error, delay: 20, drops: 15 + 9, connections: 1, seconds: 60),
      (20, 5, 10, .errorAndEnd, delay: 20, drops: .max, connections: 3, seconds: 3600),
      (200, 60, 2, .error, delay: 5, drops: .max, connections: 1, seconds: 10),
      (200, 60, 2, .end, delay: 5, drops: .max, connections: 4, seconds: 60),
    ] as [(Int, Int, Int, Answer, delay: Int, drops: Int, connections: Int, seconds: Int)])
  func `channels above a limit are joined in time, with few drops and connections`(
    channels: Int, most: Int, time: Int, answer: Answer, delay: Int, drops: Int, connections: Int,
    seconds: Int
  ) {
    let outcome = play(
      channels: channels, most: most, time: .seconds(time), answer: answer,
      delay: .milliseconds(delay))
    #expect(outcome.joined.count == channels)
    #expect(outcome.drops <= drops)
    #expect(outcome.connections <= connections)
    #expect(outcome.failures.isEmpty)
    #expect(outcome.time < .seconds(seconds))
  }

  @Test(arguments: [false, true])
  func `whatever the limit, every channel is joined, with few vain requests`(isSilent: Bool) {
    for seed in UInt64(1)...100 {
      var random = SeededGenerator(seed: seed)
      let channels = Int.random(in: 1...60, using: &random)
      let most = Int.random(in: (isSilent ? 5 : 1)...40, using: &random)
      let seconds = Int.random(in: 1...60, using: &random)
      let answer: Answer = isSilent ? .end : Bool.random(using: &random) ? .errorAndEnd : .error
      let outcome = play(
        channels: channels, most: most, time: .seconds(seconds), answer: answer,
        delay: .milliseconds(Int.random(in: 0...300, using: &random)), seed: seed)
      let setup: Comment = "\(seed): \(channels), \(most) in \(seconds) s, \(answer): \(outcome)"
      #expect(outcome.joined.count == channels, setup)
      #expect(outcome.failures.isEmpty, setup)
      // A burst is too large at most a few times; doubling finds the window in a few steps.
      let inVain = answer == .error ? 2 * max(channels - most, 0) + 12 : 12
      #expect(isSilent || outcome.drops <= inVain, setup)
      #expect(outcome.connections <= 9, setup)
    }
  }
}
