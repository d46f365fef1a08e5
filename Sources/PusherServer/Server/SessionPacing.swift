internal import PusherCore

/// Schedules pings to a silent client, and detects a lost one.
///
/// A connection with `ownSilence` gets no pings: it counts as lost if the server has sent no
/// message for this time.
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
    pingInterval = limits.times.ping ?? limits.times.activity
    pongTimeout = limits.times.pong
    ownSilence = limits.times.ownSilence
    lastActivity = now
    lastMessage = now
  }

  var deadline: Instant {
    if let ownSilence { return lastMessage.advanced(by: ownSilence) }
    return pingSent?.advanced(by: pongTimeout) ?? lastActivity.advanced(by: pingInterval)
  }

  mutating func noteActivity(at now: Instant) {
    lastActivity = now
    pingSent = nil
  }

  /// Records a sent message; control frames do not count.
  mutating func noteMessage(at now: Instant) { lastMessage = now }

  mutating func tick(at now: Instant) -> Action {
    guard now >= deadline else { return .none }
    guard pingSent == nil, ownSilence == nil else { return .lost }
    pingSent = now
    return .sendPing
  }
}

/// The limits on what a client sends over time.
struct ClientRates {
  var events: RateWindow
  /// `nil` for no limit.
  var messages: MessageWindow?
  var joins = JoinPace()

  init(_ limits: ServerLimits) {
    events = RateWindow(limit: limits.clientEventsPerSecond)
    messages = limits.messageRate.map(MessageWindow.init)
  }

  /// Takes the app's new limits; an unchanged window of messages continues.
  mutating func renew(_ limits: ServerLimits) {
    let former = self
    self = ClientRates(limits)
    joins = former.joins
    if let window = former.messages, window.limit == limits.messageRate { messages = window }
  }
}

/// Limits how fast a socket subscribes: a burst of all its channels, then so many in a second.
///
/// A departure uses up the same room, but always succeeds.
struct JoinPace {
  /// The whole burst is allowed again from this time on; `nil` before the first subscription.
  private var recovery: Instant?
  /// Minimum size of the burst.
  private static let burst = 1000

  /// Counts and allows one more subscription, unless the room is used up.
  mutating func admit(_ limits: ServerLimits, at now: Instant) -> Bool {
    let step = Duration.seconds(1) / max(limits.joinsPerSecond, 1)
    let room = step * (max(limits.subscriptions, Self.burst) - 1)
    let start = max(recovery ?? now, now)
    guard now.duration(to: start) <= room else { return false }
    recovery = start.advanced(by: step)
    return true
  }

  mutating func noteDeparture(_ limits: ServerLimits, at now: Instant) {
    _ = admit(limits, at: now)
  }
}

/// Limits the number of events within any second; `nil` for no limit.
struct RateWindow {
  private let limit: Int?
  /// Times of the last events; once there are `limit`, `next` is the index of the oldest.
  private var times: [Instant] = []
  private var next = 0

  init(limit: Int?) { self.limit = limit }

  /// Counts and allows one more event, unless the limit is reached.
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
