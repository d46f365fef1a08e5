/// Why an event stream ended, or never came to be.
public enum EventSourceError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server ended the stream, as it may; the next one begins where this one has stopped.
  case ended
  /// The server closed the connection of a stream whose end nothing marks: it may be whole or not.
  ///
  /// That is so where an answer has neither chunks nor a length, and the connection no TLS (RFC 9112 section 6.3).
  case closed
  /// The server answered with another status than 200, and may ask to wait before the next attempt.
  case refused(status: Int, reason: String, retryAfter: Duration? = nil)
  /// The answer is of another type than `text/event-stream`; `nil` when it names none.
  case notAnEventStream(contentType: String?)
  /// Name service, connection, TLS failed, or the connection was lost; the text says what, to whom.
  case network(String, NetworkProblem? = nil)
  /// One side did not accept the other's certificate.
  case untrusted(String, TrustProblem)
  /// Nothing came for this time.
  case silent(Duration)
  /// No answer within this time, and what was still waited for then.
  case openingTimeout(Duration, ConnectionStage)
  /// The server broke a rule of HTTP, or sent the request somewhere it may not go.
  case violation(String)
  /// A line or an event is larger than is allowed; the text names the limit.
  case limit(String)
  /// The request cannot be made as it was asked for.
  case invalidRequest(String)

  /// Who has to act.
  public var fault: Fault {
    switch self {
    case .invalidRequest: .you
    case .refused, .notAnEventStream, .violation, .limit: .peer
    case .ended, .closed, .network, .untrusted, .silent, .openingTimeout: .network
    }
  }

  /// What happened, in the words of a message to the user.
  public var description: String {
    switch self {
    case .ended: "the server ended the stream"
    case .closed: "the server closed the connection without marking the stream's end"
    case .refused(let status, let reason, let wait):
      "the server answered HTTP \(status)\(reason.isEmpty ? "" : " (\(reason))")"
        + (wait.map { " and asks to wait \($0.inWords)" } ?? "")
    case .notAnEventStream(nil): "the answer is no event stream: it names no type"
    case .notAnEventStream(let type?):
      "the answer is no event stream, but of type \(type.prefix(100))"
    case .network(let what, _), .untrusted(let what, _), .limit(let what): what
    case .silent(let time): "nothing came for \(time.inWords)"
    case .openingTimeout(let time, let stage): "\(stage.inWords) within \(time.inWords)"
    case .violation(let what): "the server broke the protocol: \(what)"
    case .invalidRequest(let what): "cannot ask for the stream: \(what)"
    }
  }
}

extension EventSourceError {
  init(_ foreign: ForeignProtocol) {
    self = foreign == .tls ? .network("\(foreign)", .onlyTLS) : .violation("\(foreign)")
  }

  /// What a failure of the transport means for the stream.
  init(_ error: TransportError) {
    switch ConnectionLoss(error) {
    case .untrusted(let text, let problem): self = .untrusted(text, problem)
    case .network(let text, let problem): self = .network(text, problem)
    case let other: self = .network("\(other)")
    }
  }

  /// The same end where it has cut an event in two, which a proper end says nothing of.
  var insideEvent: EventSourceError {
    guard self == .ended || self == .closed else { return self }
    return .network("the stream ended in the middle of an event, which is not printed")
  }

  /// Whether another attempt may help (section 9.2.3 of the standard, "reestablish" against "fail").
  ///
  /// Beside what the standard repeats, these are the statuses with which a server says that it is in trouble just now.
  package var isTransient: Bool {
    switch self {
    case .ended, .closed, .network, .untrusted, .silent, .openingTimeout: true
    case .refused(let status, _, let wait):
      wait != nil && status >= 400 || HTTPStatus.isTemporary(status)
    case .notAnEventStream, .violation, .limit, .invalidRequest: false
    }
  }

  /// How long the server wants to be left alone.
  var retryAfter: Duration? {
    guard case .refused(_, _, let wait) = self else { return nil }
    return wait
  }
}
