/// Decides when a subscription or a sign-in is sent, once the server's rate limit has dropped some.
///
/// Without a limit, everything is sent at once. After an error of the limit, nothing is sent for a
/// while, then one request as a probe. Each dropped probe doubles the wait. An answered probe shows
/// how long the limit lasts. From then on, one burst is sent in each interval. Its size is the
/// number of requests that the server answered before it dropped one. A server that closes the
/// connection at its limit is not probed: each close makes the interval longer.
///
/// Sources: Laravel Reverb, `rate_limiting` (all messages of a connection within a time,
/// `terminate_on_limit`); Pusher's error codes, 4301.
struct RequestPace {
  private static let firstWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(60)
  /// First and longest interval between two bursts after the server closed a connection.
  private static let firstInterval = Duration.seconds(10)
  private static let longestInterval = Duration.seconds(600)
  /// An error of the limit explains a connection that is lost within this time.
  private static let explanationTime = Duration.seconds(5)

  /// Maximum requests in one burst; `nil` before any limit.
  private(set) var burst: Int?
  /// Time from the start of one burst to the next.
  private(set) var interval = Duration.zero
  private var start: Instant?
  private var probeStart: Instant?
  private var sent = 0
  private var answered = 0
  /// Since the present burst began.
  private var dropped = 0
  private var isProbing = false
  private var wait = Duration.zero
  /// After a drop, nothing is sent until this time.
  private var resumesAt: Instant?
  private var lastDrop: (time: Instant, message: String)?

  mutating func maySend(at now: Instant) -> Bool {
    guard resumesAt == nil else { return false }
    if isProbing { return sent == 0 }
    guard let burst else { return true }
    if let start, now >= start.advanced(by: interval) { beginBurst() }
    return sent < burst
  }

  private mutating func beginBurst() { (start, sent, answered) = (nil, 0, 0) }

  mutating func noteSent(at now: Instant) {
    if isProbing { probeStart = now } else if burst == nil, sent == answered { beginBurst() }
    start = start ?? now
    sent += 1
  }

  mutating func noteAnswered() {
    answered = min(answered + 1, sent)
    guard isProbing, resumesAt == nil, let start, let probeStart else { return }
    isProbing = false
    wait = .zero
    interval = start.duration(to: probeStart)
    self.start = probeStart
  }

  enum Drop: Equatable {
    /// No request waits for an answer: the server dropped another message.
    case other
    /// Requests are dropped; the first is sent again after this time.
    case hold(for: Duration)
    /// Another drop in the same burst.
    case more
  }

  mutating func noteDropped(_ message: String, at now: Instant) -> Drop {
    lastDrop = (now, message)
    if resumesAt != nil {
      dropped += 1
      return .more
    }
    guard sent > answered else { return .other }
    dropped += 1
    wait = wait == .zero ? Self.firstWait : min(wait + wait, Self.longestWait)
    resumesAt = now.advanced(by: wait)
    return .hold(for: wait)
  }

  /// Probes after the wait; returns the number of dropped messages that were not requests.
  mutating func resume(at now: Instant) -> Int? {
    guard let resumesAt, now >= resumesAt else { return nil }
    self.resumesAt = nil
    let others = settle()
    if sent > answered { isProbing = true }
    if isProbing {
      (sent, answered) = (0, 0)
    } else {
      // Every request was answered: other messages met the limit.
      wait = .zero
    }
    return others
  }

  /// Learns from a burst that was cut; returns the same number as ``resume(at:)``.
  private mutating func settle() -> Int {
    let unanswered = sent - answered
    defer { dropped = 0 }
    if unanswered > 0, !isProbing {
      burst = answered > 0 ? min(burst ?? answered, answered) : burst ?? 1
    }
    return max(dropped - unanswered, 0)
  }

  /// Resets for the next connection; returns the same number as ``resume(at:)``.
  mutating func connectionLost() -> Int {
    var others = 0
    if resumesAt != nil {
      let isCut = sent > answered
      others = settle()
      if isCut { lengthenInterval() }
    }
    beginBurst()
    (resumesAt, isProbing, wait, lastDrop) = (nil, false, .zero, nil)
    return others
  }

  private mutating func lengthenInterval() {
    interval = max(min(interval + interval, Self.longestInterval), Self.firstInterval)
  }

  /// Learns that the server ends connections at its limit, without an error.
  mutating func noteSilentEnd(burst allowed: Int) {
    burst = min(burst ?? allowed, allowed)
    lengthenInterval()
  }

  func explanation(at now: Instant) -> String? {
    guard let lastDrop, lastDrop.time.duration(to: now) < Self.explanationTime else { return nil }
    return lastDrop.message
  }

  var lastMessage: String { lastDrop?.message ?? "" }

  /// Returns how `waiting` requests are sent, once the limit is known and delays them.
  func plan(for waiting: Int, at now: Instant) -> RateLimit.Plan? {
    guard let burst, let start, resumesAt == nil, !isProbing, interval > .zero, sent >= burst,
      waiting > 0
    else { return nil }
    let bursts = (waiting - 1) / burst + 1
    let end = start.advanced(by: interval * bursts)
    return RateLimit.Plan(requests: burst, interval: interval, rest: now.duration(to: end))
  }

  /// Earliest time of the next request, if any waits.
  func deadline(isAnyHeld: Bool) -> Instant? {
    if let resumesAt { return resumesAt }
    guard isAnyHeld, burst != nil, !isProbing else { return nil }
    return start?.advanced(by: interval)
  }
}
