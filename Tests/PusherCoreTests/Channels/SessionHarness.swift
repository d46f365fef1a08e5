import TestSupport

@testable import PusherCore

/// A session on a simulated clock, with its outputs since the last call.
struct SessionHarness {
  var session: Session
  var now = Instant(nanoseconds: 0)

  init(
    _ options: SessionOptions = SessionOptions(), channels: [String] = [], seed: UInt64 = 1
  ) {
    session = Session(options: options, random: SeededGenerator(seed: seed))
    for channel in channels { session.subscribe(channel, at: now) }
  }

  static func connected(
    _ options: SessionOptions = SessionOptions(), channels: [String] = []
  ) -> SessionHarness {
    var harness = SessionHarness(options, channels: channels)
    harness.connect()
    for channel in channels { harness.succeed(channel) }
    return harness
  }

  // MARK: Inputs; each returns the outputs

  mutating func perform(_ input: (inout Session, Instant) -> Void) -> [SessionOutput] {
    input(&session, now)
    return drain()
  }

  mutating func drain() -> [SessionOutput] {
    var outputs: [SessionOutput] = []
    while let output = session.nextOutput() { outputs.append(output) }
    return outputs
  }

  @discardableResult
  mutating func connect(socketID: String = "1.2") -> [SessionOutput] {
    perform { $0.connect(at: $1) } + greet(socketID: socketID)
  }

  @discardableResult
  mutating func greet(socketID: String = "1.2", activityTimeout: Int = 120) -> [SessionOutput] {
    receive(
      #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"\#(socketID)\",\"activity_timeout\":\#(activityTimeout)}"}"#
    )
  }

  @discardableResult
  mutating func receive(_ text: String) -> [SessionOutput] {
    session.noteActivity(at: now)
    withView(Array(text.utf8)) { _ = session.receive($0, at: now) }
    session.noteDelivery(at: now)
    return drain()
  }

  @discardableResult
  mutating func succeed(_ channel: String, presence: String? = nil) -> [SessionOutput] {
    let data = presence.map { #","data":{"presence":\#($0)}"# } ?? #","data":"{}""#
    return receive(
      #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)"\#(data)}"#)
  }

  @discardableResult
  mutating func error(code: Int?, _ message: String = "no") -> [SessionOutput] {
    receive(
      #"{"event":"pusher:error","data":{"code":\#(code.map(String.init) ?? "null"),"message":"\#(message)"}}"#
    )
  }

  @discardableResult
  mutating func lose(_ loss: ConnectionLoss) -> [SessionOutput] {
    perform { $0.lost(loss, at: $1) }
  }

  @discardableResult
  mutating func answer(
    _ request: AuthorizationRequest, _ result: Result<PusherAuth, AuthorizationFailure>
  ) -> [SessionOutput] {
    perform { $0.authorized(request, result.map(Authorization.init), at: $1) }
  }

  /// Advances the clock and ticks at each deadline; a step of a minute without a deadline gives no
  /// outputs.
  @discardableResult
  mutating func advance(_ time: Duration) -> [SessionOutput] {
    let end = now.advanced(by: time)
    var outputs: [SessionOutput] = []
    var ticks = 0
    while let deadline = session.deadline, deadline <= end, ticks < 10_000 {
      ticks += 1
      now = max(now, deadline)
      outputs += perform { $0.tick(at: $1) }
    }
    now = end
    return outputs + perform { $0.tick(at: $1) }
  }

  // MARK: Shorthands for outputs

  static let ping = SessionOutput.send(#"{"event":"pusher:ping","data":{}}"#)
  static let pong = SessionOutput.answerPing(#"{"event":"pusher:pong","data":{}}"#)

  static func subscribe(_ channel: String) -> SessionOutput {
    .send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
  }

  static func subscribe(_ channel: String, auth: String) -> SessionOutput {
    .send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)","auth":"\#(auth)"}}"#)
  }

  static func unsubscribe(_ channel: String) -> SessionOutput {
    .send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
  }
}

extension [SessionOutput] {
  var events: [SessionEvent] {
    compactMap { if case .report(let event) = $0 { event } else { nil } }
  }

  var requests: [AuthorizationRequest] {
    compactMap { if case .authorize(let request) = $0 { request } else { nil } }
  }

  var dials: Int { count { $0 == .dial } }

  /// The delay before the next dial and its attempt number, as reported with the last loss.
  var retry: (delay: Duration?, attempt: Int)? {
    for case .connection(.disconnected(_, _, let delay, let attempt)) in events.reversed() {
      return (delay, attempt)
    }
    return nil
  }

  var failures: [SubscriptionFailure] {
    events.compactMap { if case .subscriptionFailed(_, let failure) = $0 { failure } else { nil } }
  }

  var end: ConnectionEnd? {
    for case .connection(.ended(let end)) in events { return end }
    return nil
  }
}

extension SessionEvent {
  static func redirected(status: Int, to place: String) -> SessionEvent {
    .connection(.redirected(status: status, to: place))
  }

  static func disconnected(
    _ loss: ConnectionLoss, code: Int?, retryIn: Duration?, attempt: Int
  ) -> SessionEvent {
    .connection(.disconnected(loss, code: code, retryIn: retryIn, attempt: attempt))
  }

  static func gap(from start: Instant, to end: Instant) -> SessionEvent {
    .connection(.gap(from: start, to: end))
  }

  static func ended(_ end: ConnectionEnd) -> SessionEvent { .connection(.ended(end)) }
}

extension Session {
  var isFullySubscribed: Bool {
    isConnected && subscriptions.areAllSubscribed && (!signIn.isWanted || userID != nil)
  }
}

extension SubscriptionTable {
  var areAllSubscribed: Bool { names.allSatisfy { self[$0]?.state == .subscribed } }
}
