package import PusherCore

/// Timeouts and limits of a link to Redis, and options of its connections.
package struct RedisPolicy: Sendable, Equatable {
  /// Timeout from the name lookup to a writable connection, with TLS.
  package var connectTime = Duration.seconds(5)
  /// Maximum time between two answers while any answer is due.
  package var answerTime = Duration.seconds(5)
  /// Time without a reply after which the link sends a PING.
  package var heartbeat = Duration.seconds(5)
  package var backoff = Backoff(floor: .milliseconds(100), ceiling: .seconds(5))
  /// A link that was up for this long reconnects at once after a loss.
  package var stableAfter = Duration.seconds(5)
  /// Maximum number of commands without an answer, and of subscriptions without a confirmation.
  package var outstanding = 100_000
  package var queuedBytes = 64 << 20
  package var replies = RedisReader.Limits()
  package var tls = TLSConfiguration()
  package var trust = TLSEnvironment()
  package var families = AddressFamilies.any

  package init() {}
}
