/// Asks a shell command, which prints what an endpoint would answer.
///
/// The command finds the question in `PUSHER_CLI_CHANNEL` and `PUSHER_CLI_SOCKET_ID`, about a user only in the latter. A status other than 0 is a no.
package final class CommandAuthorizer: ChannelAuthorizer, UserAuthenticator {
  private let loop: EventLoop
  private let command: String
  private let timeout: Duration
  private var processes: [Int: ChildProcess] = [:]
  private var nextProcess = 0

  /// - Parameters:
  ///   - command: A line for `/bin/sh -c`.
  ///   - timeout: How long it may take before it is ended.
  package init(loop: EventLoop, command: String, timeout: Duration) {
    self.loop = loop
    self.command = command
    self.timeout = timeout
  }

  package func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void
  ) {
    ask([("PUSHER_CLI_CHANNEL", request.channel), ("PUSHER_CLI_SOCKET_ID", request.socketID)]) {
      completion($0.flatMap(AuthorizationAnswer.result))
    }
  }

  package func authenticate(
    _ request: UserAuthenticationRequest,
    completion: @escaping (Result<PusherUserAuth, AuthorizationFailure>) -> Void
  ) {
    ask([("PUSHER_CLI_SOCKET_ID", request.socketID)]) {
      completion($0.flatMap(AuthorizationAnswer.userResult))
    }
  }

  private func ask(
    _ environment: [(String, String)],
    completion: @escaping (Result<[UInt8], AuthorizationFailure>) -> Void
  ) {
    let number = nextProcess
    nextProcess += 1
    let question = ChildProcess.Command(line: command, environment: environment, timeout: timeout)
    do throws(ChildProcess.Failure) {
      processes[number] = try ChildProcess(loop: loop, command: question, at: loop.now) {
        [unowned self] result, _ in
        processes[number] = nil
        completion(Self.answer(result))
      }
    } catch {
      completion(Self.answer(.failure(error)))
    }
  }

  package func cancelAll() {
    for process in processes.values { process.cancel(at: loop.now) }
    processes.removeAll()
  }

  private static func answer(
    _ result: Result<ChildProcess.Output, ChildProcess.Failure>
  ) -> Result<[UInt8], AuthorizationFailure> {
    switch result {
    case .success(let output) where output.status == 0: .success(output.bytes)
    case .success(let output):
      .failure(.refused(status: nil, "the command ended with status \(output.status)"))
    case .failure(.timeout(let time)):
      .failure(.unavailable(status: nil, "the command took longer than \(time.inWords)"))
    case .failure(.busy(let reason)):
      // Others give back what is short, and a healthy run must outlive that.
      .failure(.unavailable(status: nil, "\(ChildProcess.Failure.busy(reason: reason))"))
    case .failure(.start(let reason)):
      .failure(.refused(status: nil, "\(ChildProcess.Failure.start(reason: reason))"))
    case .failure(let failure): .failure(.unusable("\(failure)"))
    }
  }
}
