package import PusherCore

/// The last event of each cache channel.
package struct CachedEvents {
  /// An event of the API, as it was published.
  package struct Event: Equatable, Sendable {
    package let name: String
    /// A string, or another value of the publisher's.
    package let data: JSONValue
    /// When it is forgotten; `nil` for never.
    let expiry: Instant?

    package init(name: String, data: JSONValue, expiry: Instant?) {
      (self.name, self.data, self.expiry) = (name, data, expiry)
    }
  }

  /// How many channels are kept.
  var limit: Int {
    didSet { forgetOldest() }
  }
  private let lifetime: Duration?
  /// In the order in which the channels were first cached; the oldest goes when there are too many.
  private var events = OrderedTable<Event>()

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
    events[channel] = Event(name: name, data: data, expiry: lifetime.map(now.advanced))
    forgetOldest()
  }

  private mutating func forgetOldest() {
    while events.count > limit, let oldest = events.elements.first(where: { _ in true }) {
      events[oldest.name] = nil
    }
  }
}

/// Decides when subscription counts are sent: at once for few subscribers, else every few seconds.
package struct SubscriptionCounts {
  /// With more subscribers the count is sent every ``interval``.
  static let prompt = 100
  package static let interval = Duration.seconds(5)

  private var late = NameSet()
  private var lastTime: Instant?

  package init() {}

  /// Notes a change; true when the count must be sent at once.
  package mutating func note(_ channel: String, count: Int) -> Bool {
    if count <= Self.prompt {
      late.remove(channel)
      return true
    }
    late.insert(channel)
    return false
  }

  /// The channels whose count must be sent now.
  package mutating func takeDue(at now: Instant) -> [String] {
    guard !late.isEmpty else { return [] }
    if let lastTime, lastTime.duration(to: now) < Self.interval { return [] }
    lastTime = now
    defer { late.removeAll() }
    return late.sorted
  }
}
