internal import PusherCore

/// The limits of one app; one that is `nil` is the server's, or none.
package struct AppLimits: Sendable, Equatable {
  /// Sockets at a time; one more is refused as one beyond ``ServerLimits/connections`` is.
  package var connections: Int?
  /// Channels that one socket may be subscribed to.
  package var subscriptions: Int?
  package var presenceMembers: Int?
  /// Bytes of an event's data.
  package var eventData: Int?
  /// Client events of one socket within a second.
  package var clientEventsPerSecond: Int?
  /// Cache channels whose last event is kept.
  package var cachedEvents: Int?
  /// Events that calls of the API bring within a second, one for each channel (403).
  package var eventsPerSecond: Int?
  /// Bytes of their data within a second, one time for each channel (403).
  package var bytesPerSecond: Int?

  package init() {}

  /// Why an app may not send more now: too many events, or too many bytes.
  package func refusal(ofEvents isOfEvents: Bool) -> String {
    isOfEvents
      ? "over quota: the app may send \(eventsPerSecond ?? 0) events a second"
      : "over quota: the app may send \(bytesPerSecond ?? 0) bytes of data a second"
  }

  /// The server's limits with those of the app in their place.
  func applied(to server: ServerLimits) -> ServerLimits {
    var limits = server
    limits.subscriptions = subscriptions ?? limits.subscriptions
    limits.presenceMembers = presenceMembers ?? limits.presenceMembers
    limits.eventData = eventData ?? limits.eventData
    limits.clientEventsPerSecond = clientEventsPerSecond ?? limits.clientEventsPerSecond
    limits.cachedEvents = cachedEvents ?? limits.cachedEvents
    return limits
  }
}

/// Counts how much passes within each second, and refuses what is more.
///
/// A second begins with the first thing that passes after the one before.
struct SecondQuota {
  private let limit: Int?
  private var began: Instant?
  private var used = 0

  init(_ limit: Int?) {
    self.limit = limit
  }

  /// Whether so much more may pass now.
  mutating func hasRoom(for amount: Int, at now: Instant) -> Bool {
    guard let limit else { return true }
    if began.map({ $0.duration(to: now) >= .seconds(1) }) ?? true { used = 0 }
    return amount <= limit - used
  }

  /// So much has passed.
  mutating func take(_ amount: Int, at now: Instant) {
    guard limit != nil else { return }
    if used == 0 { began = now }
    used += amount
  }
}
