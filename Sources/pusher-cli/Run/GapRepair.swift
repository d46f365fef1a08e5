internal import PusherCore

/// Runs the command of `--on-gap` after a gap; its output replaces the missed events.
///
/// Received events wait meanwhile. The command reads the gap as a JSON line.
final class GapRepair {
  private let command: String
  private let timeout: Duration
  /// Maximum output of the command, in bytes.
  private let limit: Int
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var process: ChildProcess?
  private var isCut = false
  private(set) var results = ResultCounts<HookResult>()
  /// Called for each event in the output; returns whether to continue.
  var onEvent: ((Envelope) -> Bool)?
  var onEnd: (() -> Void)?
  private var hasSaidFull = false

  init(command: String, timeout: Duration, limit: Int, loop: EventLoop, diagnostics: Diagnostics) {
    (self.command, self.timeout, self.limit) = (command, timeout, limit)
    (self.loop, self.diagnostics) = (loop, diagnostics)
  }

  var isRunning: Bool { process != nil }

  func begin(_ gap: JSONValue) {
    guard !isCut, process == nil else { return }
    let question = ChildProcess.Command(
      line: command, input: Array((JSONWriter.text(gap) + "\n").utf8), outputLimit: limit,
      timeout: timeout)
    do throws(ChildProcess.Failure) {
      process = try ChildProcess(loop: loop, command: question, at: loop.now) {
        [unowned self] result, _ in ended(result)
      }
    } catch {
      results.note(.failed)
      warn("\(error)")
    }
  }

  /// Reports once that the socket is not read.
  func sayFull() {
    guard !hasSaidFull else { return }
    hasSaidFull = true
    warn(
      "the command is slow: \(Quantities.words(size: limit)) of events wait for it; "
        + "the socket is not read until the command ends (--buffer sets the limit)")
  }

  /// Ends the command with the run.
  func cut() {
    isCut = true
    process?.end(at: loop.now)
  }

  private func ended(_ result: CommandResult) {
    process = nil
    defer { onEnd?() }
    guard !isCut else { return results.note(.cutOff) }
    results.note(result.hookResult)
    switch result {
    case .success(let output):
      take(output.bytes)
      if let problem = result.problem { warn(problem) }
    case .failure(.outputLimit(let limit)):
      warn(
        "the command printed more than \(Quantities.words(size: limit)); its output is ignored "
          + "(--buffer sets the limit)")
    case .failure(.timeout):
      warn(
        "the command took longer than \(timeout.inWords); its output is ignored "
          + "(--on-gap-timeout sets the limit)")
    case .failure(let failure): warn("\(failure)")
    }
  }

  private func take(_ bytes: [UInt8]) {
    let buffer = ByteBuffer(capacity: bytes.count)
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    where !line.isBlankLine {
      buffer.removeAll()
      buffer.append(Array(line))
      let shouldRetry = withExtendedLifetime(buffer) { () -> Bool in
        guard UTF8Validator.isValid(buffer.view), let event = try? Envelope(buffer.view) else {
          warn("line \(index + 1) of the command's output is not a JSON object with an event")
          return true
        }
        return onEvent?(event) ?? false
      }
      if !shouldRetry { return }
    }
  }

  private func warn(_ text: String) { diagnostics.warning("--on-gap: \(text)") }
}

typealias CommandResult = Result<ChildProcess.Output, ChildProcess.Failure>

extension CommandResult {
  /// The reason that the command failed; `nil` if it ended with status 0.
  var problem: String? {
    switch self {
    case .success(let output) where output.status == 0: nil
    case .success(let output): "the command ended with status \(output.status)"
    case .failure(let failure): "\(failure)"
    }
  }

  var hookResult: HookResult {
    if case .failure(.timeout) = self { return .timedOut }
    return problem == nil ? .succeeded : .failed
  }
}
