// What a failure of each layer means for a connection.
extension ConnectionLoss {
  init(_ foreign: ForeignProtocol) {
    self = foreign == .tls ? .network("\(foreign)", .onlyTLS) : .violation("\(foreign)")
  }

  /// What a failure of the transport means for the connection.
  package init(_ error: TransportError) {
    switch error {
    case .tls(let error):
      self =
        error.trustProblem.map { .untrusted("\(error)", $0) }
        ?? .network("\(error)", error.networkProblem)
    // Which family is missing, a reason of ours says by itself.
    case .resolve(_, let reason) where !reason.begins(with: "it has no IP"):
      self = .network("\(error)", .unknownName)
    case .proxy(_, let proxyError) where proxyError.isDoubtful: self = .network("\(error)", .proxy)
    case .timeout(.handshaking): self = .network("\(error)", .handshakeSilent)
    // That the connection is lost, the message about a loss says by itself.
    case .reset(let reason): self = .network(reason)
    default: self = .network("\(error)")
    }
  }

  /// What a broken WebSocket rule, or an end without a close frame, means for the connection.
  init(_ error: WebSocketError) {
    switch error {
    case .endedWithoutCloseFrame(let insideMessage):
      let place = insideMessage ? "in the middle of a message" : "without a close frame"
      self = .closed(code: nil, reason: place)
    default: self = .violation("\(error)")
    }
  }

  /// What an answer with another status than the one that is asked for means; `now` gives a date in it its meaning.
  init(refusal head: HTTPResponseHead, at now: WallTime) {
    let isLost = RedirectTrail.isRedirect(head.status)
    self = .refused(
      status: head.status, reason: isLost ? "a redirect without a Location" : head.reason,
      retryAfter: head.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) })
  }

  /// What an answer other than a proper 101 means for the connection; `now` gives a date in it its meaning.
  init(upgradeFailure error: any Error, at now: WallTime) {
    switch error {
    case HandshakeError.refused(let head): self.init(refusal: head, at: now)
    case HandshakeError.redirect(_, let status):
      self = .refused(status: status, reason: "a redirect that is not followed")
    default: self = .violation("\(error)")
    }
  }
}

extension TLSError {
  fileprivate var networkProblem: NetworkProblem? {
    switch self {
    case .handshakeClosed: .handshakeClosed
    case .notTLS: .notTLS
    default: nil
    }
  }

  /// Who did not trust whom, when that is what failed.
  fileprivate var trustProblem: TrustProblem? {
    switch self {
    case .certificate: .certificate
    case .unknownAuthority: .unknownAuthority
    case .publicKey: .publicKey
    case .clientCertificate: .clientCertificate
    default: nil
    }
  }
}
