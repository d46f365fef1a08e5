internal import PusherCore

/// One run of `bench`: connects all subscribers, loads the server, and measures.
final class BenchRun {
  private let settings: BenchSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private let message: BenchMessage
  private let ledger: BenchLedger
  private let fleet: BenchFleet
  private var sender: BenchSender?
  private var meter = ProcessMeter()
  private var openedAt: Instant?
  private var ticker: LoopTimer?
  private var signal: Int32?
  /// True if the load cannot be made, so that nothing more is worth a try.
  private var isHopeless = false
  /// Subscribers that must get each event, by channel.
  private var receivers: [Int] = []

  /// Time without a change after which the rest of the subscribers is given up.
  private static let patience = Duration.seconds(60)
  /// Shortest time without a delivery after which the missing events count as lost.
  private static let deliveryPatience = Duration.seconds(2)
  /// Time after the plan in which at least one of the waiting calls must be accepted.
  private static let callPatience = Duration.seconds(15)
  /// Time to sign the first call, so that no call is late.
  private static let preparation = Duration.milliseconds(100)
  /// Time for the closing handshakes.
  private static let closingTime = Duration.seconds(2)
  private static let look = Duration.milliseconds(20)

  /// Waits for the server of `--local`.
  ///
  /// - Parameter run: Name of the run in its events.
  init(_ settings: BenchSettings, run: String, diagnostics: Diagnostics) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    loop = try EventLoop()
    settings.subscription.connection.waitForLocalServer(on: loop, diagnostics)
    message = BenchMessage(
      run: run, size: settings.load.size, readsMembers: settings.mode == .presence)
    ledger = BenchLedger(
      plan: BenchPlan(settings), message: message, subscribers: settings.load.subscribers)
    fleet = BenchFleet(settings, ledger, loop: loop, diagnostics: diagnostics)
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
    open()
    if !isOver { try work() }
    if let ticker { loop.remove(ticker) }
    close()
    let report = BenchReport(
      settings, figures(), opened: openedAt, begin: ledger.begin, isInterrupted: signal != nil)
    return (report, signal)
  }

  private var isOver: Bool { signal != nil || isHopeless }

  /// Opens the sockets, which is measured by itself.
  private func open() {
    let begin = loop.now
    openedAt = begin
    meter.begin(at: begin)
    if !settings.mode.sendsEvents { ledger.origin = begin }
    fleet.open(at: begin)
    wait { self.fleet.settled == self.settings.load.subscribers || self.isStuck }
    meter.end(at: loop.now)
    let connected = fleet.connected
    meter.noteMemory(sockets: connected)
    if connected == 0 { isHopeless = true }
  }

  private func work() throws {
    switch settings.mode {
    case .connect: break
    case .storm:
      let all = fleet.connected
      meter.begin(at: loop.now)
      fleet.cut()
      wait { self.fleet.connected >= all || self.isStuck }
    case .fanout, .client, .presence: try sendAll()
    }
  }

  private func sendAll() throws {
    let sender = try BenchSender.make(settings, message, fleet)
    self.sender = sender
    sender.onRefusal = { [unowned self] in
      isHopeless = true
      loop.stop()
    }
    wait { sender.isReady || self.isStuck }
    guard !isOver else { return }
    let begin = loop.now.advanced(by: Self.preparation)
    meter.begin(at: loop.now)
    countReceivers()
    ledger.begin = begin
    sender.begin(at: begin)
    wait {
      // Also counts the client events that have left.
      let isIdle = sender.isIdle
      return sender.isDone && (isIdle || self.silence > Self.callPatience)
    }
    sender.stop()
    wait {
      self.hasAll
        || self.silence > max(Self.deliveryPatience, self.ledger.figures.delays.largest * 2)
    }
  }

  /// From now on, the subscribers of this moment must get each event.
  private func countReceivers() {
    receivers = [Int](repeating: 0, count: ledger.plan.channels)
    let hasSenders = settings.mode == .client
    for subscriber in fleet.subscribers where subscriber.isSubscribed {
      guard !hasSenders || subscriber.number >= ledger.plan.channels else { continue }
      subscriber.isCounted = true
      receivers[subscriber.channel] += 1
    }
  }

  /// Closes every socket with a close frame, and drops those whose server does not answer in time.
  private func close() {
    fleet.noteEnd()
    meter.end(at: loop.now)
    let end = loop.now.advanced(by: Self.closingTime)
    fleet.close()
    while !fleet.isClosed, loop.now < end { runShortly() }
    // The visitors of the mode `presence` leave then: earlier, subscribers would get the news.
    sender?.close()
    fleet.abort()
  }

  /// Deliveries of the accepted events to all receivers.
  private var deliveries: Int {
    zip(ledger.accepted, receivers).reduce(0) { $0 + $1.0.count * $1.1 }
  }

  /// True if every subscriber has every event.
  private var hasAll: Bool {
    guard ledger.account.delivered >= deliveries else { return false }
    return fleet.counted.allSatisfy { subscriber in
      let wanted = ledger.accepted[subscriber.channel]
      return ledger.account.received(by: subscriber.number, of: wanted) == wanted.count
    }
  }

  /// Time since the last call of the plan, its last answer and its last delivery.
  private var silence: Duration {
    let plan = ledger.plan
    let end = ledger.begin?.advanced(by: plan.time(of: plan.callCount - 1))
    let last = [end, ledger.figures.lastDelivery, ledger.figures.lastAccepted].compactMap(\.self)
      .max()
    return last?.duration(to: loop.now) ?? .zero
  }

  /// True if subscribers are missing, and none came for long.
  private var isStuck: Bool {
    guard !fleet.isOpening, let last = fleet.lastChange ?? openedAt else { return false }
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
    let sockets = "\(fleet.connected) of \(settings.load.subscribers) subscribers"
    guard let begin = ledger.begin else { return sockets }
    let latest = ledger.seconds.latest
    let p99 = latest.p99.map { ", p99 \(BenchTable.time($0.inSeconds * 1000))" } ?? ""
    let elapsed = begin.duration(to: loop.now).inSeconds
    return "\(Quantities.text(elapsed, places: 0)) s: \(ledger.figures.sent) events sent, "
      + "\(latest.delivered) deliveries this second\(p99), "
      + "\(max(deliveries - ledger.account.delivered, 0)) not there yet, \(sockets)"
  }

  // MARK: Figures

  /// Returns the figures, and counts the losses; called once, at the end.
  private func figures() -> RunFigures {
    var figures = RunFigures()
    if ledger.begin != nil { figures.events = eventFigures() }
    (figures.connections, figures.cost, figures.errors) = (fleet.figures, meter, fleet.errors)
    figures.errors.add(ledger.figures.errors)
    ledger.seconds.finish()
    figures.rows = ledger.seconds.rows
    if ledger.begin != nil { figures.closedVisitors = sender?.closedVisitors ?? [] }
    return figures
  }

  private func eventFigures() -> EventFigures {
    let account = ledger.account
    var figures = ledger.figures
    figures.receivers = receivers.reduce(0, +)
    (figures.delivered, figures.doubled) = (account.delivered, account.doubled)
    figures.outOfOrder = account.outOfOrder
    for subscriber in fleet.counted {
      let accepted = ledger.accepted[subscriber.channel]
      let missing = account.missing(by: subscriber.number, of: accepted) { number in
        guard let call = ledger.plan.call(of: number, on: subscriber.channel) else { return }
        ledger.seconds.count(\.lost, at: ledger.plan.time(of: call))
      }
      figures.expected += accepted.count
      figures.lost += missing
      if missing > 0 { figures.losingSubscribers += 1 }
      figures.mostLost = max(figures.mostLost, missing)
    }
    return figures
  }
}
