internal import PusherCore

/// Runs the command of `--on-gap` after a gap, or the command of `--on-idle` in a silence.
///
/// The command reads the gap as a JSON line. A gap that ends meanwhile has its command afterwards.
/// The output of `--on-gap` replaces the missed events; any other output goes to standard error.
final class GapCommand {
  private let settings: GapSettings
  /// Maximum output of the command, in bytes.
  private let limit: Int
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var process: ChildProcess?
  /// The gap since the running command began, all in one.
  private var next: (start: Instant, end: Instant, channels: [String])?
  private var isCut = false
  private var counts = HookCounts()
  /// Called for each event in the output; returns whether to continue.
  var onEvent: ((Envelope) -> Bool)?

  init(_ settings: GapSettings, limit: Int, loop: EventLoop, diagnostics: Diagnostics) {
    (self.settings, self.limit) = (settings, limit)
    (self.loop, self.diagnostics) = (loop, diagnostics)
  }

  var isRunning: Bool { process != nil }

  /// Runs the command for the time between `start` and `end`, without events of these channels.
  func begin(from start: Instant, to end: Instant, _ channels: [String] = []) {
    guard !isCut else { return }
    guard process == nil else {
      let known = next?.channels ?? []
      let more = channels.filter { name in !known.contains { $0.isSame(as: name) } }
      next = (next?.start ?? start, end, known + more)
      return
    }
    let names = JSONValue.array(channels.map(JSONValue.string))
    let line = JSONValue.object(
      Lifecycle.gap(from: start, to: end, at: loop.now)
        + (channels.isEmpty ? [] : [.init("channels", names)]))
    let question = ChildProcess.Command(
      line: settings.command, input: Array((JSONWriter.text(line) + "\n").utf8),
      outputLimit: limit, outlet: onEvent == nil ? .ourErrors : .captured,
      timeout: settings.timeout)
    process = ChildProcess.start(question, on: loop) { [unowned self] in ended($0) }
  }

  /// Ends the command with the run.
  func cut() {
    isCut = true
    process?.end(at: loop.now)
  }

  private func ended(_ result: ChildProcess.Outcome) {
    process = nil
    defer {
      if let gap = next {
        next = nil
        begin(from: gap.start, to: gap.end, gap.channels)
      }
    }
    guard !isCut else { return counts.noteCutOff() }
    counts.note(result)
    switch result {
    case .success(let output):
      take(output.bytes)
      if let problem = result.problem { warn(problem) }
    case .failure(.outputLimit(let limit)):
      warn(
        "the command printed more than \(Quantities.words(size: limit)); its output is ignored "
          + "(--buffer sets the limit)")
    case .failure(.timeout(let time)):
      warn(
        "the command took longer than \(time.inWords); its output is ignored "
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

  private func warn(_ text: String) { diagnostics.warning("\(settings.option.spelling): \(text)") }

  var metrics: MetricFamily { counts.family(of: settings.option.name) }
}

extension ChildProcess {
  /// Starts a command; if it cannot start, `completion` has the failure before the return.
  static func start(
    _ command: Command, on loop: EventLoop, completion: @escaping (Outcome) -> Void
  ) -> ChildProcess? {
    do throws(Failure) {
      return try ChildProcess(loop: loop, command: command, at: loop.now) { result, _ in
        completion(result)
      }
    } catch {
      completion(.failure(error))
      return nil
    }
  }
}
