internal import PusherCore

/// A limit on all messages of one connection, as Reverb's `rate_limiting` of an app.
///
/// Source: `ensureWithinRateLimit` of Laravel Reverb 1.9, and its `config/reverb.php`, which has
/// the defaults.
package struct MessageRateLimit: Sendable, Equatable {
  /// Maximum number of messages in a window; `max_attempts`.
  package var messages = 60
  /// Time from the first message of a window to its end; `decay_seconds`.
  package var window = Duration.seconds(60)
  /// Ends the connection at the first message above the limit; `terminate_on_limit`.
  package var endsConnection = false

  package init() {}
}

/// Counts the messages of a connection in fixed windows, as Laravel's `RateLimiter` does.
///
/// A window starts with its first message. Refused messages neither count nor prolong it.
struct MessageWindow {
  let limit: MessageRateLimit
  private var end: Instant?
  private var count = 0

  init(_ limit: MessageRateLimit) { self.limit = limit }

  /// Counts and allows one more message, unless the window is full.
  mutating func admit(at now: Instant) -> Bool {
    if let end, now >= end { (self.end, count) = (nil, 0) }
    guard count < limit.messages else { return false }
    if end == nil { end = now.advanced(by: limit.window) }
    count += 1
    return true
  }
}
