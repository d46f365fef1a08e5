internal import PusherCore

/// How many events there were, and when the last one was.
struct EventProgress {
  var events: Int
  var lastAt: Instant?

  /// It for people, such as `3 events, the last at 2026-11-22T11:44:24.243Z`; `nil` before the first.
  func words(at now: Instant) -> String? {
    guard events > 0, let lastAt else { return nil }
    let last = SystemClock.wall().advanced(by: now.duration(to: lastAt))
    return "\(events) \(events == 1 ? "event" : "events"), the last at \(last.rfc3339)"
  }
}
