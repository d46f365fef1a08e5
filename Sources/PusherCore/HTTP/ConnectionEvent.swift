/// What happens to the connection of a session of either protocol.
package enum ConnectionEvent: Equatable, Sendable {
  /// An event stream has begun; a channels' connection reports its socket instead.
  case opened
  /// The server redirected the request, which is sent there now; the URL has no query.
  case redirected(status: Int, to: String)
  /// An event stream named the wait before a new attempt.
  case reconnectionTime(Duration)
  /// The connection is gone; a new one is dialled after `retryIn`, or none when that is `nil`.
  ///
  /// `code` is the 4xxx code of the Pusher protocol that explains it, `attempt` counts from 1.
  case disconnected(ConnectionLoss, code: Int?, retryIn: Duration?, attempt: Int)
  /// Events come again; events between the two times may be lost.
  case gap(from: Instant, to: Instant)
  /// The session is over.
  case ended(ConnectionEnd)
}

/// How a session ended.
package enum ConnectionEnd: Equatable, Sendable {
  /// This side ended it.
  case asked
  /// The server answered 204: there is nothing more to come, now or later.
  case finished
  /// Trying again cannot help; with the 4xxx code that says why.
  case lost(ConnectionLoss, code: Int?)
  /// This many attempts in a row failed; with the last loss.
  case retriesExhausted(ConnectionLoss, code: Int?, attempts: Int)
}
