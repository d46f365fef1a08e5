internal import PusherCore

/// One run of `bench`: connects all subscribers, loads the server, and measures.
final class BenchRun {
  private let settings: BenchSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let message: BenchMessage
  private let ledger: DeliveryLedger
  private let sends: SendLedger
  private let crew: BenchCrew
  private let fleet: BenchFleet
  private var traffic: BenchTraffic?
  private var ticker: LoopTimer?
  private var meter = ProcessMeter()
  private var outcome = BenchOutcome()

  /// Time without a change after which the rest of the subscribers is given up.
  private static let patience = Duration.seconds(60)
  /// Time for the closing handshakes.
  private static let closingTime = Duration.seconds(2)
  private static let look = Duration.milliseconds(20)

  init(_ settings: BenchSettings, diagnostics: Diagnostics) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    loop = try EventLoop()
    message = BenchMessage(
      run: Hex.encode(SecureRandom.bytes(4)), size: settings.load.size,
      readsMembers: settings.mode == .presence)
    ledger = DeliveryLedger(
      plan: BenchPlan(settings), message: message, subscribers: settings.load.subscribers)
    sends = SendLedger(ledger)
    crew = BenchCrew(settings, ledger, loop: loop, diagnostics: diagnostics)
    fleet = BenchFleet(
      settings.load.subscribers, crew: crew, connectionsPerSecond: settings.load.connectionRate)
  }

  /// Runs until the end, and returns the report.
  func run() -> BenchOutcome {
    Signals.watch(loop) { [unowned self] in
      diagnostics.answer(progress)
    } onSignal: { [unowned self] number in
      outcome.signal = number
      loop.stop()
    }
    LocalServerWait.run(settings.subscription.connection, atMost: nil, on: loop, diagnostics)
    startTicking()
    var isSettled = false
    fleet.onSettled = { [loop] in
      isSettled = true
      loop.stop()
    }
    meter.begin(at: loop.now)
    if !settings.mode.sendsEvents { ledger.origin = loop.now }
    fleet.open()
    wait { isSettled || self.isStuck }
    meter.end(at: loop.now)
    meter.noteMemory(sockets: fleet.connected)
    if !outcome.isOver, fleet.connected == 0 { outcome.failure = .unconnected }
    if !outcome.isOver { work() }
    if let ticker { loop.remove(ticker) }
    fleet.noteEnd()
    close()
    return finished()
  }

  private func work() {
    switch settings.mode {
    case .connect: break
    case .storm:
      meter.begin(at: loop.now)
      let all = fleet.connected
      fleet.cut()
      wait { self.fleet.connected >= all || self.isStuck }
      meter.end(at: loop.now)
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
    let traffic = try BenchTraffic(settings, fleet, message, sends, crew)
    self.traffic = traffic
    traffic.onRefusal = { [unowned self] status, reason in
      outcome.failure = .refused(status: status, reason: reason)
      loop.stop()
    }
    wait { traffic.isReady || self.isStuck }
    guard !outcome.isOver else { return }
    meter.begin(at: loop.now)
    traffic.begin(at: loop.now)
    wait { traffic.isComplete(at: self.loop.now) }
    meter.end(at: loop.now)
  }

  /// True if subscribers are missing, and none came for long.
  private var isStuck: Bool {
    guard let last = fleet.lastChange ?? fleet.times.begin else { return false }
    return last.duration(to: loop.now) > Self.patience
  }

  /// Runs the loop until the condition holds, or the run is over.
  private func wait(until isSo: () -> Bool) {
    while !outcome.isOver, !isSo() { runShortly() }
  }

  /// Runs the loop until the next look, or until it is stopped.
  private func runShortly() {
    let timer = loop.schedule(after: Self.look) { [loop] in loop.stop() }
    loop.run()
    loop.remove(timer)
  }

  /// Closes every socket with a close frame, and drops those that do not answer in time.
  private func close() {
    traffic?.stop()
    fleet.close()
    let end = loop.now.advanced(by: Self.closingTime)
    while !fleet.isClosed, loop.now < end { runShortly() }
    fleet.abort()
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
    let sockets = "\(fleet.connected) of \(fleet.subscribers.count) subscribers"
    guard let traffic, ledger.begin != nil, let row = ledger.seconds.rows.last else {
      return sockets
    }
    let p99 = ledger.seconds.p99.map { ", p99 \(BenchTable.time($0.inSeconds * 1000))" } ?? ""
    let elapsed = ledger.elapsed(at: loop.now).inSeconds
    return "\(BenchNumber.text(elapsed, places: 0)) s: \(sends.sent) events sent, "
      + "\(row.delivered) deliveries this second\(p99), "
      + "\(traffic.missing) not there yet, \(sockets)"
  }

  // MARK: The report

  private func finished() -> BenchOutcome {
    outcome.report = BenchReport(
      settings, fleet, sends, ledger, meter, isInterrupted: outcome.signal != nil)
    outcome.firstFailure = fleet.firstFailure
    return outcome
  }
}

/// The end of a run, with its report.
struct BenchOutcome {
  enum Failure: Equatable {
    /// No subscriber was ever subscribed.
    case unconnected
    /// The HTTP API does not accept the app's signature.
    case refused(status: Int, reason: String)
    /// The run could not be prepared; a message has said why.
    case unable
  }

  var signal: Int32?
  var failure: Failure?
  var firstFailure: (cause: Cause, reason: String)?
  var report: BenchReport?

  var isOver: Bool { signal != nil || failure != nil }
}
