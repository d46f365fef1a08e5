/// A rate limit of the server: it drops messages with error 4301, or ends the connection.
///
/// ``ErrorSubject`` decides whether an error 4301 is about the limit.
package struct RateLimit: Sendable, Equatable {
  package static let code = 4301

  /// The requests as they are spread over time, once the limit has shown itself.
  package struct Plan: Sendable, Equatable {
    /// Maximum number of requests in one interval.
    package let requests: Int
    package let interval: Duration
    /// Time until the last request is sent.
    package let rest: Duration
  }

  /// The server's words; `nil` if it ends the connection without any.
  package let message: String?
  /// Number of subscriptions and sign-ins that wait.
  package let waiting: Int
  /// Time until the first of them is sent again.
  package let retryIn: Duration
  package var plan: Plan?

  package var cause: String {
    message.map(Self.cause) ?? "the server's rate limit (it ends the connection, without an error)"
  }

  package static func cause(_ message: String) -> String {
    "the server's rate limit (error \(code)\(message.isEmpty ? "" : ": \(message)"))"
  }

  /// The limit in one sentence.
  package var inWords: String {
    let requests = waiting == 1 ? "1 request waits" : "\(waiting) requests wait"
    guard let plan else { return "\(cause): \(requests); retrying in \(retryIn.inWords)" }
    return "\(cause): it allows \(plan.requests) in \(plan.interval.inWords); \(requests), "
      + "which takes about \(plan.rest.inWords)"
  }
}

/// Recognises a rate limit that ends connections without a word.
///
/// Reverb with `terminate_on_limit` ends its output before it writes error 4301, so the client sees
/// neither the error nor a close frame. One such end among unanswered requests may be an accident;
/// two in a row after the same number of answers are a limit.
///
/// Source: `Server::ensureWithinRateLimit` of Laravel Reverb 1.9; `DuplexResourceStream::end` of
/// ReactPHP, which drops later output.
struct SilentLimit {
  /// Answers on the present connection.
  private var answered = 0
  /// Answers on the last connection that ended among its requests.
  private var last: Int?
  /// Requests in one burst, once the limit is known.
  private var burst: Int?

  mutating func noteAnswered() { answered += 1 }

  /// Notes that the server ended the connection without a reason, among `unanswered` requests.
  ///
  /// Returns the number of requests to send in one burst if the end is the limit's. The number is a
  /// tenth below the limit, because the limit also counts pings.
  mutating func connectionEnded(unanswered: Int) -> Int? {
    guard unanswered > 0, answered > 0 else {
      last = nil
      return nil
    }
    defer { last = answered }
    if let burst, answered >= burst { return burst }
    guard answered == last else { return nil }
    burst = max(answered - max(answered / 10, 1), 1)
    return burst
  }

  /// Starts over for the next connection.
  mutating func connectionLost() { answered = 0 }
}
