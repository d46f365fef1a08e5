internal import PusherCore

/// A command's part of a run.
protocol RunPart: FeedDelegate {
  var run: PrintingRun { get }
  var lifecycle: Lifecycle { get }
  /// The reason that no event came since the start; `nil` once there was none.
  var obstacle: Obstacle? { get }
  /// The reason that no event can come now, if any.
  var interruption: String? { get }
  /// Things to check after no event at all; empty for none.
  var silenceHint: String { get }
  var command: Command { get }
  var metrics: [MetricFamily] { get }
  /// Lines of `--summary` after the events.
  var summary: [String] { get }
  /// Handles a change of the connection after it was reported.
  func noted(_ event: ConnectionEvent)
  /// Returns the meaning of the feed's end for the run.
  func closing(of end: ConnectionEnd) -> RunEnd.Closing
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
  /// Called at the beginning of the end; unhandled events will not be printed.
  func endBegins()
}

extension RunPart {
  func feedSinkIsFull() { run.finishEvent() }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    if case .ended(let end) = event { return conclude(end) }
    lifecycle.report(event, at: now)
    noted(event)
    if case .disconnected = event { run.readiness.manager.status(lifecycle.lossInWords) }
  }

  /// Ends the run with its feed, and reports why.
  private func conclude(_ end: ConnectionEnd) {
    let closing = closing(of: end)
    guard case .lost(let cause, _, let wasOpen) = closing else {
      run.close(closing, hint: run.leftOut)
      if run.ending.ending?.isSuccess == true { run.diagnostics.info(closing.words) }
      return
    }
    let (events, hint) = (run.count, run.leftOut)
    run.end(.closed(closing))
    run.output.flush()
    lifecycle.explain(end) { [run] text in
      let closing = RunEnd.Closing.lost(cause, text, wasOpen: wasOpen)
      run.diagnostics.error(
        run.ending.wishes.sentence(at: closing, after: events, hint: hint) ?? text)
    }
  }

  func closing(of end: ConnectionEnd) -> RunEnd.Closing {
    RunEnd.Closing(end, wasOpen: lifecycle.hasBeenOpen)
  }

  /// The reason that no event was printed, or not the wanted one; empty if nothing explains it.
  var shortfall: String {
    let leftOut = run.leftOut
    return leftOut.isEmpty && run.count == 0 ? silenceHint : leftOut
  }

  func printStatus() { lifecycle.printStatus(of: run) }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    run.diagnostics.trace(text(), isSent: isSent)
  }

  var silenceHint: String { "" }
  var metrics: [MetricFamily] { [] }
  var summary: [String] { [] }
  func feedClosed() {}
  func outputEnded() {}
  func endBegins() {}
  func failure() -> (status: ExitStatus, reason: String)? { nil }
  var isHolding: Bool { false }
}

extension Diagnostics {
  /// Shows a message or a head of the connection, without its signatures.
  func trace(_ text: @autoclosure () -> String, isSent: Bool) {
    debug("\(isSent ? ">" : "<") \(Redaction.redact(text()))")
  }
}
