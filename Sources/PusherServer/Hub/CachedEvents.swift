package import PusherCore

package struct CachedEvents {
  /// An event of the API, as published.
  package struct Event: Equatable, Sendable {
    package let name: String
    package let data: JSONValue
    /// Time of removal; `nil` for never.
    let expiry: Instant?

    package init(name: String, data: JSONValue, expiry: Instant?) {
      (self.name, self.data, self.expiry) = (name, data, expiry)
    }
  }

  var limit: Int { didSet { forgetOldest() } }
  private let lifetime: Duration?
  /// Events in the order in which their channels were first cached; the oldest is dropped first.
  private var events = OrderedTable<Event>()

  init(limit: Int, lifetime: Duration?) {
    self.limit = limit
    self.lifetime = lifetime
  }

  func event(of channel: String, at now: Instant) -> Event? {
    guard let event = events[channel] else { return nil }
    return event.expiry.map { now >= $0 } ?? false ? nil : event
  }

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

/// Schedules subscription counts: at once for few subscribers, else every few seconds.
package struct SubscriptionCounts {
  /// Maximum number of subscribers for immediate counts.
  static let prompt = 100
  package static let interval = Duration.seconds(5)

  private var late = NameSet()
  private var lastTime: Instant?

  package init() {}

  /// Records a change; returns true if the count must be sent at once.
  package mutating func note(_ channel: String, count: Int) -> Bool {
    if count <= Self.prompt {
      late.remove(channel)
      return true
    }
    late.insert(channel)
    return false
  }

  /// Returns the channels with a due count.
  package mutating func takeDue(at now: Instant) -> [String] {
    guard !late.isEmpty else { return [] }
    if let lastTime, lastTime.duration(to: now) < Self.interval { return [] }
    lastTime = now
    defer { late.removeAll() }
    return late.sorted
  }
}
