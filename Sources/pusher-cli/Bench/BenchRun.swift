internal import PusherCore
internal import PusherPlatform

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
    ticker = loop.schedule(after: .seconds(1)) { [unowned self] in
      diagnostics.info(progress)
      ticker?.deadline = loop.now.advanced(by: .seconds(1))
    }
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

/// CPU time and memory of the program itself, which show whether it was the limit.
struct ProcessMeter {
  private var cpuAtBegin = Duration.zero
  private var beganAt: Instant?
  private var wall = Duration.zero
  private var cpu = Duration.zero
  private let memoryAtStart = ProcessMetrics.privateBytes
  private var memory = 0
  private var sockets = 0

  /// Above this share of a core, the figures say what the program can do, not the server.
  static let busyShare = 90.0

  /// Begins the measured part of a run; an earlier part no longer counts.
  mutating func begin(at now: Instant) {
    (beganAt, cpuAtBegin) = (now, ProcessMetrics.cpuTime)
    (wall, cpu) = (.zero, .zero)
  }

  mutating func end(at now: Instant) {
    guard let beganAt else { return }
    wall = beganAt.duration(to: now)
    cpu = ProcessMetrics.cpuTime - cpuAtBegin
  }

  mutating func noteMemory(sockets: Int) {
    guard let before = memoryAtStart, let now = ProcessMetrics.privateBytes else { return }
    (memory, self.sockets) = (max(now - before, 0), sockets)
  }

  var figures: CostFigures {
    let share = wall > .zero ? cpu.inSeconds / wall.inSeconds * 100 : nil
    return CostFigures(share: share, memory: memory, sockets: sockets)
  }
}

/// Asks before another machine is loaded: services bill messages, and limit them.
enum BenchConsent {
  /// Returns `nil` to go on, or the status to end with.
  static func missing(_ settings: BenchSettings, _ diagnostics: Diagnostics) -> ExitStatus? {
    let host = settings.subscription.connection.host
    let hosts = [host, settings.api?.connection.host]
    let isLocal = hosts.compactMap(\.self).allSatisfy(Loopback.contains)
    if settings.isConfirmed || isLocal { return nil }
    guard StandardDescriptors.isTerminal(0), StandardDescriptors.isTerminal(2) else {
      diagnostics.usage(
        UsageError(
          "bench would put load on \(host): \(words(settings)); give --yes if that is meant"))
      return .usage
    }
    diagnostics.answer("load \(host)? \(words(settings)) [y/N]")
    guard isYes(answer()) else {
      diagnostics.answer("nothing was sent")
      return .usage
    }
    return nil
  }

  /// Returns the load in words, with the number of messages.
  static func words(_ settings: BenchSettings) -> String {
    let load = settings.load
    let sockets = "\(BenchNumber.grouped(load.subscribers)) connections"
    guard settings.mode.sendsEvents else {
      return settings.mode == .storm ? "\(sockets), each made twice" : sockets
    }
    let plan = BenchPlan(settings)
    let events = plan.eventCount
    let receivers = load.subscribers / load.channels - (settings.mode == .client ? 1 : 0)
    let (deliveries, isHuge) = events.multipliedReportingOverflow(by: max(receivers, 1))
    let count = isHuge ? "more than 10^18" : BenchNumber.grouped(deliveries)
    return "\(sockets), \(BenchNumber.grouped(events)) events in \(load.time.inWords), "
      + "about \(count) messages to subscribers"
  }

  static func isYes(_ answer: String) -> Bool {
    ["y", "yes"].contains(answer.lowercased())
  }

  /// Reads one line of the terminal.
  private static func answer() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < 64, unsafe read(0, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension BenchPlan {
  init(_ settings: BenchSettings) {
    self.init(settings.load, batch: settings.mode == .fanout ? nil : 1)
  }
}
