internal import PusherCore

/// What keeps a run from getting events.
struct Obstacle {
  /// What is missing, such as `no connection`.
  let what: String
  /// Why, as far as that is known.
  var reason: String?
  /// Whether it is a refusal, which waiting does not change.
  var isRefusal = false
}

/// What a command adds to a run.
protocol RunPart: FeedDelegate {
  var run: PrintingRun { get }
  /// Tells people, and programs by `-L`, what happens.
  var lifecycle: Lifecycle { get }
  /// The words of its protocol.
  var words: any FeedWords { get }
  /// What has kept the run from getting any event from its beginning on; `nil` once nothing did.
  var obstacle: Obstacle? { get }
  /// What keeps events from coming now; `nil` while they can come.
  var interruption: String? { get }
  /// In parentheses, what to check when nothing at all came; empty for nothing.
  var silenceHint: String { get }
  /// Which command it is.
  var command: Command { get }
  /// What it counts beside the run.
  var metrics: [MetricFamily] { get }
  /// Something happened to the connection, and has been told.
  func noted(_ event: ConnectionEvent)
  /// How a run ends whose feed has ended by itself.
  func status(of end: ConnectionEnd) -> ExitStatus
  /// Why a run has failed whose events all came; it is told once, before the end.
  func failure() -> (status: ExitStatus, reason: String)?
  /// Everything that had come was handed out, and as much of it written as went.
  func roundEnded()
  /// Nothing more will be written; the process is about to end, maybe by a signal.
  func outputEnded()
  /// Whether the run must not end yet.
  var isHolding: Bool { get }
  /// Whether no further event can be taken now.
  var isFull: Bool { get }
  /// SIGHUP asks to read the settings again; answers whether that was done, else the run ends.
  func readSettingsAgain() -> Bool
  /// The end begins: what was not handed out until now will not be printed.
  func endBegins()
}

extension RunPart {
  func feedTapIsFull() {
    run.finishEvent()
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    tell(event, at: now)
  }

  /// Says and notes what happened to the connection.
  func tell(_ event: ConnectionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    run.counts.note(event)
    lifecycle.report(event, in: words, at: now)
    noted(event)
    if case .ended(let end) = event { run.end(.feedEnded(status(of: end))) }
  }

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
