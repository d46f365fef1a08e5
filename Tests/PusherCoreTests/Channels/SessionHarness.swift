import TestSupport

@testable import PusherCore

/// A session on a simulated clock, with its outputs since the last call.
struct SessionHarness {
  var session: Session
  var now = Instant(nanoseconds: 0)

  init(_ options: SessionOptions = SessionOptions(), channels: [String] = [], seed: UInt64 = 1) {
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

  /// A session on a channel that needs a signature.
  static func joined(_ channel: String) -> SessionHarness {
    var harness = SessionHarness(channels: [channel])
    harness.sign(harness.connect().requests)
    harness.succeed(channel)
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

  @discardableResult mutating func dial() -> [SessionOutput] { perform { $0.connect(at: $1) } }

  @discardableResult mutating func connect(socketID: String = "1.2") -> [SessionOutput] {
    dial() + greet(socketID: socketID)
  }

  @discardableResult
  mutating func greet(socketID: String = "1.2", activityTimeout: Int = 120) -> [SessionOutput] {
    receive(
      #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"\#(socketID)\",\"activity_timeout\":\#(activityTimeout)}"}"#
    )
  }

  @discardableResult mutating func receive(_ text: String) -> [SessionOutput] {
    session.noteActivity(at: now)
    withView(Array(text.utf8)) { _ = session.receive($0, at: now) }
    session.noteDelivery(at: now)
    return drain()
  }

  /// Passes a message to the session; returns it if it is an event for the owner.
  mutating func event(_ text: String) -> ReadEvent? {
    withView(Array(text.utf8)) { view in
      guard case .event(let event, let name) = session.receive(view, at: now) else { return nil }
      return ReadEvent(
        envelopeName: event.eventName, publicName: name, channel: event.channelName,
        data: event.data, dataText: event.dataText, text: event.text, bytes: event.byteCount)
    }
  }

  @discardableResult mutating func subscribe(_ channel: String) -> [SessionOutput] {
    perform { $0.subscribe(channel, at: $1) }
  }

  @discardableResult mutating func unsubscribe(_ channel: String) -> [SessionOutput] {
    perform { $0.unsubscribe(channel, at: $1) }
  }

  @discardableResult
  mutating func disconnect() -> [SessionOutput] { perform { $0.disconnect(at: $1) } }

  mutating func signIn() -> [SessionOutput] { perform { $0.signIn(at: $1) } }

  @discardableResult mutating func pause(_ isPaused: Bool) -> [SessionOutput] {
    perform { $0.setReadingPaused(isPaused, at: $1) }
  }

  @discardableResult
  mutating func succeed(_ channel: String, presence: String? = nil) -> [SessionOutput] {
    let data = presence.map { #","data":{"presence":\#($0)}"# } ?? #","data":"{}""#
    return receive(
      #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)"\#(data)}"#)
  }

  @discardableResult mutating func error(code: Int?, _ message: String = "no") -> [SessionOutput] {
    receive(
      #"{"event":"pusher:error","data":{"code":\#(code.map(String.init) ?? "null"),"message":"\#(message)"}}"#
    )
  }

  @discardableResult mutating func lose(_ loss: ConnectionLoss) -> [SessionOutput] {
    perform { $0.lost(loss, at: $1) }
  }

  /// Loses the connection and makes the next; returns the outputs of its greeting.
  @discardableResult mutating func renew(socketID: String = "1.2") -> [SessionOutput] {
    lose(.network("reset"))
    advance(.seconds(2))
    return greet(socketID: socketID)
  }

  /// Answers each question with the signature `K:S`.
  mutating func sign(_ requests: [AuthorizationRequest]) {
    for request in requests { answer(request, .success(PusherAuth(auth: "K:S"))) }
  }

  @discardableResult mutating func answer(
    _ request: AuthorizationRequest, _ result: Result<PusherAuth, AuthorizationFailure>
  ) -> [SessionOutput] {
    perform { $0.authorized(request, result.map(Authorization.init), at: $1) }
  }

  /// Advances the clock and ticks at each deadline; a step of a minute without a deadline gives no
  /// outputs.
  @discardableResult mutating func advance(_ time: Duration) -> [SessionOutput] {
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
}

/// What the owner reads of an event.
struct ReadEvent: Equatable {
  let envelopeName: String
  let publicName: String?
  let channel: String?
  let data: JSONValue
  let dataText: String?
  let text: String
  let bytes: Int
}

extension SessionOutput {
  static let ping = SessionOutput.send(#"{"event":"pusher:ping","data":{}}"#)
  static let pong = SessionOutput.answerPing(#"{"event":"pusher:pong","data":{}}"#)

  static func subscribe(_ channel: String, auth: String? = nil) -> SessionOutput {
    let signature = auth.map { #","auth":"\#($0)""# } ?? ""
    return .send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"\#(signature)}}"#)
  }

  static func unsubscribe(_ channel: String) -> SessionOutput {
    .send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
  }

  /// The report of a subscription without members.
  static func subscribed(_ channel: String) -> SessionOutput {
    .report(.subscribed(channel: channel, presence: nil))
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

  /// The loss that is told, with its code.
  var loss: ToldLoss? {
    for case .connection(.disconnected(let loss, let code, _, _)) in events {
      return ToldLoss(loss: loss, code: code)
    }
    return nil
  }

  /// The members that a subscription reports first.
  var roster: PresenceRoster? {
    if case .subscribed(_, let roster) = events.first { roster } else { nil }
  }

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

  var failedChannels: [String] {
    events.compactMap { if case .subscriptionFailed(let channel, _) = $0 { channel } else { nil } }
  }

  var signInFailure: SubscriptionFailure? {
    for case .signInFailed(let failure) in events { return failure }
    return nil
  }

  /// The delay before a signer is asked again.
  var questionDelay: Duration? {
    for case .authorizationDelayed(_, _, let delay) in events { return delay }
    return nil
  }

  /// Each event that could not be decrypted, with the reason.
  var undecrypted: [String] {
    events.compactMap {
      guard case .decryptionFailed(_, let event, _, let reason) = $0 else { return nil }
      return "\(event): \(reason)"
    }
  }

  var sent: [String] { compactMap { if case .send(let text) = $0 { text } else { nil } } }

  var end: ConnectionEnd? {
    for case .connection(.ended(let end)) in events { return end }
    return nil
  }
}

struct ToldLoss: Equatable {
  let loss: ConnectionLoss
  let code: Int?
}

extension SessionEvent {
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
    isConnected && subscriptions.areAllSubscribed
      && (!signIn.isWanted || signIn.state == .subscribed)
  }
}

extension SubscriptionTable {
  var areAllSubscribed: Bool { names.allSatisfy { self[$0]?.state == .subscribed } }
}
