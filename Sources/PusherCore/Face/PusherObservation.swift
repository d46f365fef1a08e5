/// Takes what a client has to say, for a log.
///
/// The library depends on no logging package; an adapter for swift-log has three lines:
///
/// ```swift
/// struct SwiftLog: PusherLogger {
///   let logger: Logger
///   func log(_ level: PusherLogLevel, _ message: () -> String) {
///     logger.log(level: Logger.Level(rawValue: level.rawValue) ?? .debug, "\(message())")
///   }
/// }
/// ```
public protocol PusherLogger: Sendable {
  /// Called on the callback thread, in the order of what happened.
  ///
  /// - Parameters:
  ///   - level: How much it matters.
  ///   - message: Makes the text, without signatures and shared secrets; only called for if the level is wanted.
  func log(_ level: PusherLogLevel, _ message: () -> String)
}

/// How much a message matters, with swift-log's names.
public enum PusherLogLevel: String, Sendable, CaseIterable, Comparable {
  /// Each message that the client sends, or reads for itself; events that are handed out are not among them.
  case trace
  /// What a developer wants to know.
  case debug
  /// A connection was made, a user signed in.
  case info
  /// Something was lost or refused, and the client goes on.
  case warning
  /// The client has given up.
  case error

  /// Whether `left` matters less.
  public static func < (left: PusherLogLevel, right: PusherLogLevel) -> Bool {
    left.rank < right.rank
  }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Takes what a client counts, for a monitoring system.
///
/// An adapter for swift-metrics has two lines:
///
/// ```swift
/// struct SwiftMetrics: PusherMetrics {
///   func count(_ what: PusherCount, by amount: Int) {
///     Counter(label: "pusher_\(what.rawValue)").increment(by: amount)
///   }
/// }
/// ```
public protocol PusherMetrics: Sendable {
  /// Called on the callback thread; for events once for all that were read together.
  func count(_ what: PusherCount, by amount: Int)
}

/// What a client counts; the raw values are fit for a monitoring system.
public enum PusherCount: String, Sendable, CaseIterable {
  /// Events that came, and those of the service itself that a handler is bound to.
  case events = "events_total"
  /// Sockets that the server has greeted.
  case connections = "connections_total"
  /// Connections that were lost, and attempts that failed.
  case losses = "losses_total"
  /// Times of which events may be missing.
  case gaps = "gaps_total"
  /// Subscriptions that failed.
  case failedSubscriptions = "failed_subscriptions_total"
  /// Messages that were not handed out: malformed, unknown, or not to be decrypted.
  case leftOut = "left_out_total"
}
