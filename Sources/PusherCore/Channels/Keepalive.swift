/// How many pings of the protocol were sent, and how many came.
package struct PingCounts: Sendable, Equatable {
  package internal(set) var sent = 0
  package internal(set) var received = 0
}

/// Detects a connection that is dead without a close.
///
/// After the activity timeout without a byte it asks for a ping; when the pong timeout passes too, the connection
/// is lost. Any byte received counts as a sign of life. Source: the protocol page, section "Ping and pong messages".
struct Keepalive {
  /// What a tick asks for.
  enum Action: Equatable {
    case none
    case sendPing
    /// Nothing came within the pong timeout.
    case dead
  }

  let activityTimeout: Duration
  let pongTimeout: Duration
  private(set) var lastActivity: Instant
  private var pingSent: Instant?
  /// While the reader of the output stalls we do not read, so silence proves nothing; pings still go out, because
  /// servers drop silent clients.
  private(set) var isPaused = false

  init(activityTimeout: Duration, pongTimeout: Duration, at now: Instant) {
    self.activityTimeout = activityTimeout
    self.pongTimeout = pongTimeout
    lastActivity = now
  }

  /// Bytes came.
  mutating func noteActivity(at now: Instant) {
    lastActivity = now
    pingSent = nil
  }

  /// Reading stopped, or goes on.
  mutating func setPaused(_ paused: Bool, at now: Instant) {
    guard paused != isPaused else { return }
    isPaused = paused
    noteActivity(at: now)
  }

  /// When to call ``tick(at:)``.
  var deadline: Instant {
    guard let pingSent else { return lastActivity.advanced(by: activityTimeout) }
    return pingSent.advanced(by: isPaused ? activityTimeout : pongTimeout)
  }

  /// Looks at the time.
  mutating func tick(at now: Instant) -> Action {
    guard now >= deadline else { return .none }
    if pingSent != nil, !isPaused { return .dead }
    pingSent = now
    return .sendPing
  }
}
