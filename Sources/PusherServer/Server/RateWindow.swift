internal import PusherCore

/// Lets so many things through within any second, or any number.
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
