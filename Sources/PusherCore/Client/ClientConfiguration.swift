/// Where and how to connect; everything a client needs besides the session's own options.
package struct ClientConfiguration: Sendable {
  /// The socket's whole URL, `/app/KEY` and the protocol's parameters included.
  package var url: HTTPURL
  /// Sent with the upgrade.
  package var headers: HTTPHeaders
  /// Offered with the upgrade, the one liked best first; most servers want none.
  package var subprotocols: [String]
  /// Which way leads to the server.
  package var routing: Routing
  package var tls: TLSConfiguration
  /// Where the environment says that authorities are found.
  package var trust: TLSEnvironment
  /// Whether permessage-deflate is offered.
  package var offersCompression: Bool
  package var limits: WebSocketLimits

  package init(
    url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(), subprotocols: [String] = [],
    routing: Routing = Routing(),
    tls: TLSConfiguration = TLSConfiguration(), trust: TLSEnvironment = TLSEnvironment(),
    offersCompression: Bool = true,
    limits: WebSocketLimits = WebSocketLimits()
  ) {
    self.url = url
    self.headers = headers
    self.subprotocols = subprotocols
    self.routing = routing
    self.tls = tls
    self.trust = trust
    self.offersCompression = offersCompression
    self.limits = limits
  }
}

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

  /// What an answer other than a proper 101 means for the connection; `now` gives a date in it its meaning.
  init(upgradeFailure error: any Error, at now: WallTime) {
    switch error {
    case HandshakeError.refused(let head):
      let isLost = RedirectTrail.isRedirect(head.status)
      self = .refused(
        status: head.status, reason: isLost ? "a redirect without a Location" : head.reason,
        retryAfter: head.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) })
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
