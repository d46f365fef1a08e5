internal import PusherCore

/// The steps of a run, in order: its subscribers, its calls and their figures.
final class BenchSteps {
  private let settings: BenchSettings
  private let loop: EventLoop
  private let message: BenchMessage
  let ledger: DeliveryLedger
  private let sends: SendLedger
  private let crew: BenchCrew
  private let fleet: BenchFleet
  private(set) var traffic: BenchTraffic?
  private var meter = ProcessMeter()
  /// Subscribers that must get each event, by channel.
  private var receivers: [Int] = []
  /// True once nothing more is sent, so that losses can be told from events under way.
  private var isAllSent = false
  private var closingEnd: Instant?

  /// Time for the closing handshakes.
  private static let closingTime = Duration.seconds(2)

  /// - Parameter run: Name of the run in its events.
  init(
    _ settings: BenchSettings, run: String, loop: EventLoop, diagnostics: Diagnostics
  ) {
    (self.settings, self.loop) = (settings, loop)
    message = BenchMessage(
      run: run, size: settings.load.size, readsMembers: settings.mode == .presence)
    ledger = DeliveryLedger(
      plan: BenchPlan(settings), message: message, subscribers: settings.load.subscribers)
    sends = SendLedger(ledger)
    crew = BenchCrew(settings, ledger, loop: loop, diagnostics: diagnostics)
    fleet = BenchFleet(
      settings.load.subscribers, crew: crew, connectionsPerSecond: settings.load.connectionRate)
    fleet.onSettled = { [loop] in loop.stop() }
  }

  // MARK: Steps

  /// Opens the sockets; the first one is due at `begin`.
  func open(at begin: Instant) {
    meter.begin(at: loop.now)
    if !settings.mode.sendsEvents { ledger.origin = begin }
    fleet.open(at: begin)
  }

  /// Ends the opening, which is measured by itself.
  func settle() {
    meter.end(at: loop.now)
    meter.noteMemory(sockets: fleet.connected)
  }

  /// Cuts all connections at once.
  func cut() {
    meter.begin(at: loop.now)
    fleet.cut()
  }

  /// Prepares the sending.
  func prepare() throws {
    traffic = try BenchTraffic(settings, fleet, message, sends, crew)
  }

  /// Starts the plan: from now on, the subscribers of this moment must get each event.
  func begin(at begin: Instant) {
    meter.begin(at: loop.now)
    countReceivers()
    ledger.begin = begin
    traffic?.begin(at: begin)
  }

  private func countReceivers() {
    receivers = [Int](repeating: 0, count: ledger.plan.channels)
    let hasSenders = settings.mode == .client
    for subscriber in fleet.subscribers where subscriber.isSubscribed {
      guard !hasSenders || subscriber.number >= ledger.plan.channels else { continue }
      subscriber.isCounted = true
      receivers[subscriber.channel] += 1
    }
  }

  /// Sends no more; calls without an answer count as failed.
  func stop() {
    traffic?.stop()
    isAllSent = true
  }

  /// Ends the measured part, and closes every socket with a close frame.
  func finish() {
    fleet.noteEnd()
    meter.end(at: loop.now)
    closingEnd = loop.now.advanced(by: Self.closingTime)
    fleet.close()
  }

  /// True if every socket is closed, or its server does not answer in time.
  var isClosed: Bool {
    guard let closingEnd else { return false }
    return fleet.isClosed || loop.now >= closingEnd
  }

  /// Drops the sockets that are still open, and those of the sender.
  ///
  /// The visitors of the mode `presence` leave then: earlier, subscribers would get the news.
  func abort() {
    traffic?.close()
    fleet.abort()
  }

  // MARK: State and figures

  var state: BenchState {
    var state = BenchState()
    state.connected = fleet.connected
    state.settled = fleet.settled
    state.sent = sends.sent
    state.expected = deliveries
    state.delivered = ledger.account.delivered
    state.isDone = traffic?.isDone ?? true
    state.isIdle = traffic?.isIdle ?? true
    state.hasAll = hasAll
    state.lastChange = fleet.lastChange ?? fleet.times.begin
    state.lastDelivery = ledger.lastDelivery
    state.lastAccepted = sends.lastAccepted
    state.longestDelay = ledger.delays.largest
    return state
  }

  private var hasAll: Bool {
    guard isAllSent, ledger.account.delivered >= deliveries else { return false }
    return fleet.counted.allSatisfy { subscriber in
      let wanted = sends.accepted[subscriber.channel]
      return ledger.account.received(by: subscriber.number, of: wanted) == wanted.count
    }
  }

  /// Deliveries of the accepted events to all receivers.
  private var deliveries: Int {
    zip(sends.accepted, receivers).reduce(0) { $0 + $1.0.count * $1.1 }
  }

  /// Returns the figures, and counts the losses; called once, at the end.
  func figures() -> RunFigures {
    var figures = RunFigures()
    if ledger.begin != nil { figures.events = eventFigures() }
    figures.connections = fleet.figures
    figures.cost = meter.figures
    figures.errors = fleet.errors
    figures.errors.add(sends.errors)
    ledger.seconds.finish()
    figures.rows = ledger.seconds.rows
    return figures
  }

  private func eventFigures() -> EventFigures {
    let account = ledger.account
    return EventFigures(
      sent: sends.sent, failed: sends.failed, receivers: receivers.reduce(0, +),
      losses: BenchLosses(fleet, sends.accepted, ledger), delivered: account.delivered,
      doubled: account.doubled, outOfOrder: account.outOfOrder, wrong: ledger.wrong,
      lastAccepted: sends.lastAccepted, lastDelivery: ledger.lastDelivery, delays: ledger.delays,
      late: sends.late, errors: sends.errors, closedVisitors: traffic?.closedVisitors ?? [])
  }
}
