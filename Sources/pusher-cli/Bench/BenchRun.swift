internal import PusherCore

/// One run of `bench`: connects all subscribers, loads the server, and measures.
final class BenchRun {
  private let settings: BenchSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let parts: BenchParts
  private var openedAt: Instant?
  private var ticker: LoopTimer?
  private var outcome = BenchOutcome()

  /// Time without a change after which the rest of the subscribers is given up.
  private static let patience = Duration.seconds(60)
  /// Shortest time without a delivery after which the missing events count as lost.
  private static let deliveryPatience = Duration.seconds(2)
  /// Time after the plan in which at least one of the waiting calls must be accepted.
  private static let callPatience = Duration.seconds(15)
  /// Time to sign the first call and to reach the workers, so that no call is late.
  private static let preparation = Duration.milliseconds(100)
  private static let look = Duration.milliseconds(20)

  /// - Parameters:
  ///   - run: Name of the run in its events.
  ///   - workers: The processes with the subscribers; empty if this one has them.
  init(
    _ settings: BenchSettings, run: String, _ workers: [ForkedProcess], diagnostics: Diagnostics
  ) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    loop = try EventLoop()
    let own = BenchPart(
      settings, .rest(of: settings.load.processes), run: run, loop: loop, diagnostics: diagnostics)
    parts = BenchParts(own, workers, loop: loop)
  }

  /// Runs until the end, and returns the report.
  func run() -> BenchOutcome {
    LocalServerWait.run(settings.subscription.connection, on: loop, diagnostics)
    Signals.watch(loop) { [unowned self] in
      diagnostics.answer(progress)
    } onSignal: { [unowned self] number in
      outcome.signal = number
      loop.stop()
    }
    startTicking()
    let begin = loop.now
    openedAt = begin
    parts.open(at: begin)
    wait { self.parts.state.settled == self.settings.load.subscribers || self.isStuck }
    parts.settle()
    if !outcome.isOver, parts.state.connected == 0 { outcome.failure = .unconnected }
    if !outcome.isOver { work() }
    if let ticker { loop.remove(ticker) }
    parts.finish()
    waitAnyway { self.parts.areClosed }
    report()
    parts.end(runShortly)
    return outcome
  }

  private func work() {
    switch settings.mode {
    case .connect: break
    case .storm:
      let all = parts.state.connected
      parts.cut()
      wait { self.parts.areCurrent && self.parts.state.connected >= all || self.isStuck }
    case .fanout, .client, .presence:
      do {
        try sendAll()
      } catch {
        diagnostics.error("\(error)")
        outcome.failure = .unable
      }
    }
  }

  private func sendAll() throws {
    try parts.prepare()
    parts.traffic?.onRefusal = { [unowned self] status, reason in
      outcome.failure = .refused(status: status, reason: reason)
      loop.stop()
    }
    wait { self.parts.traffic?.isReady ?? true || self.isStuck }
    let counted = parts.count()
    var receivers: [Int]?
    wait {
      receivers = self.parts.receivers(with: counted)
      return receivers != nil
    }
    guard !outcome.isOver, let receivers else { return }
    parts.begin(at: loop.now.advanced(by: Self.preparation), receivers: receivers)
    wait { self.isSent }
    let accepted = parts.stop()
    waitAnyway { self.parts.haveStopped }
    parts.judge(with: accepted)
    wait { self.isComplete }
  }

  /// True if every call was sent and answered, or no answer has come for long.
  private var isSent: Bool {
    let state = parts.state
    return state.isDone && (state.isIdle || silence(state) > Self.callPatience)
  }

  /// True if every event came, or nothing has come for long.
  private var isComplete: Bool {
    let state = parts.state
    let longest = Duration.nanoseconds(state.longest)
    return state.hasAll || silence(state) > max(Self.deliveryPatience, longest * 2)
  }

  /// Time since the last call of the plan, its last answer and its last delivery.
  private func silence(_ state: PartState) -> Duration {
    let plan = BenchPlan(settings)
    let end = parts.began?.advanced(by: plan.time(of: plan.callCount - 1)).nanoseconds
    let last = [end, state.lastDelivery, state.lastAccepted].compactMap(\.self).max()
    return last.map { Instant(nanoseconds: $0).duration(to: loop.now) } ?? .zero
  }

  /// True if subscribers are missing, and none came for long.
  private var isStuck: Bool {
    guard let last = parts.lastChange else { return false }
    return last.duration(to: loop.now) > Self.patience
  }

  /// Runs the loop until the condition holds, or the run is over.
  private func wait(until isSo: () -> Bool) {
    while !outcome.isOver, !isSo() { runShortly() }
  }

  /// Runs the loop until the condition holds, even after a signal, or a worker is lost.
  private func waitAnyway(until isSo: () -> Bool) {
    while parts.failure == nil, !isSo() { runShortly() }
  }

  /// Runs the loop until the next look, or until it is stopped.
  private func runShortly() {
    let timer = loop.schedule(after: Self.look) { [loop] in loop.stop() }
    loop.run()
    loop.remove(timer)
    parts.look()
    if let reason = parts.failure, outcome.failure == nil { outcome.failure = .workerLost(reason) }
  }

  // MARK: Progress

  /// Says once a second what happens; a terminal shows it, and a pipe with -v.
  private func startTicking() {
    let timer = LoopTimer(deadline: loop.now.advanced(by: .seconds(1))) { [unowned self] in
      diagnostics.info(progress)
      ticker?.deadline = loop.now.advanced(by: .seconds(1))
    }
    ticker = timer
    loop.add(timer)
  }

  private var progress: String {
    let state = parts.state
    let sockets = "\(state.connected) of \(settings.load.subscribers) subscribers"
    guard let begin = parts.began else { return sockets }
    let latest = parts.seconds.latest
    let p99 = latest.p99.map { ", p99 \(BenchTable.time($0.inSeconds * 1000))" } ?? ""
    let elapsed = begin.duration(to: loop.now).inSeconds
    return "\(BenchNumber.text(elapsed, places: 0)) s: \(state.sent) events sent, "
      + "\(latest.delivered) deliveries this second\(p99), "
      + "\(state.missing) not there yet, \(sockets)"
  }

  // MARK: The report

  private func report() {
    guard parts.failure == nil else { return }
    let figures = parts.figures()
    outcome.report = BenchReport(
      settings, figures, opened: openedAt, begin: parts.began,
      isInterrupted: outcome.signal != nil)
    outcome.firstFailure = figures.connections.firstFailure
  }
}

/// The end of a run, with its report.
struct BenchOutcome {
  enum Failure: Equatable {
    /// No subscriber was ever subscribed.
    case unconnected
    /// The HTTP API does not accept the app's signature.
    case refused(status: Int, reason: String)
    /// A worker died, for the given reason.
    case workerLost(String)
    /// The run could not be prepared; a message has said why.
    case unable
  }

  var signal: Int32?
  var failure: Failure?
  var firstFailure: ConnectionFigures.Failure?
  /// `nil` if a worker's figures are lost.
  var report: BenchReport?

  var isOver: Bool { signal != nil || failure != nil }
}
