internal import PusherCore

/// Announces that a run is ready: to the service manager, and by the command of `--on-ready`.
///
/// The command is run once, with its standard output on our standard error and nothing on its standard input. A run that
/// succeeds waits for its end; every other end of the run ends the command.
final class Readiness {
  let manager: ServiceManager
  private let command: String?
  /// Told once, and closed.
  private let descriptor: Int32?
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var process: ChildProcess?
  private var hasStarted = false
  /// How long until a command is started again that could not be for the moment.
  private static let pause = Duration.seconds(1)
  /// Whether the run has ended the command, so that how it ends says nothing.
  private var isCut = false
  /// Called when the command has ended, with whether it failed; a failure has been told by then.
  var onEnd: ((_ hasFailed: Bool) -> Void)?

  init(
    command: String?, descriptor: Int32? = nil, loop: EventLoop, diagnostics: Diagnostics,
    manager: ServiceManager = ServiceManager(Environment.ofProcess())
  ) {
    self.command = command
    self.descriptor = descriptor
    if let descriptor { SystemCalls.keep(descriptor) }
    self.loop = loop
    self.diagnostics = diagnostics
    self.manager = manager
  }

  /// The run is ready; later calls only change the manager's status.
  ///
  /// - Parameters:
  ///   - status: The state in words, for people who ask the service manager.
  ///   - environment: Variables for the command besides ours.
  func become(_ status: String, environment: [(name: String, value: String)] = []) {
    manager.ready(status)
    guard !hasStarted else { return }
    hasStarted = true
    if let descriptor { SystemCalls.tellReady(descriptor) }
    start(environment)
  }

  private func start(_ environment: [(name: String, value: String)]) {
    guard let command, !isCut else { return }
    let question = ChildProcess.Command(
      line: command, environment: environment, outlet: .ourErrors, timeout: nil)
    do throws(ChildProcess.Failure) {
      process = try ChildProcess(loop: loop, command: question, at: loop.now) {
        [unowned self] result, _ in ended(result)
      }
    } catch .busy(let reason) {
      diagnostics.warning("--on-ready: cannot start the command now: \(reason); trying again")
      let timer = LoopTimer(deadline: loop.now.advanced(by: Self.pause)) { [unowned self] in
        start(environment)
      }
      loop.add(timer)
    } catch {
      diagnostics.error("--on-ready: \(error)")
      // Told from inside the loop, like every other end.
      let timer = LoopTimer(deadline: loop.now) { [unowned self] in onEnd?(true) }
      loop.add(timer)
    }
  }

  /// Whether nothing is left to wait for; unless the run succeeds, the command is then asked to end.
  func isOver(succeeds: Bool) -> Bool {
    if !succeeds { cut() }
    return process == nil
  }

  /// Asks the command to end, and kills it when it does not.
  func cut() {
    guard !isCut else { return }
    isCut = true
    process?.end(at: loop.now)
  }

  private func ended(_ result: Result<ChildProcess.Output, ChildProcess.Failure>) {
    process = nil
    guard !isCut else { return onEnd?(false) ?? () }
    switch result {
    case .success(let output) where output.status == 0:
      onEnd?(false)
    case .success(let output):
      diagnostics.error("--on-ready: the command ended with status \(output.status)")
      onEnd?(true)
    case .failure(let failure):
      diagnostics.error("--on-ready: \(failure)")
      onEnd?(true)
    }
  }
}
