internal import PusherCore
internal import PusherLines

/// Causes of failure; this is the only table of causes and exit statuses.
enum Cause: String, CaseIterable, Codable, Sendable {
  /// An invalid option, or a file that it names.
  case settings
  /// HTTP 401 and 403, codes 4001, 4003 and 4009, a refused channel.
  case notAllowed
  /// Name lookup, connection, proxy, TLS, a loss, silence.
  case unreachable
  /// A temporary failure of the server or this machine: HTTP 408, 425, 429 and 5xx, no descriptors.
  case overloaded
  /// Any other HTTP status, and the other codes from 4000 to 4099.
  case refused
  case brokenProtocol
  /// The stream ended properly, but no event came that the run waited for.
  case unmet
  case defect, output, time

  var status: ExitStatus {
    switch self {
    case .settings: .usage
    case .notAllowed: .unauthorized
    case .unreachable, .overloaded: .network
    case .refused, .brokenProtocol, .unmet: .rejected
    case .defect: .internalError
    case .output: .output
    case .time: .timedOut
    }
  }
}

extension ExitStatus {
  init(_ cause: Cause) { self = cause.status }
}

extension Cause {
  init(httpStatus status: Int) {
    switch status {
    case 401, 403: self = .notAllowed
    // From a proxy on the way.
    case 407: self = .unreachable
    case _ where HTTPStatus.isTemporary(status): self = .overloaded
    default: self = .refused
    }
  }

  /// Classifies a loss, given the 4xxx code that explains it.
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

  init(_ failure: HTTPExchange.Failure) {
    switch failure {
    case .transport(let error): self.init(error)
    case .timeout, .http(.endedEarly), .http(.foreign(.tls)): self = .unreachable
    case .http: self = .brokenProtocol
    }
  }

  /// Failures before the first connection: files, addresses and resources of this machine.
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

extension Diagnostics {
  func outcome(of body: () throws -> ExitStatus) -> ExitStatus {
    do {
      return try body()
    } catch let failure as APICaller.Failure {
      return failure.status
    } catch let error as UsageError {
      usage(error)
      return .usage
    } catch {
      // Nothing was sent or served yet, so files, addresses or this machine's resources failed.
      self.error("\(error)")
      return ExitStatus(Cause(starting: error))
    }
  }

  /// Reports a failed output; ends the program by SIGPIPE if the reader is gone.
  func outcome(of failure: OutputQueue.Failure) -> ExitStatus {
    if failure == .readerGone { Signals.dieOfBrokenPipe() }
    return cannotPrint(failure.reason)
  }

  func rejectAnswer() -> ExitStatus {
    error("the server's answer does not follow the HTTP API")
    return .rejected
  }

  func cannotPrint(_ reason: String, to file: String? = nil) -> ExitStatus {
    error("cannot write to \(file.map { "'\($0)'" } ?? "standard output"): \(reason)")
    return .output
  }

  /// Writes all of `text` to standard output; returns `status` unless the write failed.
  func print(_ text: String, _ status: ExitStatus = .success) -> ExitStatus {
    let bytes = StandardDescriptors.isTerminal(1) ? TerminalText.safe(text) : Array(text.utf8)
    let fault = Signals.endingAtOnce { SystemCalls.writeWhole(bytes, to: 1, waits: true) }
    guard let fault else { return status }
    return outcome(of: fault == .brokenPipe ? .readerGone : .system(fault))
  }
}
