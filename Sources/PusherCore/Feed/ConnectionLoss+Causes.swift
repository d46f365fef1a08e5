// Maps the failures of each layer to the loss of a connection.
extension ConnectionLoss {
  package init(_ error: TransportError) {
    switch error {
    case .tls(let error):
      self =
        error.trustProblem.map { .untrusted("\(error)", $0) }
        ?? .network("\(error)", error.networkProblem)
    // Our own reason already names the missing family.
    case .resolve(_, let reason) where !reason.begins(with: "it has no IP"):
      self = .network("\(error)", .unknownName)
    case .connect(_, let reason) where reason == SystemError.connectionRefused.description:
      self = .network("\(error)", .connectionRefused)
    case .proxy(_, let proxyError) where proxyError.isDoubtful: self = .network("\(error)", .proxy)
    case .timeout(.handshaking): self = .network("\(error)", .handshakeSilent)
    // The message about a loss already says that the connection is lost.
    case .reset(let reason): self = .network(reason)
    default: self = .network("\(error)")
    }
  }

  /// Maps a WebSocket protocol error, or an end without a close frame.
  init(_ error: WebSocketError) {
    switch error {
    case .endedWithoutCloseFrame(let insideMessage):
      let place = insideMessage ? "incomplete message" : "no close frame"
      self = .closed(code: nil, reason: place)
    default: self = .violation("\(error)")
    }
  }

  /// Maps an unexpected status; `now` is needed for a date in Retry-After.
  init(refusal head: HTTPResponseHead, at now: WallTime) {
    let isLost = RedirectTrail.isRedirect(head.status)
    self = .refused(
      status: head.status, reason: isLost ? "a redirect without a Location" : head.reason,
      retryAfter: head.retryAfter(at: now))
  }

  /// Maps a failed upgrade; `now` is needed for a date in Retry-After.
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

  /// The side that did not trust the other, if trust failed.
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
