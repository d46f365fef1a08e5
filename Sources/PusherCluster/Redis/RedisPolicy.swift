package import PusherCore

/// The times and limits of a link to Redis, and how its connections are made.
package struct RedisPolicy: Sendable, Equatable {
  /// From the look-up of a name to a connection that is ready to write, TLS included.
  package var connectTime = Duration.seconds(5)
  /// How long Redis may take from one answer to the next while any is due.
  package var answerTime = Duration.seconds(5)
  /// After how much silence Redis is asked whether it is there.
  package var heartbeat = Duration.seconds(5)
  /// The waits between attempts.
  package var backoff = Backoff(floor: .milliseconds(100), ceiling: .seconds(5))
  /// A link that was up for so long is dialled again at once when it is lost.
  package var stableAfter = Duration.seconds(5)
  /// Commands whose answers are due, and subscriptions that are not confirmed.
  package var outstanding = 100_000
  /// Bytes of commands that Redis has not taken yet.
  package var queuedBytes = 64 << 20
  /// What one reply may take.
  package var replies = RedisReader.Limits()
  /// How the server's certificate is checked, for `rediss`.
  package var tls = TLSConfiguration()
  /// Where trusted certificates are, for `rediss`.
  package var trust = TLSEnvironment()
  /// Which kinds of address are used.
  package var families = AddressFamilies.any

  package init() {}
}
