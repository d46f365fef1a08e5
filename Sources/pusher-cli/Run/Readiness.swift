internal import PusherCore

/// Announces that a run is ready: to the service manager, and with the command of `--on-ready`.
///
/// The command runs once, without input, and its output goes to our standard error. A successful
/// run waits for the command, every other end stops it.
final class Readiness {
  let manager = ServiceManager(Environment.ofProcess())
  private let command: String?
  /// Written once and closed.
  private let descriptor: Int32?
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var process: ChildProcess?
  private var hasStarted = false
  /// Time before a retry when the system could not start the command.
  private static let pause = Duration.seconds(1)
  /// True after the run has ended the command, whose status is then ignored.
  private var isCut = false
  /// Called after the command's end; a failure was already reported.
  var onEnd: ((_ hasFailed: Bool) -> Void)?

  init(command: String?, descriptor: Int32? = nil, loop: EventLoop, diagnostics: Diagnostics) {
    (self.command, self.descriptor) = (command, descriptor)
    if let descriptor { SystemCalls.closeOnExec(descriptor) }
    (self.loop, self.diagnostics) = (loop, diagnostics)
  }

  /// Announces the run once; later calls only change the manager's status.
  ///
  /// - Parameters:
  ///   - status: State in words, for users of the service manager.
  ///   - environment: Additional variables for the command.
  func report(_ status: String, environment: [(name: String, value: String)] = []) {
    manager.ready(status)
    guard !hasStarted else { return }
    hasStarted = true
    if let descriptor {
      // A reader may have gone.
      _ = SystemCalls.writeWhole(Array("ready\n".utf8), to: descriptor)
      SystemCalls.closeDescriptor(descriptor)
    }
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
      diagnostics.warning("--on-ready: cannot start the command now: \(reason); retrying")
      loop.schedule(after: Self.pause) { [unowned self] in start(environment) }
    } catch {
      diagnostics.error("--on-ready: \(error)")
      // Called from the loop, like every other end.
      loop.schedule(after: .zero) { [unowned self] in onEnd?(true) }
    }
  }

  /// Returns whether the command is over; ends it unless the run succeeds.
  func isOver(succeeds: Bool) -> Bool {
    if !succeeds { cut() }
    return process == nil
  }

  /// Asks the command to end, and kills it after a delay.
  func cut() {
    guard !isCut else { return }
    isCut = true
    process?.end(at: loop.now)
  }

  private func ended(_ result: CommandResult) {
    process = nil
    let problem = isCut ? nil : result.problem
    if let problem { diagnostics.error("--on-ready: \(problem)") }
    onEnd?(problem != nil)
  }
}
