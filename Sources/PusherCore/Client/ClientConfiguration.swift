/// Where and how to connect; everything a client needs besides the session's own options.
package struct ClientConfiguration: Sendable {
  /// The socket's whole URL, `/app/KEY` and the protocol's parameters included.
  package var url: HTTPURL
  /// Sent with the upgrade.
  package var headers: HTTPHeaders
  package var tls: TLSConfiguration
  /// Where the environment says that authorities are found.
  package var trust: TLSEnvironment
  /// Whether permessage-deflate is offered.
  package var offersCompression: Bool
  package var limits: WebSocketLimits

  package init(
    url: HTTPURL, headers: HTTPHeaders = HTTPHeaders(),
    tls: TLSConfiguration = TLSConfiguration(), trust: TLSEnvironment = TLSEnvironment(),
    offersCompression: Bool = true,
    limits: WebSocketLimits = WebSocketLimits()
  ) {
    self.url = url
    self.headers = headers
    self.tls = tls
    self.trust = trust
    self.offersCompression = offersCompression
    self.limits = limits
  }
}

extension ConnectionLoss {
  /// What a failure of the transport means for the connection.
  init(_ error: TransportError) {
    switch error {
    case .tls(.certificate(let reason, let subject)):
      let error = TLSError.certificate(reason: reason, subject: subject)
      self = .untrusted("\(error)")
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

  /// What an answer other than a proper 101 means for the connection.
  init(upgradeFailure error: any Error) {
    switch error {
    case HandshakeError.refused(let head):
      self = .refused(status: head.status, reason: head.reason)
    case HandshakeError.redirect(let location, let status):
      self = .refused(status: status, reason: "it redirects to \(location)")
    default: self = .violation("\(error)")
    }
  }
}
