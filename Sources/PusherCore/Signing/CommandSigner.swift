/// Runs a shell command that prints the JSON of an endpoint's response; another status than 0
/// refuses.
package final class CommandSigner: Signer {
  /// Environment variables for the command; only the socket's id for a user.
  package struct Variables: Sendable {
    package var channel: String
    package var socketID: String

    package init(channel: String, socketID: String) {
      (self.channel, self.socketID) = (channel, socketID)
    }
  }

  private let loop: EventLoop
  private let command: String
  private let variables: Variables
  private let timeout: Duration
  private var processes: [Int: ChildProcess] = [:]
  private var nextProcess = 0

  package init(loop: EventLoop, command: String, variables: Variables, timeout: Duration) {
    (self.loop, self.command) = (loop, command)
    (self.variables, self.timeout) = (variables, timeout)
  }

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    var environment = [(variables.socketID, request.socketID)]
    if let channel = request.channel { environment.append((variables.channel, channel)) }
    let number = nextProcess
    nextProcess += 1
    let question = ChildProcess.Command(line: command, environment: environment, timeout: timeout)
    let finish = { (result: ChildProcess.Outcome) in
      completion(Self.body(result).flatMap { Authorization.result(of: $0, to: request) })
    }
    do throws(ChildProcess.Failure) {
      processes[number] = try ChildProcess(loop: loop, command: question, at: loop.now) {
        [unowned self] result, _ in
        processes[number] = nil
        finish(result)
      }
    } catch { finish(.failure(error)) }
  }

  package func cancelAll() {
    for process in processes.values { process.cancel(at: loop.now) }
    processes.removeAll()
  }

  private static func body(
    _ result: ChildProcess.Outcome
  ) -> Result<[UInt8], AuthorizationFailure> {
    switch result {
    case .success(let output) where output.status == 0: .success(output.bytes)
    case .success(let output):
      .failure(.refused(status: nil, "the command ended with status \(output.status)"))
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
