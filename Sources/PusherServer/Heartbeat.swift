internal import PusherCore

/// When a silent client is asked for a sign of life, and when it counts as lost.
struct Heartbeat {
  enum Action: Equatable {
    case none
    case sendPing
    case lost
  }

  private let activityTimeout: Duration
  private let pongTimeout: Duration
  private var lastActivity: Instant
  private var pingSent: Instant?

  init(activityTimeout: Duration, pongTimeout: Duration, at now: Instant) {
    self.activityTimeout = activityTimeout
    self.pongTimeout = pongTimeout
    lastActivity = now
  }

  /// When ``tick(at:)`` has something to do.
  var deadline: Instant {
    pingSent?.advanced(by: pongTimeout) ?? lastActivity.advanced(by: activityTimeout)
  }

  /// The client sent something, whatever it was.
  mutating func noteActivity(at now: Instant) {
    lastActivity = now
    pingSent = nil
  }

  mutating func tick(at now: Instant) -> Action {
    guard now >= deadline else { return .none }
    guard pingSent == nil else { return .lost }
    pingSent = now
    return .sendPing
  }
}
