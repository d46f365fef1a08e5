/// Writes a client's log messages.
///
/// The library depends on no logging package. <doc:OnServers> has an adapter for swift-log.
public protocol PusherLogger: Sendable {
  /// Logs one message without secrets; called on the callback thread, in order.
  ///
  /// Call `message` only if the level is enabled: it makes the text.
  func log(_ level: PusherLogLevel, _ message: () -> String)
}

/// Importance of a message, with swift-log's names.
public enum PusherLogLevel: String, Sendable, CaseIterable, Comparable {
  /// Messages sent, and received ones that the client handles itself.
  case trace
  /// Information for developers.
  case debug
  /// Connections and sign-ins.
  case info
  /// Something failed, and the client continues.
  case warning
  /// The client has given up.
  case error

  /// Returns whether `left` is less important.
  public static func < (left: PusherLogLevel, right: PusherLogLevel) -> Bool {
    left.rank < right.rank
  }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Takes a client's counts, for a monitoring system.
///
/// The library depends on no metrics package. <doc:OnServers> has an adapter for swift-metrics.
public protocol PusherMetrics: Sendable {
  /// Adds to a counter; called on the callback thread, for events once per read.
  func count(_ what: PusherCount, by amount: Int)
}

/// Counters of a client; the raw values are names for a monitoring system.
public enum PusherCount: String, Sendable, CaseIterable {
  /// Received events, including the service's own if a handler is bound to them.
  case events = "events_total"
  /// Sockets that the server has greeted.
  case connections = "connections_total"
  /// Lost connections and failed attempts.
  case losses = "losses_total"
  /// Gaps in which events may be missing.
  case gaps = "gaps_total"
  /// Events that slow readers of ``PusherEventBindings/events(buffering:)`` did not get.
  case dropped = "dropped_total"
  /// Failed subscriptions.
  case failedSubscriptions = "failed_subscriptions_total"
  /// Dropped messages: malformed, unknown, or impossible to decrypt.
  case leftOut = "left_out_total"
}
