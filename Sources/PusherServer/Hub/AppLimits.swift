internal import PusherCore

/// Limits of one app; `nil` means the server's limit, or none.
package struct AppLimits: Sendable, Equatable {
  /// Maximum number of sockets; refused like sockets beyond ``ServerLimits/connections``.
  package var connections: Int?
  package var subscriptions: Int?
  package var channelsPerAddress: Int?
  package var presenceMembers: Int?
  package var eventData: Int?
  package var clientEventsPerSecond: Int?
  package var cachedEvents: Int?
  /// Maximum number of API events per second, counted once per channel (403).
  package var eventsPerSecond: Int?
  /// Maximum size of API event data per second, in bytes, counted once per channel (403).
  package var bytesPerSecond: Int?
  package var messageRate: MessageRateLimit?

  package init() {}

  package func refusal(ofEvents isOfEvents: Bool) -> String {
    isOfEvents
      ? "over quota: the app may send \(eventsPerSecond ?? 0) events a second"
      : "over quota: the app may send \(bytesPerSecond ?? 0) bytes of data a second"
  }

  /// The limits of the app override those of the server.
  func applied(to server: ServerLimits) -> ServerLimits {
    var limits = server
    limits.subscriptions = subscriptions ?? limits.subscriptions
    limits.channelsPerAddress = channelsPerAddress ?? limits.channelsPerAddress
    limits.presenceMembers = presenceMembers ?? limits.presenceMembers
    limits.sizes.eventData = eventData ?? limits.sizes.eventData
    limits.clientEventsPerSecond = clientEventsPerSecond ?? limits.clientEventsPerSecond
    limits.cachedEvents = cachedEvents ?? limits.cachedEvents
    limits.messageRate = messageRate ?? limits.messageRate
    return limits
  }
}

/// Limits an amount per second.
///
/// A second starts with the first amount after the previous second.
struct SecondQuota {
  private let limit: Int?
  private var began: Instant?
  private var used = 0

  init(_ limit: Int?) { self.limit = limit }

  mutating func hasRoom(for amount: Int, at now: Instant) -> Bool {
    guard let limit else { return true }
    if began.map({ $0.duration(to: now) >= .seconds(1) }) ?? true { used = 0 }
    return amount <= limit - used
  }

  mutating func take(_ amount: Int, at now: Instant) {
    guard limit != nil else { return }
    if used == 0 { began = now }
    used += amount
  }
}
