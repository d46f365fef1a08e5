internal import PusherCore

/// The one place where failures of the connection become exit statuses.
extension ExitStatus {
  /// The status for a session that ended by itself.
  init(_ end: SessionEnd) {
    switch end {
    case .asked: self = .success
    case .lost(let loss, let code): self.init(loss, code: code)
    case .retriesExhausted(let loss, let code, _):
      // A refusal that was repeated until the attempts were over is still a network's end: trying later may help.
      let status = ExitStatus(loss, code: code)
      self = status == .rejected ? .network : status
    }
  }

  /// The status for a connection that is not tried again.
  init(_ loss: ConnectionLoss, code: Int?) {
    switch (loss, code) {
    case (_, 4001?), (_, 4003?), (_, 4009?): self = .unauthorized
    case (_, let code?) where (4000..<4100).contains(code): self = .rejected
    case (.refused(401, _, _), _), (.refused(403, _, _), _): self = .unauthorized
    // Of a proxy on the way.
    case (.refused(407, _, _), _): self = .network
    case (.refused, _): self = .rejected
    case (.violation, _): self = .rejected
    default: self = .network
    }
  }

  /// The status for an event source that ended by itself; `endsWithStream` when a stream that is over is the end.
  init(_ end: EventSourceEnd, endsWithStream: Bool) {
    switch end {
    case .asked, .finished: self = .success
    case .lost(.ended) where endsWithStream: self = .success
    case .lost(let error): self.init(error)
    case .retriesExhausted(let error, _):
      let status = ExitStatus(error)
      self = status == .rejected ? .network : status
    }
  }

  private init(_ error: EventSourceError) {
    switch error {
    case .refused(401, _, _), .refused(403, _, _): self = .unauthorized
    // Of a proxy on the way.
    case .refused(407, _, _): self = .network
    case .refused, .notAnEventStream, .violation, .limit: self = .rejected
    case .invalidRequest: self = .usage
    case .ended, .closed, .network, .untrusted, .silent, .openingTimeout: self = .network
    }
  }

  /// The status for a channel that could not be joined.
  init(_ failure: SubscriptionFailure) {
    switch failure.fault {
    case .you: self = .unauthorized
    case .peer: self = .rejected
    case .network: self = .network
    case .us: self = .internalError
    }
  }
}
