internal import PusherCore

/// The causes of failure of all commands; the same cause has the same status in each.
///
/// This is the one table of causes and statuses. The failures of the library are told apart below, and only here.
enum Cause: CaseIterable, Sendable {
  /// An option, or a file that it names.
  case settings
  /// A refusal of the user: HTTP 401 and 403, codes 4001, 4003 and 4009, a channel that is refused.
  case notAllowed
  /// The way to the server: look-up, connection, proxy, TLS, a loss, silence.
  case unreachable
  /// The server, or this machine, cannot do it now: HTTP 408, 425, 429 and 5xx, no descriptors.
  case overloaded
  /// A refusal of the request: any other HTTP status, the other codes from 4000 to 4099.
  case refused
  /// The server breaks its protocol.
  case brokenProtocol
  /// A defect of this program.
  case defect
  case output
  case time

  var status: ExitStatus {
    switch self {
    case .settings: .usage
    case .notAllowed: .unauthorized
    case .unreachable, .overloaded: .network
    case .refused, .brokenProtocol: .rejected
    case .defect: .internalError
    case .output: .output
    case .time: .timedOut
    }
  }
}

extension ExitStatus {
  init(_ cause: Cause) { self = cause.status }

  /// The status for a feed that ended by itself, which is that of its last loss; `endsWithStream` when a stream that is
  /// over is the end.
  init(_ end: ConnectionEnd, endsWithStream: Bool = false) {
    switch end {
    case .asked, .finished: self = .success
    case .lost(.ended, _) where endsWithStream: self = .success
    case .lost(let loss, let code), .retriesExhausted(let loss, let code, _):
      self.init(Cause(loss, code: code))
    }
  }
}

extension Cause {
  /// An unexpected answer of an HTTP server.
  init(httpStatus status: Int) {
    switch status {
    case 401, 403: self = .notAllowed
    // Of a proxy on the way.
    case 407: self = .unreachable
    case _ where HTTPStatus.isTemporary(status): self = .overloaded
    default: self = .refused
    }
  }

  /// A connection that was lost or could not be made, with the 4xxx code that explains it.
  init(_ loss: ConnectionLoss, code: Int?) {
    switch code {
    case 4001, 4003, 4009: self = .notAllowed
    case let code? where (4000..<4100).contains(code): self = .refused
    case _?: self = .overloaded
    case nil:
      switch loss {
      case .refused(let status, _, _): self.init(httpStatus: status)
      case .notAnEventStream, .violation, .limit: self = .brokenProtocol
      case .invalidRequest: self = .settings
      case .closed, .ended, .endedUnmarked, .network, .untrusted, .handshakeTimeout, .noPong,
        .silent, .dropped:
        self = .unreachable
      }
    }
  }

  /// A channel that could not be subscribed, or a user that could not be signed in.
  init(_ failure: SubscriptionFailure) {
    if let status = failure.status, (400..<600).contains(status), HTTPStatus.isTemporary(status) {
      self = .overloaded
      return
    }
    switch failure.fault {
    case .you: self = .notAllowed
    case .peer: self = .brokenProtocol
    case .network: self = .unreachable
    case .us: self = .defect
    }
  }

  /// A call of the HTTP API without an answer.
  init(_ failure: HTTPExchange.Failure) {
    switch failure {
    case .transport(let error): self.init(error)
    case .timeout, .http(.endedEarly), .http(.foreign(.tls)): self = .unreachable
    case .http: self = .brokenProtocol
    }
  }

  /// Failures before anything is dialled: files, addresses, and this machine's resources.
  init(starting error: any Error) {
    switch error {
    case let error as TransportError: self.init(error)
    case let error as TLSError: self.init(error)
    default: self = .settings
    }
  }

  private init(_ error: TransportError) {
    switch error {
    case .tls(let error): self.init(error)
    case .system: self = .overloaded
    case .resolve, .connect, .proxy, .timeout, .reset, .listen: self = .unreachable
    }
  }

  private init(_ error: TLSError) {
    switch error {
    case .file, .noTrustStore: self = .settings
    case .setup: self = .defect
    default: self = .unreachable
    }
  }
}
