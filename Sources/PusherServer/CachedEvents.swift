internal import PusherCore

/// The last event of each cache channel.
struct CachedEvents {
  /// An event of the API, as it was published.
  struct Event: Equatable {
    let name: String
    let data: String
  }

  private let limit: Int
  private var events: [String: Event] = [:]
  /// The channels in the order in which they were first cached; the oldest goes when there are too many.
  private var order: [String] = []

  init(limit: Int) {
    self.limit = limit
  }

  subscript(channel: String) -> Event? { events[channel] }

  /// Keeps an event in place of the channel's last one; only cache channels have any.
  mutating func store(_ event: Event, for channel: String) {
    guard ChannelName.isCache(channel), limit > 0 else { return }
    guard events.updateValue(event, forKey: channel) == nil else { return }
    order.append(channel)
    if order.count > limit { events[order.removeFirst()] = nil }
  }
}

/// When the number of a channel's subscribers is told: at once while they are few, else every few seconds.
struct SubscriptionCounts {
  /// Above as many subscribers the count is told every ``interval``.
  static let prompt = 100
  static let interval = Duration.seconds(5)

  private var late: Set<String> = []
  private var lastTime: Instant?

  /// Notes a change; true when it is to be told at once.
  mutating func note(_ channel: String, count: Int) -> Bool {
    if count <= Self.prompt {
      late.remove(channel)
      return true
    }
    late.insert(channel)
    return false
  }

  /// The channels whose count is to be told now.
  mutating func takeDue(at now: Instant) -> [String] {
    guard !late.isEmpty else { return [] }
    if let lastTime, lastTime.duration(to: now) < Self.interval { return [] }
    lastTime = now
    defer { late.removeAll() }
    return late.sorted()
  }
}
