import TestSupport
import Testing

@testable import PusherCore

struct `Event source: when it asks again (HTML section 9.2.3)` {
  private static let refused = ConnectionLoss.refused(status: 404, reason: "Not Found")

  private static func asking(_ status: Int, _ wait: Duration?) -> ConnectionLoss {
    .refused(status: status, reason: "", retryAfter: wait)
  }

  @Test func `a good stream that ends is asked for again after the reconnection time`() throws {
    let rig = EventSourceRig(.idle)
    #expect(rig.open() == [.dial, .report(.opened)])
    #expect(rig.lose(.ended) == .seconds(3))
    rig.now = rig.now.advanced(by: .seconds(3))
    #expect(rig.perform { $0.tick(at: $1) } == [.dial])
  }

  @Test func `attempts that bring nothing wait longer, never less than asked for`() throws {
    let rig = EventSourceRig(.dialling, mode: .always)
    var longest = Duration.seconds(3)
    for _ in 0..<8 {
      let delay = try #require(rig.lose(.network("x")))
      #expect((.seconds(3)...longest).contains(delay))
      longest = min(longest * 2, .seconds(120))
      rig.dial()
    }
  }

  @Test func `the server's reconnection time takes the place of ours, within bounds`() throws {
    let rig = EventSourceRig()
    rig.setReconnectionTime(100)
    #expect(rig.lose(.ended) == .milliseconds(100))
    #expect(rig.session.reconnectionTime == .milliseconds(100))
    let other = EventSourceRig()
    other.setReconnectionTime(.max)
    #expect(other.lose(.ended) == .seconds(120))
    other.redial()
    other.setReconnectionTime(0)
    #expect(try #require(other.lose(.network("x"))) >= .milliseconds(10))
  }

  @Test func `204 is the end, as is another status or type`() {
    let rig = EventSourceRig(.dialling)
    #expect(rig.perform { session, _ in session.finished() } == [.report(.ended(.finished))])
    for error in [
      Self.refused, .notAnEventStream(contentType: "text/html"), .violation("x"), .limit("x"),
    ] {
      let rig = EventSourceRig(mode: .always)
      #expect(rig.end(error) == .lost(error, code: nil))
    }
  }

  @Test func `the policy may have refusals followed like losses, and nothing else`() {
    let rig = EventSourceRig(maximumAttempts: 1, retriesRefusals: true)
    #expect(rig.lose(Self.refused) != nil)
    rig.dial()
    #expect(rig.end(Self.refused) == .retriesExhausted(Self.refused, code: nil, attempts: 1))
    for error in [ConnectionLoss.violation("x"), .limit("x")] {
      let rig = EventSourceRig(retriesRefusals: true)
      #expect(rig.lose(error) == nil)
    }
    let first = EventSourceRig(.dialling, retriesRefusals: true)
    #expect(first.lose(Self.refused) == nil)
  }

  @Test func `the first attempt must work unless every one is repeated`() {
    let rig = EventSourceRig(.dialling)
    #expect(rig.end(.network("x")) == .lost(.network("x"), code: nil))
    let patient = EventSourceRig(.dialling, mode: .always)
    #expect(patient.lose(.network("x")) != nil)
    #expect(EventSourceRig(mode: .never).lose(.ended) == nil)
    let untold = EventSourceRig(.dialling, mode: .never)
    #expect(untold.lose(Self.asking(429, .zero)) == nil)
  }

  @Test func `a server in trouble is asked again, and when it says so`() {
    let rig = EventSourceRig()
    #expect(rig.lose(Self.asking(503, nil)) != nil)
    rig.dial()
    #expect(rig.lose(Self.asking(429, .seconds(30))) == .seconds(30))
    rig.dial()
    #expect(rig.lose(Self.asking(503, .seconds(9999))) == .seconds(120))
  }

  @Test func `attempts that bring nothing are counted, and an event begins a new count`() {
    let rig = EventSourceRig(maximumAttempts: 3)
    for attempt in 0..<6 {
      if attempt == 3 { _ = rig.perform { session, _ in session.noteEvent() } }
      let delay = rig.lose(.ended)
      #expect(attempt % 3 == 0 ? delay == .seconds(3) : delay != nil)
      rig.redial()
    }
    #expect(rig.end(.ended) == .retriesExhausted(.ended, code: nil, attempts: 3))
  }

  @Test(arguments: [429, 503], [ReconnectPolicy.Mode.automatic, .never])
  func `a request that the server asks for again is sent again, after the wait that it names`(
    status: Int, mode: ReconnectPolicy.Mode
  ) {
    let rig = EventSourceRig(.dialling, mode: mode, maximumAttempts: 2, retriesWhenAsked: true)
    for (asked, wait) in [(30, 30), (9999, 120)] {
      #expect(rig.lose(Self.asking(status, .seconds(asked))) == .seconds(wait))
      #expect(rig.dial() == [.dial])
    }
    let last = Self.asking(status, .seconds(1))
    #expect(rig.end(last) == .retriesExhausted(last, code: nil, attempts: 2))
  }

  @Test(arguments: [
    asking(429, nil), asking(503, nil), asking(500, .seconds(1)), asking(529, .seconds(1)),
    asking(403, .seconds(1)), .network("x"), .handshakeTimeout(.seconds(10)),
  ])
  func `nothing else sends a request again that may have an effect`(loss: ConnectionLoss) {
    let rig = EventSourceRig(.dialling, mode: .never, retriesWhenAsked: true)
    #expect(rig.end(loss) == .lost(loss, code: nil))
  }

  @Test(arguments: [false, true])
  func `a stream that has begun is not asked for again, with or without an event`(hasEvent: Bool) {
    let rig = EventSourceRig(.dialling, mode: .never, retriesWhenAsked: true)
    #expect(rig.lose(Self.asking(429, .zero)) != nil)
    #expect(rig.redial() == [.dial, .report(.opened)])
    if hasEvent { _ = rig.perform { session, _ in session.noteEvent() } }
    #expect(rig.end(.ended) == .lost(.ended, code: nil))
  }

  @Test func `a stream that begins elsewhere has a gap, also the first one`() throws {
    let elsewhere = try #require(
      Resumption(of: HTTPHeaders([("Mercure-Last-Event-ID", "earliest")]), asked: "7"))
    let rig = EventSourceRig(.dialling)
    var lostAt = rig.now
    for _ in 0..<2 {
      #expect(
        rig.perform { $0.opened(at: $1, elsewhere) } == [
          .report(.opened), .report(.resumedElsewhere(after: "earliest", insteadOf: "7")),
          .report(.gap(from: lostAt, to: rig.now)),
        ])
      lostAt = rig.now
      _ = rig.lose(.ended)
      rig.dial()
    }
  }

  @Test func `a reconnection tells since when events may be missing`() throws {
    let rig = EventSourceRig()
    let delivered = rig.now.advanced(by: .seconds(3))
    _ = rig.perform { session, _ in session.noteDelivery(at: delivered) }
    rig.now = delivered.advanced(by: .seconds(60))
    _ = rig.lose(.ended)
    #expect(rig.redial().contains(.report(.gap(from: delivered, to: rig.now))))
  }

  @Test func `silence ends a stream when it may not last`() throws {
    let rig = EventSourceRig(silence: .seconds(10))
    rig.now = rig.now.advanced(by: .seconds(9))
    _ = rig.perform { $0.noteActivity(at: $1) }
    let deadline = try #require(rig.session.deadline)
    #expect(rig.now.duration(to: deadline) == .seconds(10))
    _ = rig.perform { $0.setReadingPaused(true, at: $1) }
    #expect(rig.session.deadline == nil)
    _ = rig.perform { $0.setReadingPaused(false, at: $1) }
    rig.now = deadline
    #expect(rig.perform { $0.tick(at: $1) }.first == .abort)
    #expect(rig.session.deadline != nil)
  }

  @Test func `a session can be ended in every phase, and then does nothing more`() {
    var rig = EventSourceRig(.idle)
    #expect(rig.perform { $0.disconnect(at: $1) } == [.report(.ended(.asked))])
    rig = EventSourceRig()
    #expect(rig.perform { $0.disconnect(at: $1) } == [.abort, .report(.ended(.asked))])
    #expect(rig.perform { $0.lost(.ended, at: $1) } == [])
    #expect(rig.perform { $0.connect(at: $1) } == [])
    #expect(rig.session.deadline == nil)
  }
}

private final class EventSourceRig {
  var session: EventSourceSession
  var now = Instant(nanoseconds: 1_000_000_000)

  enum Phase { case idle, dialling, open }

  init(
    _ phase: Phase = .open, mode: ReconnectPolicy.Mode = .automatic, maximumAttempts: Int? = nil,
    silence: Duration? = nil,
    retriesRefusals: Bool = false, retriesWhenAsked: Bool = false
  ) {
    var policy = ReconnectPolicy(mode: mode, maximumAttempts: maximumAttempts)
    policy.retriesRefusals = retriesRefusals
    policy.retriesWhenAsked = retriesWhenAsked
    session = EventSourceSession(
      options: EventSourceOptions(reconnect: policy, silenceTimeout: silence),
      random: SeededGenerator(seed: 3))
    switch phase {
    case .idle: break
    case .dialling: _ = perform { $0.connect(at: $1) }
    case .open: open()
    }
  }

  func perform(_ input: (inout EventSourceSession, Instant) -> Void) -> [EventSourceOutput] {
    input(&session, now)
    var outputs: [EventSourceOutput] = []
    while let output = session.nextOutput() { outputs.append(output) }
    return outputs
  }

  func setReconnectionTime(_ milliseconds: Int) {
    _ = perform { session, _ in session.setReconnectionTime(milliseconds: milliseconds) }
  }

  @discardableResult
  func open() -> [EventSourceOutput] {
    perform {
      $0.connect(at: $1)
      $0.opened(at: $1)
    }
  }

  func lose(_ error: ConnectionLoss) -> Duration? {
    for case .report(.disconnected(_, _, let delay, _)) in perform({ $0.lost(error, at: $1) }) {
      return delay
    }
    return nil
  }

  /// Returns the end of the session by a loss; `nil` if the session goes on.
  func end(_ error: ConnectionLoss) -> ConnectionEnd? {
    let outputs = perform { $0.lost(error, at: $1) }
    guard case .report(.ended(let end)) = outputs.last else { return nil }
    return end
  }

  @discardableResult
  func dial() -> [EventSourceOutput] {
    now = session.deadline ?? now
    return perform { $0.tick(at: $1) }
  }

  @discardableResult
  func redial() -> [EventSourceOutput] {
    dial() + perform { $0.opened(at: $1) }
  }
}
