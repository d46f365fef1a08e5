import TestSupport
import Testing

@testable import PusherCore

@Suite("Event source: when it asks again (HTML section 9.2.3)")
struct EventSourceSessionTests {
  private static let refused = ConnectionLoss.refused(status: 404, reason: "Not Found")
  private static let busy = ConnectionLoss.refused(status: 503, reason: "Busy")

  @Test
  func `a good stream that ends is asked for again after exactly the reconnection time`() throws {
    let rig = EventSourceRig()
    #expect(rig.open() == [.dial, .report(.opened)])
    #expect(rig.lose(.ended) == .seconds(3))
    rig.now = rig.now.advanced(by: .seconds(3))
    #expect(rig.perform { $0.tick(at: $1) } == [.dial])
  }

  @Test func `attempts that bring nothing wait longer and longer, never less than asked for`()
    throws
  {
    let rig = EventSourceRig(mode: .always)
    _ = rig.perform { $0.connect(at: $1) }
    var longest = Duration.seconds(3)
    for _ in 0..<8 {
      let delay = try #require(rig.lose(.network("x")))
      #expect((.seconds(3)...longest).contains(delay))
      longest = min(longest * 2, .seconds(120))
      rig.dial()
    }
  }

  @Test func `the server's reconnection time takes the place of ours`() throws {
    let rig = EventSourceRig()
    rig.open()
    _ = rig.perform { session, _ in session.setReconnectionTime(milliseconds: 100) }
    #expect(rig.lose(.ended) == .milliseconds(100))
    #expect(rig.session.reconnectionTime == .milliseconds(100))
  }

  @Test
  func `a reconnection time beyond the longest wait is cut to it, one of nothing is not nothing`()
    throws
  {
    let rig = EventSourceRig()
    rig.open()
    _ = rig.perform { session, _ in session.setReconnectionTime(milliseconds: .max) }
    #expect(rig.lose(.ended) == .seconds(120))
    rig.redial()
    _ = rig.perform { session, _ in session.setReconnectionTime(milliseconds: 0) }
    #expect(try #require(rig.lose(.network("x"))) >= .milliseconds(10))
  }

  @Test func `204 is the end, as is another status or type`() {
    let rig = EventSourceRig()
    _ = rig.perform { $0.connect(at: $1) }
    #expect(rig.perform { session, _ in session.finished() } == [.report(.ended(.finished))])
    for error in [
      Self.refused, .notAnEventStream(contentType: "text/html"), .violation("x"), .limit("x"),
    ] {
      let rig = EventSourceRig(mode: .always)
      rig.open()
      #expect(rig.lose(error) == nil)
      #expect(rig.last == .report(.ended(.lost(error, code: nil))))
    }
  }

  @Test
  func `a refusal is followed like any loss where the policy wants that, and nothing else is`() {
    let rig = EventSourceRig(maximumAttempts: 1, retriesRefusals: true)
    rig.open()
    #expect(rig.lose(Self.refused) != nil)
    rig.dial()
    #expect(rig.lose(Self.refused) == nil)
    #expect(rig.last == .report(.ended(.retriesExhausted(Self.refused, code: nil, attempts: 1))))
    for error in [ConnectionLoss.violation("x"), .limit("x")] {
      let rig = EventSourceRig(retriesRefusals: true)
      rig.open()
      #expect(rig.lose(error) == nil)
    }
    let first = EventSourceRig(retriesRefusals: true)
    _ = first.perform { $0.connect(at: $1) }
    #expect(first.lose(Self.refused) == nil)
  }

  @Test func `the first attempt must work unless every one is repeated`() {
    let rig = EventSourceRig()
    _ = rig.perform { $0.connect(at: $1) }
    #expect(rig.lose(.network("x")) == nil)
    #expect(rig.last == .report(.ended(.lost(.network("x"), code: nil))))
    let patient = EventSourceRig(mode: .always)
    _ = patient.perform { $0.connect(at: $1) }
    #expect(patient.lose(.network("x")) != nil)
    let once = EventSourceRig(mode: .never)
    once.open()
    #expect(once.lose(.ended) == nil)
  }

  @Test func `a server in trouble is asked again, and when it says so`() throws {
    let rig = EventSourceRig()
    rig.open()
    #expect(rig.lose(Self.busy) != nil)
    rig.dial()
    let asked = ConnectionLoss.refused(status: 429, reason: "", retryAfter: .seconds(30))
    #expect(rig.lose(asked) == .seconds(30))
    rig.dial()
    let far = ConnectionLoss.refused(status: 503, reason: "", retryAfter: .seconds(9999))
    #expect(rig.lose(far) == .seconds(120))
  }

  @Test
  func `attempts that bring nothing wait longer and are counted, and an event begins a new count`()
    throws
  {
    let rig = EventSourceRig(maximumAttempts: 3)
    rig.open()
    for _ in 0..<3 {
      #expect(rig.lose(.ended) != nil)
      rig.redial()
    }
    _ = rig.perform { session, _ in session.noteEvent() }
    for _ in 0..<3 {
      #expect(rig.lose(.ended) != nil)
      rig.redial()
    }
    #expect(rig.lose(.ended) == nil)
    #expect(rig.last == .report(.ended(.retriesExhausted(.ended, code: nil, attempts: 3))))
  }

  private static func asking(_ status: Int, _ wait: Duration?) -> ConnectionLoss {
    .refused(status: status, reason: "", retryAfter: wait)
  }

  @Test(arguments: [429, 503], [ReconnectPolicy.Mode.automatic, .never])
  func `a request that the server asks for again is sent again, after the wait that it names`(
    status: Int, mode: ReconnectPolicy.Mode
  ) {
    let rig = EventSourceRig(mode: mode, maximumAttempts: 2, retriesWhenAsked: true)
    _ = rig.perform { $0.connect(at: $1) }
    #expect(rig.lose(Self.asking(status, .seconds(30))) == .seconds(30))
    #expect(rig.dial() == [.dial])
    #expect(rig.lose(Self.asking(status, .seconds(9999))) == .seconds(120))
    #expect(rig.dial() == [.dial])
    let last = Self.asking(status, .seconds(1))
    #expect(rig.lose(last) == nil)
    #expect(rig.last == .report(.ended(.retriesExhausted(last, code: nil, attempts: 2))))
  }

  @Test(arguments: [
    asking(429, nil), asking(503, nil), asking(500, .seconds(1)), asking(529, .seconds(1)),
    asking(403, .seconds(1)), .network("x"), .handshakeTimeout(.seconds(10)),
  ])
  func `nothing else sends a request again that may have an effect`(loss: ConnectionLoss) {
    let rig = EventSourceRig(mode: .never, retriesWhenAsked: true)
    _ = rig.perform { $0.connect(at: $1) }
    #expect(rig.lose(loss) == nil)
    #expect(rig.last == .report(.ended(.lost(loss, code: nil))))
  }

  @Test func `a stream that has begun is not asked for again, with or without an event`() {
    for hasEvent in [false, true] {
      let rig = EventSourceRig(mode: .never, retriesWhenAsked: true)
      _ = rig.perform { $0.connect(at: $1) }
      #expect(rig.lose(Self.asking(429, .zero)) != nil)
      #expect(rig.redial() == [.dial, .report(.opened)])
      if hasEvent { _ = rig.perform { session, _ in session.noteEvent() } }
      #expect(rig.lose(.ended) == nil)
      #expect(rig.last == .report(.ended(.lost(.ended, code: nil))))
    }
  }

  @Test func `without being told to, a first request is not sent again`() {
    let rig = EventSourceRig(mode: .never)
    _ = rig.perform { $0.connect(at: $1) }
    #expect(rig.lose(Self.asking(429, .zero)) == nil)
  }

  @Test func `a stream that begins elsewhere has a gap, also the first one`() throws {
    let elsewhere = try #require(
      Resumption(of: HTTPHeaders([("Mercure-Last-Event-ID", "earliest")]), asked: "7"))
    let told = EventSourceOutput.report(.resumedElsewhere(after: "earliest", insteadOf: "7"))
    let rig = EventSourceRig()
    _ = rig.perform { $0.connect(at: $1) }
    #expect(
      rig.perform { $0.opened(at: $1, elsewhere) }
        == [.report(.opened), told, .report(.gap(from: rig.now, to: rig.now))])
    let lostAt = rig.now
    _ = rig.lose(.ended)
    rig.dial()
    #expect(
      rig.perform { $0.opened(at: $1, elsewhere) }
        == [.report(.opened), told, .report(.gap(from: lostAt, to: rig.now))])
  }

  @Test func `a reconnection tells since when events may be missing`() throws {
    let rig = EventSourceRig()
    rig.open()
    let delivered = rig.now.advanced(by: .seconds(3))
    _ = rig.perform { session, _ in session.noteDelivery(at: delivered) }
    rig.now = delivered.advanced(by: .seconds(60))
    _ = rig.lose(.ended)
    #expect(rig.redial().contains(.report(.gap(from: delivered, to: rig.now))))
  }

  @Test func `silence ends a stream when it may not last`() throws {
    let rig = EventSourceRig(silence: .seconds(10))
    rig.open()
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
    var rig = EventSourceRig()
    #expect(rig.perform { $0.disconnect(at: $1) } == [.report(.ended(.asked))])
    rig = EventSourceRig()
    rig.open()
    #expect(
      rig.perform { $0.disconnect(at: $1) } == [.abort, .report(.ended(.asked))])
    #expect(rig.perform { $0.lost(.ended, at: $1) } == [])
    #expect(rig.perform { $0.connect(at: $1) } == [])
    #expect(rig.session.deadline == nil)
  }
}

private final class EventSourceRig {
  var session: EventSourceSession
  var now = Instant(nanoseconds: 1_000_000_000)
  private(set) var last: EventSourceOutput?

  init(
    mode: ReconnectPolicy.Mode = .automatic, maximumAttempts: Int? = nil, silence: Duration? = nil,
    retriesRefusals: Bool = false, retriesWhenAsked: Bool = false
  ) {
    var policy = ReconnectPolicy(mode: mode, maximumAttempts: maximumAttempts)
    policy.retriesRefusals = retriesRefusals
    policy.retriesWhenAsked = retriesWhenAsked
    session = EventSourceSession(
      options: EventSourceOptions(
        reconnect: policy, silenceTimeout: silence),
      random: SeededGenerator(seed: 3))
  }

  func perform(
    _ input: (inout EventSourceSession, Instant) -> Void
  ) -> [EventSourceOutput] {
    input(&session, now)
    var outputs: [EventSourceOutput] = []
    while let output = session.nextOutput() { outputs.append(output) }
    last = outputs.last ?? last
    return outputs
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
