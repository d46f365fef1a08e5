internal import PusherCore

/// The part of a run that one process has: its subscribers, its calls and their figures.
///
/// The functions are the steps of a run, in order. The process that the user started calls them for
/// itself, and orders its workers to do the same.
final class BenchPart {
  private let settings: BenchSettings
  private let share: BenchShare
  private let loop: EventLoop
  private let message: BenchMessage
  let ledger: DeliveryLedger
  private let sends: SendLedger
  private let crew: BenchCrew
  private let fleet: BenchFleet
  private(set) var traffic: BenchTraffic?
  private var meter = ProcessMeter()
  /// Subscribers that must get each event, by channel: of all processes, and of this one.
  private var receivers: [Int] = []
  private var ownReceivers: [Int] = []
  /// The accepted events of all processes, by channel; `nil` until all is sent.
  private var accepted: [EventSet]?
  private var closingEnd: Instant?

  /// Time for the closing handshakes.
  private static let closingTime = Duration.seconds(2)

  /// - Parameter run: Name of the run in its events.
  init(
    _ settings: BenchSettings, _ share: BenchShare, run: String, loop: EventLoop,
    diagnostics: Diagnostics
  ) {
    (self.settings, self.share, self.loop) = (settings, share, loop)
    message = BenchMessage(
      run: run, size: settings.load.size, readsMembers: settings.mode == .presence)
    let numbers = share.subscribers(of: settings.load.subscribers)
    ledger = DeliveryLedger(
      plan: BenchPlan(settings), message: message, subscribers: numbers.count)
    sends = SendLedger(ledger)
    crew = BenchCrew(settings, ledger, loop: loop, diagnostics: diagnostics)
    fleet = BenchFleet(
      numbers, crew: crew, connectionsPerSecond: settings.load.connectionRate)
  }

  /// Called after the last subscriber's first attempt has an outcome.
  var onSettled: (() -> Void)? {
    get { fleet.onSettled }
    set { fleet.onSettled = newValue }
  }

  // MARK: Steps

  /// Opens the sockets; the run's first one is due at `begin`.
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

  /// Prepares the sending, in a process that sends.
  func prepare() throws {
    guard share.sends(settings.mode, channels: settings.load.channels) else { return }
    traffic = try BenchTraffic(settings, share, fleet, message, sends, crew)
  }

  /// Returns the number of subscribers that must get each event from now on, by channel.
  func count() -> [Int] {
    ownReceivers = [Int](repeating: 0, count: ledger.plan.channels)
    let hasSenders = settings.mode == .client
    for subscriber in fleet.subscribers where subscriber.isSubscribed {
      guard !hasSenders || subscriber.number >= ledger.plan.channels else { continue }
      subscriber.isCounted = true
      ownReceivers[subscriber.channel] += 1
    }
    return ownReceivers
  }

  /// Starts the plan.
  ///
  /// - Parameter receivers: The sum of the numbers that all processes counted.
  func begin(at begin: Instant, receivers: [Int]) {
    meter.begin(at: loop.now)
    self.receivers = receivers
    ledger.begin = begin
    traffic?.begin(at: begin)
  }

  /// Sends no more, and returns the accepted events by channel; nothing if it never sends.
  func stop() -> [EventSet] {
    traffic?.stop()
    return traffic == nil ? [] : sends.accepted
  }

  /// Takes the accepted events of all processes, so that losses can be told from events that nobody
  /// sent.
  func judge(_ accepted: [EventSet]) {
    if accepted.count == ledger.plan.channels { self.accepted = accepted }
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

  var state: PartState {
    var state = PartState()
    state.connected = fleet.connected
    state.settled = fleet.settled
    state.sent = sends.sent
    state.expected = Self.deliveries(of: sends.accepted, to: receivers)
    state.delivered = ledger.account.delivered
    state.isDone = traffic?.isDone ?? true
    state.isIdle = traffic?.isIdle ?? true
    state.hasAll = hasAll
    state.second = ledger.seconds.rows.count - 1
    state.lastChange = (fleet.lastChange ?? fleet.times.begin)?.nanoseconds
    state.lastDelivery = ledger.lastDelivery?.nanoseconds
    state.lastAccepted = sends.lastAccepted?.nanoseconds
    state.longest = ledger.delays.largest.wholeNanoseconds
    return state
  }

  private var hasAll: Bool {
    guard let accepted,
      ledger.account.delivered >= Self.deliveries(of: accepted, to: ownReceivers)
    else { return false }
    return fleet.counted.allSatisfy { subscriber in
      let wanted = accepted[subscriber.channel]
      return ledger.account.received(by: subscriber.place, of: wanted) == wanted.count
    }
  }

  private static func deliveries(of events: [EventSet], to receivers: [Int]) -> Int {
    zip(events, receivers).reduce(0) { $0 + $1.0.count * $1.1 }
  }

  /// Ends the seconds that have passed, so that their delays are reported.
  func endSeconds() {
    if ledger.origin != nil { ledger.seconds.advance(to: ledger.elapsed(at: loop.now)) }
  }

  /// Returns the figures, and counts the losses; called once, at the end.
  func figures() -> PartFigures {
    var figures = PartFigures()
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
    let losses = BenchLosses(fleet, accepted ?? sends.accepted, ledger)
    let account = ledger.account
    return EventFigures(
      sent: sends.sent, failed: sends.failed, losses: losses, delivered: account.delivered,
      doubled: account.doubled, outOfOrder: account.outOfOrder, wrong: ledger.wrong,
      lastAccepted: sends.lastAccepted?.nanoseconds,
      lastDelivery: ledger.lastDelivery?.nanoseconds, delays: ledger.delays, late: sends.late)
  }
}
