internal import PusherCore

/// Asks one signer about channels and another about the user; a missing one refuses all requests.
final class SplitSigner: Signer {
  private let channels: (any Signer)?
  private let user: (any Signer)?

  init(channels: (any Signer)?, user: (any Signer)?) {
    (self.channels, self.user) = (channels, user)
  }

  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    guard let signer = request.channel == nil ? user : channels else {
      let what = request.channel == nil ? "sign-in" : "authorisation"
      return completion(.failure(.refused(status: nil, "no \(what) method is set")))
    }
    signer.sign(request, completion: completion)
  }

  func cancelAll() {
    channels?.cancelAll()
    user?.cancelAll()
  }
}

/// Runs a shell command that prints the JSON of an endpoint's response; another status than 0
/// refuses.
final class CommandSigner: Signer {
  private let loop: EventLoop
  private let command: String
  private let timeout: Duration
  private var processes: [Int: ChildProcess] = [:]
  private var nextProcess = 0

  init(loop: EventLoop, command: String, timeout: Duration) {
    (self.loop, self.command, self.timeout) = (loop, command, timeout)
  }

  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    var environment = [("PUSHER_CLI_SOCKET_ID", request.socketID)]
    if let channel = request.channel { environment.append(("PUSHER_CLI_CHANNEL", channel)) }
    let number = nextProcess
    nextProcess += 1
    let question = ChildProcess.Command(line: command, environment: environment, timeout: timeout)
    processes[number] = ChildProcess.start(question, on: loop) { [unowned self] result in
      processes[number] = nil
      completion(Self.body(result).flatMap { Authorization.result(of: $0, to: request) })
    }
  }

  func cancelAll() {
    for process in processes.values { process.cancel(at: loop.now) }
    processes.removeAll()
  }

  private static func body(
    _ result: ChildProcess.Outcome
  ) -> Result<[UInt8], AuthorizationFailure> {
    switch result {
    case .success(let output) where output.status == 0: .success(output.bytes)
    case .success: .failure(.refused(status: nil, result.problem ?? ""))
    case .failure(.timeout(let time)):
      .failure(.unavailable(status: nil, "the command took longer than \(time.inWords)"))
    case .failure(.busy(let reason)):
      // The shortage may pass, and a healthy run must survive it.
      .failure(.unavailable(status: nil, "\(ChildProcess.Failure.busy(reason: reason))"))
    case .failure(.start(let reason)):
      .failure(.refused(status: nil, "\(ChildProcess.Failure.start(reason: reason))"))
    case .failure(let failure): .failure(.unusable("\(failure)"))
    }
  }
}
