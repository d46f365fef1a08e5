internal import PusherCore

/// The last event of each cache channel.
struct CachedEvents {
  /// An event of the API, as it was published.
  struct Event: Equatable {
    let name: String
    /// A string, or another value of the publisher's.
    let data: JSONValue
    /// When it is forgotten; `nil` for never.
    let expiry: Instant?
  }

  private let limit: Int
  private let lifetime: Duration?
  private var events = NameTable<Event>()
  /// The channels in the order in which they were first cached; the oldest goes when there are too many.
  private var order: [String] = []

  init(limit: Int, lifetime: Duration?) {
    self.limit = limit
    self.lifetime = lifetime
  }

  /// The channel's last event, unless it has expired.
  func event(of channel: String, at now: Instant) -> Event? {
    guard let event = events[channel] else { return nil }
    return event.expiry.map { now >= $0 } ?? false ? nil : event
  }

  /// Keeps an event in place of the channel's last one.
  mutating func store(name: String, data: JSONValue, for channel: String, at now: Instant) {
    guard limit > 0 else { return }
    let event = Event(name: name, data: data, expiry: lifetime.map(now.advanced))
    let isKnown = events[channel] != nil
    events[channel] = event
    if isKnown { return }
    order.append(channel)
    if order.count > limit { events[order.removeFirst()] = nil }
  }
}

/// Decides when subscription counts are sent: at once for few subscribers, else every few seconds.
struct SubscriptionCounts {
  /// With more subscribers the count is sent every ``interval``.
  static let prompt = 100
  static let interval = Duration.seconds(5)

  private var late = NameSet()
  private var lastTime: Instant?

  /// Notes a change; true when the count must be sent at once.
  mutating func note(_ channel: String, count: Int) -> Bool {
    if count <= Self.prompt {
      late.remove(channel)
      return true
    }
    late.insert(channel)
    return false
  }

  /// The channels whose count must be sent now.
  mutating func takeDue(at now: Instant) -> [String] {
    guard !late.isEmpty else { return [] }
    if let lastTime, lastTime.duration(to: now) < Self.interval { return [] }
    lastTime = now
    defer { late.removeAll() }
    return late.sorted
  }
}
