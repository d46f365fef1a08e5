/// Numbers of the protocol's pings, in both directions.
package struct PingCounts: Sendable, Equatable {
  package internal(set) var sent = 0
  package internal(set) var received = 0
}

/// Detects a connection that died without a close.
///
/// It asks for a ping after the activity timeout without a byte. The connection is dead if the pong
/// timeout passes too. Any received byte is a sign of life. Source: the protocol page, section
/// "Ping and pong messages".
struct Keepalive {
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
  /// True while the output's reader stalls and nothing is read, so that silence proves nothing.
  ///
  /// Pings still go out, because servers drop silent clients.
  private(set) var isPaused = false

  init(activityTimeout: Duration, pongTimeout: Duration, at now: Instant) {
    self.activityTimeout = activityTimeout
    self.pongTimeout = pongTimeout
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

  /// Time of the next ``tick(at:)``.
  var deadline: Instant {
    guard let pingSent else { return lastActivity.advanced(by: activityTimeout) }
    return pingSent.advanced(by: isPaused ? activityTimeout : pongTimeout)
  }

  mutating func tick(at now: Instant) -> Action {
    guard now >= deadline else { return .none }
    if pingSent != nil, !isPaused { return .dead }
    pingSent = now
    return .sendPing
  }
}
