/// A rate limit of the server that drops messages: `pusher:error` with code 4301.
package struct RateLimit: Sendable, Equatable {
  /// The code of the error.
  package static let code = 4301

  /// The server's words.
  package let message: String
  /// How many subscriptions and sign-ins wait.
  package let waiting: Int
  /// When the first of them is asked for again.
  package let retryIn: Duration

  /// The limit, with the server's words.
  package var cause: String { Self.cause(message) }

  /// The limit, with the server's words.
  package static func cause(_ message: String) -> String {
    "the server's rate limit (error \(code)\(message.isEmpty ? "" : ": \(message)"))"
  }
}

/// Decides when a subscription or a sign-in is sent, once the server's rate limit has dropped some.
///
/// Without a limit everything is sent at once. After an error 4301 nothing is sent for a while, then one request as a
/// probe; each probe that is dropped doubles the wait. An answered probe shows how long the limit lasts. From then on one
/// burst is sent in each such time, with as many requests as the server answered before it dropped the next. A server that closes the
/// connection at its limit is not probed: each close makes the time between two bursts longer.
///
/// Sources: Laravel Reverb, `rate_limiting` (all messages of a connection within a time, `terminate_on_limit`); Pusher's
/// error codes, 4301.
struct RequestPace {
  private static let firstWait = Duration.seconds(1)
  private static let longestWait = Duration.seconds(60)
  /// The time between two bursts after the server closed a connection, and its longest.
  private static let firstInterval = Duration.seconds(10)
  private static let longestInterval = Duration.seconds(600)
  /// For how long an error 4301 explains a lost connection.
  private static let explanationTime = Duration.seconds(5)

  /// The most requests of one burst; `nil` before any limit.
  private(set) var burst: Int?
  /// From the beginning of one burst to the next.
  private(set) var interval = Duration.zero
  /// When the present burst began.
  private var start: Instant?
  private var probeStart: Instant?
  private var sent = 0
  private var answered = 0
  /// Messages that the server dropped since the present burst began.
  private var dropped = 0
  private var isProbing = false
  private var wait = Duration.zero
  /// Until when nothing is sent, after a drop.
  private var resumesAt: Instant?
  private var lastDrop: (time: Instant, message: String)?

  /// Whether a request may be sent now.
  mutating func maySend(at now: Instant) -> Bool {
    guard resumesAt == nil else { return false }
    if isProbing { return sent == 0 }
    guard let burst else { return true }
    if let start, now >= start.advanced(by: interval) { beginBurst() }
    return sent < burst
  }

  private mutating func beginBurst() {
    (start, sent, answered) = (nil, 0, 0)
  }

  /// A request was sent.
  mutating func noteSent(at now: Instant) {
    if isProbing { probeStart = now } else if burst == nil, sent == answered { beginBurst() }
    start = start ?? now
    sent += 1
  }

  /// The server answered a request.
  mutating func noteAnswered() {
    answered = min(answered + 1, sent)
    guard isProbing, resumesAt == nil, let start, let probeStart else { return }
    isProbing = false
    wait = .zero
    interval = start.duration(to: probeStart)
    self.start = probeStart
  }

  /// What a dropped message means.
  enum Drop: Equatable {
    /// No request waits for an answer: it was another message.
    case other
    /// Requests are dropped; the first is sent again after this time.
    case hold(for: Duration)
    /// More of the same burst.
    case more
  }

  /// The server dropped a message.
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

  /// Goes on with a probe when the wait is over.
  ///
  /// - Returns: How many dropped messages were none of the requests; `nil` during a wait, and without one.
  mutating func resume(at now: Instant) -> Int? {
    guard let resumesAt, now >= resumesAt else { return nil }
    self.resumesAt = nil
    let others = settle()
    if sent > answered { isProbing = true }
    if isProbing {
      (sent, answered) = (0, 0)
    } else {
      // Every request was answered: the limit was met by other messages.
      wait = .zero
    }
    return others
  }

  /// Learns from a burst that was cut, and counts the dropped messages that were none of its requests.
  private mutating func settle() -> Int {
    let unanswered = sent - answered
    defer { dropped = 0 }
    if unanswered > 0, !isProbing {
      burst = answered > 0 ? min(burst ?? answered, answered) : burst ?? 1
    }
    return max(dropped - unanswered, 0)
  }

  /// The connection is gone; the next one begins with a burst.
  ///
  /// - Returns: How many dropped messages were none of the requests.
  mutating func connectionLost() -> Int {
    var others = 0
    if resumesAt != nil {
      let isCut = sent > answered
      others = settle()
      if isCut {
        interval = max(min(interval + interval, Self.longestInterval), Self.firstInterval)
      }
    }
    beginBurst()
    (resumesAt, isProbing, wait, lastDrop) = (nil, false, .zero, nil)
    return others
  }

  /// The server's words, if its limit explains a connection that is lost now.
  func explanation(at now: Instant) -> String? {
    guard let lastDrop, lastDrop.time.duration(to: now) < Self.explanationTime else { return nil }
    return lastDrop.message
  }

  /// The server's words about the last drop on this connection.
  var lastMessage: String { lastDrop?.message ?? "" }

  /// When the next request may be sent, if any waits.
  func deadline(isAnyHeld: Bool) -> Instant? {
    if let resumesAt { return resumesAt }
    guard isAnyHeld, burst != nil, !isProbing else { return nil }
    return start?.advanced(by: interval)
  }
}
