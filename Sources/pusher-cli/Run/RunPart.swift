internal import PusherCore

/// The reason that a run gets no events.
struct Obstacle {
  /// The missing part, such as `no connection`.
  let what: String
  var reason: String?
  /// True for a refusal, which waiting does not change.
  var isRefusal = false
}

/// A command's part of a run.
protocol RunPart: FeedDelegate {
  var run: PrintingRun { get }
  var lifecycle: Lifecycle { get }
  var words: any FeedWords { get }
  /// The reason that no event came since the start; `nil` once there was none.
  var obstacle: Obstacle? { get }
  /// The reason that no event can come now, if any.
  var interruption: String? { get }
  /// Things to check after no event at all, in parentheses.
  var silenceHint: String { get }
  var command: Command { get }
  var metrics: [MetricFamily] { get }
  /// Handles a change of the connection after it was reported.
  func noted(_ event: ConnectionEvent)
  func status(of end: ConnectionEnd) -> ExitStatus
  /// Reports and returns the failure of a run that got all events; called once, before the end.
  func failure() -> (status: ExitStatus, reason: String)?
  /// Reports the state of the run, at any verbosity.
  func printStatus()
  /// Called when all events are handled, and written as far as possible.
  func roundEnded()
  /// Called after the last write; the process ends next, maybe by a signal.
  func outputEnded()
  /// True while the run must not end.
  var isHolding: Bool { get }
  var isFull: Bool { get }
  /// Reads the settings again after SIGHUP; returns false if the run must end.
  func readSettingsAgain() -> Bool
  /// Called at the beginning of the end; unhandled events will not be printed.
  func endBegins()
}

extension RunPart {
  func feedSinkIsFull() { run.finishEvent() }
  func feed(reports event: ConnectionEvent, at now: Instant) { tell(event, at: now) }

  func tell(_ event: ConnectionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    run.counts.note(event)
    lifecycle.report(event, in: words, at: now)
    noted(event)
    if case .ended(let end) = event { run.end(.feedEnded(status(of: end))) }
  }

  func printStatus() { lifecycle.printStatus(of: run) }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    lifecycle.trace(text(), isSent: isSent)
  }

  var silenceHint: String { "" }
  var metrics: [MetricFamily] { [] }
  func feedClosed() {}
  func outputEnded() {}
  func endBegins() {}
  func failure() -> (status: ExitStatus, reason: String)? { nil }
  var isHolding: Bool { false }
  var isFull: Bool { false }
  func readSettingsAgain() -> Bool { false }
}
