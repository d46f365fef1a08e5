/// A rate limit of the server: it drops messages with error 4301, or ends the connection.
///
/// ``ErrorSubject`` decides whether an error 4301 is about the limit.
package struct RateLimit: Sendable, Equatable {
  package static let code = 4301

  /// The requests as they are spread over time, once bursts have been answered.
  package struct Plan: Sendable, Equatable {
    /// Maximum number of requests in one interval.
    package let requests: Int
    package let interval: Duration
    /// Time until the last request is sent.
    package let rest: Duration
  }

  /// The server's words; `nil` if it ends the connection without any.
  package let message: String?
  /// Number of subscriptions and sign-ins that wait.
  package let waiting: Int
  /// Time until the first of them is sent again.
  package let retryIn: Duration
  package var plan: Plan?

  package var cause: String {
    message.map(Self.cause) ?? "the server's rate limit (it ends the connection, without an error)"
  }

  package static func cause(_ message: String) -> String {
    "the server's rate limit (error \(code)\(message.isEmpty ? "" : ": \(message)"))"
  }

  /// The limit in one sentence.
  package var inWords: String {
    let requests = waiting == 1 ? "1 request waits" : "\(waiting) requests wait"
    guard let plan else { return "\(cause): \(requests); retrying in \(retryIn.inWords)" }
    return "\(cause): sending \(plan.requests) in \(plan.interval.inWords); \(requests), "
      + "which takes about \(plan.rest.inWords)"
  }
}

/// Decides when a subscription or a sign-in is sent, once the server's rate limit has dropped some.
///
/// Without a limit, everything is sent at once. A limit that cuts a burst halves the next bursts.
/// After a drop, a burst begins with one request; the others follow its answer. A burst without any
/// answer doubles the time between two of them: the server still counts the last one. So does an
/// end of the connection in any burst but its first, which is cut because it is too large. Reverb
/// with `terminate_on_limit` ends its output before it writes the error. So an end without a
/// reason, soon after a burst of more than four requests, only some of them answered, halves the
/// bursts too. A smaller burst meets no usual limit. If the end was an accident, that costs little:
/// with each connection that is lost after a minute without a limit, the bursts double again, and
/// the time between them halves.
///
/// Sources: Laravel Reverb, `rate_limiting` (all messages of a connection within a time) and
/// `Server::ensureWithinRateLimit`; `DuplexResourceStream::end` of ReactPHP, which drops later
/// output; Pusher's error codes, 4301.
struct RequestPace {
  /// First and longest time between two bursts.
  private static let intervals = (Duration.seconds(1), Duration.seconds(60))
  /// The same after the server ended a connection, where each further burst is a risk.
  private static let intervalsAfterEnd = (Duration.seconds(10), Duration.seconds(120))
  /// The largest first burst whose end without a reason is an accident.
  private static let harmlessBurst = 4
  /// Maximum time from a limit, or from a burst, to the end of the connection that it explains.
  private static let explanationTime = Duration.seconds(5)
  /// Time without a limit after which the bursts double.
  private static let calmTime = Duration.seconds(60)

  /// Maximum requests in one burst; `nil` before any limit.
  private var burst: Int?
  /// Time from the start of one burst to the next.
  private var interval = Duration.zero
  private var start: Instant?
  /// True until the second burst of a connection begins.
  private var isFirstBurst = true
  private var lastSent: Instant?
  private var sent = 0
  private var answered = 0
  /// Messages of any kind that the server dropped since the burst began.
  private var dropped = 0
  /// After a drop, nothing is sent until this time.
  private var resumesAt: Instant?
  /// True from a drop to the next answer: one request shows whether the limit lasts.
  private var isProbing = false
  /// Time of the last drop on the present connection; it explains an end.
  private var lastDrop: Instant?
  /// Time of the last sign of a limit on any connection.
  private var lastLimit: Instant?
  /// The server's words about its limit, if it ever used any.
  private(set) var message: String?
  /// True after the plan was given for this connection.
  private var hasPlanned = false
  /// Client events that the server may still drop or refuse.
  ///
  /// The server confirms no client event, so an error soon after one is about it.
  private var clientEvents = 0
  private var lastClientEvent: Instant?
  /// An error that comes later than this after the last client event is about something else.
  private static let clientEventTime = Duration.seconds(10)

  mutating func maySend(at now: Instant) -> Bool {
    guard resumesAt == nil else { return false }
    guard let burst else { return true }
    if let start, now >= start.advanced(by: interval) {
      beginBurst()
      isFirstBurst = false
    }
    return sent < (isProbing ? 1 : burst)
  }

  private mutating func beginBurst() { (start, sent, answered, dropped) = (nil, 0, 0, 0) }

  mutating func noteSent(at now: Instant) {
    if burst == nil, sent == answered { beginBurst() }
    start = start ?? now
    lastSent = now
    sent += 1
  }

  mutating func noteAnswered() {
    answered = min(answered + 1, sent)
    if resumesAt == nil { isProbing = false }
  }

  enum Drop: Equatable {
    /// No request waits for an answer: the server dropped another message.
    case other
    /// Requests are dropped; they are sent again after this time.
    case hold(for: Duration)
    /// Another drop in the same burst.
    case more
  }

  mutating func noteDropped(_ message: String, at now: Instant) -> Drop {
    self.message = message
    (lastDrop, lastLimit) = (now, now)
    guard resumesAt == nil else {
      dropped += 1
      return .more
    }
    guard sent > answered else { return .other }
    dropped += 1
    if answered == 0 || interval == .zero { lengthen(Self.intervals) }
    isProbing = true
    resumesAt = now.advanced(by: interval)
    return .hold(for: interval)
  }

  private mutating func halve() { burst = max((burst ?? sent) / 2, 1) }

  private mutating func lengthen(_ bounds: (first: Duration, longest: Duration)) {
    interval = max(min(interval + interval, bounds.longest), bounds.first)
  }

  /// Begins the next burst after the wait; returns the number of client events that were dropped.
  mutating func resume(at now: Instant) -> Int {
    guard let resumesAt, now >= resumesAt else { return 0 }
    defer { beginBurst() }
    self.resumesAt = nil
    // Without an unanswered request, other messages met the limit.
    if sent > answered, answered > 0 || burst == nil { halve() }
    return takeDroppedEvents(at: now)
  }

  /// Each unanswered request explains one drop; the others were client events or pings.
  private mutating func takeDroppedEvents(at now: Instant) -> Int {
    takeClientEvents(max(dropped - (sent - answered), 0), at: now)
  }

  /// Learns from the end of the connection, and starts over for the next one.
  ///
  /// Returns the number of client events that were dropped.
  ///
  /// - Parameters:
  ///   - wasOpen: An attempt that failed says nothing about the limit.
  ///   - isSilent: The end has no reason.
  mutating func connectionLost(wasOpen: Bool, isSilent: Bool, at now: Instant) -> Int {
    let isSoon = lastSent.map { $0.duration(to: now) < Self.explanationTime } ?? false
    let mayBeLimit = !isFirstBurst || answered > 0 && sent > Self.harmlessBurst
    let isLimit = explanation(at: now) != nil || isSilent && mayBeLimit && isSoon
    if isLimit, sent > answered {
      if isFirstBurst { halve() }
      if !isFirstBurst || interval < Self.intervalsAfterEnd.0 { lengthen(Self.intervalsAfterEnd) }
      lastLimit = now
    } else if wasOpen, let burst, let lastLimit, lastLimit.duration(to: now) >= Self.calmTime {
      self.burst = min(burst, 1 << 32) * 2
      interval /= 2
    }
    defer {
      beginBurst()
      (resumesAt, isProbing, lastDrop, isFirstBurst) = (nil, false, nil, true)
      (hasPlanned, clientEvents) = (false, 0)
    }
    return takeDroppedEvents(at: now)
  }

  /// Returns the server's words about a limit that explains a loss now.
  func explanation(at now: Instant) -> String? {
    guard let lastDrop, lastDrop.duration(to: now) < Self.explanationTime else { return nil }
    return message
  }

  /// Returns how `waiting` requests are sent, once for each connection that the limit delays.
  mutating func plan(for waiting: Int, at now: Instant) -> RateLimit? {
    guard !hasPlanned, waiting > 0, let burst, let start, resumesAt == nil, interval > .zero,
      sent >= burst, answered == sent
    else { return nil }
    hasPlanned = true
    let bursts = (waiting - 1) / burst + 1
    let end = start.advanced(by: interval * bursts)
    return RateLimit(
      message: message, waiting: waiting, retryIn: now.duration(to: start.advanced(by: interval)),
      plan: RateLimit.Plan(requests: burst, interval: interval, rest: now.duration(to: end)))
  }

  /// Earliest time of the next request, if any waits.
  func deadline(isAnyHeld: Bool) -> Instant? {
    if let resumesAt { return resumesAt }
    guard isAnyHeld, burst != nil, !isProbing || sent == 0 else { return nil }
    return start?.advanced(by: interval)
  }

  mutating func noteClientEvent(at now: Instant) {
    forgetOldClientEvents(at: now)
    clientEvents += 1
    lastClientEvent = now
  }

  /// Returns the number of client events among `count` messages that the server did not pass on.
  mutating func takeClientEvents(_ count: Int, at now: Instant) -> Int {
    forgetOldClientEvents(at: now)
    let events = min(count, clientEvents)
    clientEvents -= events
    return events
  }

  private mutating func forgetOldClientEvents(at now: Instant) {
    if let lastClientEvent, lastClientEvent.duration(to: now) > Self.clientEventTime {
      clientEvents = 0
    }
  }
}

/// The subject of a `pusher:error`, by its words.
///
/// Code 4301 alone does not tell: Reverb and soketi use it for the rate limit and for refused
/// client events, and Pusher refuses client events without a code.
///
/// Sources: `ClientEvent::handle` and `Server::ensureWithinRateLimit` of Laravel Reverb;
/// `handleClientEvent` of soketi; Pusher's error codes.
package enum ErrorSubject: Equatable {
  /// The server's rate limit dropped a message.
  case rateLimit
  /// The server refused a client event.
  case clientEvent
  case other

  package init(code: Int?, message: String) {
    let words = message.lowercased()
    guard
      code == RateLimit.code || words.holds("client event") || words.holds("client message")
        || words.holds("client messaging")
        || words.holds("client is not a member")
    else {
      self = .other
      return
    }
    self = Self.isLimit(words) ? .rateLimit : .clientEvent
  }

  /// The subject of a close frame's code and reason.
  package init(_ loss: ConnectionLoss) {
    guard case .closed(let code, let reason) = loss else {
      self = .other
      return
    }
    self.init(code: code, message: reason)
  }

  private static func isLimit(_ words: String) -> Bool {
    words.holds("rate limit") || words.holds("rate-limit") || words.holds("rate_limit")
      || words.holds("ratelimit") || words.holds("too many") || words.holds("too fast")
      || words.holds("too often") || words.holds("throttl")
  }
}
