package struct PingCounts: Sendable, Equatable {
  package internal(set) var sent = 0
  package internal(set) var received = 0
}

/// Detects a connection that died without a close.
///
/// It pings after the activity timeout without a byte; the connection is dead if the pong timeout
/// passes too. Source: the protocol page, section "Ping and pong messages".
struct Keepalive {
  enum Action: Equatable {
    case sendPing
    case dead
  }

  let activityTimeout: Duration
  let pongTimeout: Duration
  private(set) var lastActivity: Instant
  private var pingSent: Instant?
  /// While the output stalls, nothing is read and silence proves nothing; pings still go out,
  /// because servers drop silent clients.
  private(set) var isPaused = false

  init(activityTimeout: Duration, pongTimeout: Duration, at now: Instant) {
    (self.activityTimeout, self.pongTimeout) = (activityTimeout, pongTimeout)
    lastActivity = now
  }

  mutating func noteActivity(at now: Instant) {
    lastActivity = now
    pingSent = nil
  }

  mutating func setPaused(_ paused: Bool, at now: Instant) {
    guard paused != isPaused else { return }
    isPaused = paused
    noteActivity(at: now)
  }

  var deadline: Instant {
    guard let pingSent else { return lastActivity.advanced(by: activityTimeout) }
    return pingSent.advanced(by: isPaused ? activityTimeout : pongTimeout)
  }

  mutating func tick(at now: Instant) -> Action? {
    guard now >= deadline else { return nil }
    if pingSent != nil, !isPaused { return .dead }
    pingSent = now
    return .sendPing
  }
}
