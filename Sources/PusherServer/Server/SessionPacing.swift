internal import PusherCore

/// When a silent client is pinged, and when it counts as lost.
///
/// With `ownSilence` it never pings: the connection counts as lost when the server has sent no message for this time.
struct Heartbeat {
  enum Action: Equatable {
    case none
    case sendPing
    case lost
  }

  private let pingInterval: Duration
  private let pongTimeout: Duration
  private let ownSilence: Duration?
  private var lastActivity: Instant
  private var pingSent: Instant?
  private var lastMessage: Instant

  init(limits: ServerLimits, at now: Instant) {
    pingInterval = limits.pingInterval ?? limits.activityTimeout
    pongTimeout = limits.pongTimeout
    ownSilence = limits.ownSilence
    lastActivity = now
    lastMessage = now
  }

  /// When to call ``tick(at:)``.
  var deadline: Instant {
    if let ownSilence { return lastMessage.advanced(by: ownSilence) }
    return pingSent?.advanced(by: pongTimeout) ?? lastActivity.advanced(by: pingInterval)
  }

  /// The client sent something.
  mutating func noteActivity(at now: Instant) {
    lastActivity = now
    pingSent = nil
  }

  /// The server sent a message; control frames do not count.
  mutating func noteMessage(at now: Instant) {
    lastMessage = now
  }

  mutating func tick(at now: Instant) -> Action {
    guard now >= deadline else { return .none }
    guard pingSent == nil, ownSilence == nil else { return .lost }
    pingSent = now
    return .sendPing
  }
}

/// Lets a limited number of events through within any second, or all.
struct RateWindow {
  private let limit: Int?
  /// When the last ones passed; the oldest stands at `next` once there are `limit`.
  private var times: [Instant] = []
  private var next = 0

  init(limit: Int?) {
    self.limit = limit
  }

  /// Whether one more passes now; one that does not is not counted.
  mutating func admit(at now: Instant) -> Bool {
    guard let limit else { return true }
    guard limit > 0 else { return false }
    guard times.count == limit else {
      times.append(now)
      return true
    }
    guard times[next].duration(to: now) >= .seconds(1) else { return false }
    times[next] = now
    next = (next + 1) % limit
    return true
  }
}
