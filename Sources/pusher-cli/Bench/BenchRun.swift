internal import PusherCore

/// One run of `bench`: connects all subscribers, loads the server, and measures.
final class BenchRun {
  private let settings: BenchSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let steps: BenchSteps
  private var openedAt: Instant?
  private var ticker: LoopTimer?
  private var signal: Int32?
  /// True if the load cannot be made, so that nothing more is worth a try.
  private var isHopeless = false

  /// Time without a change after which the rest of the subscribers is given up.
  private static let patience = Duration.seconds(60)
  /// Shortest time without a delivery after which the missing events count as lost.
  private static let deliveryPatience = Duration.seconds(2)
  /// Time after the plan in which at least one of the waiting calls must be accepted.
  private static let callPatience = Duration.seconds(15)
  /// Time to sign the first call, so that no call is late.
  private static let preparation = Duration.milliseconds(100)
  private static let look = Duration.milliseconds(20)

  /// Waits for the server of `--local`.
  ///
  /// - Parameter run: Name of the run in its events.
  init(_ settings: BenchSettings, run: String, diagnostics: Diagnostics) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    loop = try EventLoop()
    LocalServerWait.run(settings.subscription.connection, on: loop, diagnostics)
    steps = BenchSteps(settings, run: run, loop: loop, diagnostics: diagnostics)
  }

  /// Runs until the end, and returns the report.
  func run() throws -> (report: BenchReport, signal: Int32?) {
    Signals.watch(loop) { [unowned self] in
      diagnostics.answer(progress)
    } onSignal: { [unowned self] number in
      signal = number
      loop.stop()
    }
    startTicking()
    let begin = loop.now
    openedAt = begin
    steps.open(at: begin)
    wait { self.steps.state.settled == self.settings.load.subscribers || self.isStuck }
    steps.settle()
    if steps.state.connected == 0 { isHopeless = true }
    if !isOver { try work() }
    if let ticker { loop.remove(ticker) }
    steps.finish()
    while !steps.isClosed { runShortly() }
    steps.abort()
    let report = BenchReport(
      settings, steps.figures(), opened: openedAt, begin: steps.ledger.begin,
      isInterrupted: signal != nil)
    return (report, signal)
  }

  private var isOver: Bool { signal != nil || isHopeless }

  private func work() throws {
    switch settings.mode {
    case .connect: break
    case .storm:
      let all = steps.state.connected
      steps.cut()
      wait { self.steps.state.connected >= all || self.isStuck }
    case .fanout, .client, .presence: try sendAll()
    }
  }

  private func sendAll() throws {
    try steps.prepare()
    steps.traffic?.onRefusal = { [unowned self] in
      isHopeless = true
      loop.stop()
    }
    wait { self.steps.traffic?.isReady ?? true || self.isStuck }
    guard !isOver else { return }
    steps.begin(at: loop.now.advanced(by: Self.preparation))
    wait { self.isSent }
    steps.stop()
    wait { self.isComplete }
  }

  /// True if every call was sent and answered, or no answer has come for long.
  private var isSent: Bool {
    let state = steps.state
    return state.isDone && (state.isIdle || silence(state) > Self.callPatience)
  }

  /// True if every event came, or nothing has come for long.
  private var isComplete: Bool {
    let state = steps.state
    return state.hasAll || silence(state) > max(Self.deliveryPatience, state.longestDelay * 2)
  }

  /// Time since the last call of the plan, its last answer and its last delivery.
  private func silence(_ state: BenchState) -> Duration {
    let plan = steps.ledger.plan
    let end = steps.ledger.begin?.advanced(by: plan.time(of: plan.callCount - 1))
    let last = [end, state.lastDelivery, state.lastAccepted].compactMap(\.self).max()
    return last?.duration(to: loop.now) ?? .zero
  }

  /// True if subscribers are missing, and none came for long.
  private var isStuck: Bool {
    guard let last = steps.state.lastChange else { return false }
    return last.duration(to: loop.now) > Self.patience
  }

  /// Runs the loop until the condition holds, or the run is over.
  private func wait(until isSo: () -> Bool) {
    while !isOver, !isSo() { runShortly() }
  }

  /// Runs the loop until the next look, or until it is stopped.
  private func runShortly() {
    let timer = loop.schedule(after: Self.look) { [loop] in loop.stop() }
    loop.run()
    loop.remove(timer)
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
    let state = steps.state
    let sockets = "\(state.connected) of \(settings.load.subscribers) subscribers"
    guard let begin = steps.ledger.begin else { return sockets }
    let latest = steps.ledger.seconds.latest
    let p99 = latest.p99.map { ", p99 \(BenchTable.time($0.inSeconds * 1000))" } ?? ""
    let elapsed = begin.duration(to: loop.now).inSeconds
    return "\(BenchNumber.text(elapsed, places: 0)) s: \(state.sent) events sent, "
      + "\(latest.delivered) deliveries this second\(p99), "
      + "\(state.missing) not there yet, \(sockets)"
  }
}

/// The progress of a run.
struct BenchState: Equatable {
  var connected = 0
  /// Subscribers whose first attempt has an outcome.
  var settled = 0
  var sent = 0
  /// Deliveries of the sent events to all subscribers.
  var expected = 0
  var delivered = 0
  /// True if every call of the plan was handed to the network.
  var isDone = false
  /// True if no call waits for an answer.
  var isIdle = false
  /// True if all is sent, and every subscriber has every event.
  var hasAll = false
  /// Time of the last outcome of an attempt.
  var lastChange: Instant?
  var lastDelivery: Instant?
  var lastAccepted: Instant?
  var longestDelay = Duration.zero

  /// Deliveries that are under way or lost.
  var missing: Int { max(expected - delivered, 0) }
}
