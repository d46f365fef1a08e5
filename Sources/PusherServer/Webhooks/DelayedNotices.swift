package import PusherCore

/// Holds back that somebody has left, for who comes back soon has not.
package struct DelayedNotices {
  private enum Key: Hashable {
    case channel(Name)
    case member(Name, userID: Name)
  }

  private struct Departure {
    let key: Key
    let notice: WebhookNotice
    let due: Instant
    let number: Int
  }

  /// More departures than this are not held back.
  package static let limit = 10_000

  private let delay: Duration
  private var departures: [Departure] = []
  /// The numbers of those that have not been taken back.
  private var standing: [Key: Int] = [:]
  private var count = 0

  /// Holds back departures for `delay`.
  package init(delay: Duration) {
    self.delay = delay
  }

  /// When ``takeDue(at:)`` has something to give.
  package var deadline: Instant? { departures.first?.due }

  /// Takes a notice in; answers it when it is to be sent at once.
  ///
  /// An arrival that takes back a departure is not told either.
  package mutating func take(_ notice: WebhookNotice, at now: Instant) -> WebhookNotice? {
    switch notice {
    case .channelOccupied(let channel):
      return standing.removeValue(forKey: .channel(Name(channel))) == nil ? notice : nil
    case .memberAdded(let channel, let userID):
      let key = Key.member(Name(channel), userID: Name(userID))
      return standing.removeValue(forKey: key) == nil ? notice : nil
    case .channelVacated(let channel): return hold(notice, .channel(Name(channel)), at: now)
    case .memberRemoved(let channel, let userID):
      return hold(notice, .member(Name(channel), userID: Name(userID)), at: now)
    case .clientEvent, .cacheMiss, .subscriptionCount: return notice
    }
  }

  private mutating func hold(
    _ notice: WebhookNotice, _ key: Key, at now: Instant
  ) -> WebhookNotice? {
    guard delay > .zero, departures.count < Self.limit else { return notice }
    count += 1
    standing[key] = count
    departures.append(
      Departure(key: key, notice: notice, due: now.advanced(by: delay), number: count))
    return nil
  }

  /// The departures that have lasted.
  package mutating func takeDue(at now: Instant) -> [WebhookNotice] {
    let due = departures.prefix { $0.due <= now }
    departures.removeFirst(due.count)
    return due.compactMap { departure in
      guard standing[departure.key] == departure.number else { return nil }
      standing[departure.key] = nil
      return departure.notice
    }
  }
}
