/// The subject of a `pusher:error`, by its words.
///
/// Code 4301 alone does not tell: Reverb and soketi use it for the rate limit and for refused
/// client events, and Pusher refuses client events without a code.
///
/// Sources: `ClientEvent::handle` and `Server::ensureWithinRateLimit` of Laravel Reverb;
/// `handleClientEvent` of soketi; Pusher's error codes.
package enum ErrorSubject: Equatable {
  /// The server's rate limit dropped a message.
  case rateLimit
  /// The server refused a client event.
  case clientEvent
  case other

  package init(code: Int?, message: String) {
    let words = message.lowercased()
    guard
      code == RateLimit.code || words.holds("client event") || words.holds("client message")
        || words.holds("client messaging")
        || words.holds("client is not a member")
    else {
      self = .other
      return
    }
    self = Self.isLimit(words) ? .rateLimit : .clientEvent
  }

  /// The subject of a close frame's code and reason.
  package init(_ loss: ConnectionLoss) {
    guard case .closed(let code, let reason) = loss else {
      self = .other
      return
    }
    self.init(code: code, message: reason)
  }

  private static func isLimit(_ words: String) -> Bool {
    words.holds("rate limit") || words.holds("rate-limit") || words.holds("rate_limit")
      || words.holds("ratelimit") || words.holds("too many") || words.holds("too fast")
      || words.holds("too often") || words.holds("throttl")
  }
}
