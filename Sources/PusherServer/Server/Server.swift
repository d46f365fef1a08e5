package import PusherCore

/// One node of a Pusher: sockets at `/app/KEY` and the HTTP API at `/apps/ID`, at one port.
///
/// It lives on its loop's thread: asked and stopped there.
package final class Server {
  package let options: ServerOptions
  let loop: EventLoop
  let reception: Reception
  package let context: SessionContext
  let applications: Applications
  package private(set) var isStopping = false
  /// What it has in common with the other nodes of this process.
  let share: ServerShare
  /// Which of them it is; the first sends the webhooks.
  let index: Int
  /// Whether webhooks of others may still come, so that their end must be awaited.
  private var awaitsOthers: Bool
  /// What connects it with nodes of other processes.
  let link: (any NodeLink)?
  var access: AccessGate
  /// Whether it has taken leave of them, and whether that is done.
  private var resignation: (hasBegun: Bool, isDone: Bool) = (false, false)
  /// Whether it is known for all nodes of this process whether others can be reached, and who waits to know.
  private var isSettled: Bool
  private var onSettled: (() -> Void)?
  private var hasToldFullQueues = false
  private let log: (ServerLogEvent) -> Void
  private var whenStopped: (() -> Void)?
  /// Ends the wait for clients, then for the receivers of webhooks, when the server stops.
  private var stopTimer: LoopTimer?
  private var isFinishingWebhooks = false
  /// The page that shows what happens; `nil` for none.
  private(set) lazy var console = options.console.map { Console($0, host: self) }
  /// Sends the webhooks; on the first node alone, or on each where nodes of other processes are.
  private(set) lazy var webhooks = WebhookDesk(
    loop: loop, policy: link == nil ? options.webhooks : options.webhooks.withoutDelay,
    report: { [weak self] in self?.report($0) },
    onIdle: { [weak self] in self?.checkStopped() })

  /// The only node; it listens from now on, and connections are served while the loop runs.
  ///
  /// `random` draws the socket ids. `log` is told what happens. Throws when the address cannot be had, and
  /// ``TransportError/tls(_:)`` for a certificate or key that cannot be used.
  package convenience init(
    options: ServerOptions, random: any RandomNumberGenerator, loop: EventLoop,
    log: @escaping (ServerLogEvent) -> Void = { _ in }
  ) throws(TransportError) {
    try self.init(
      share: ServerShare(options, nodes: 1), port: options.port, reusesPort: options.reusesPort,
      random: random, loop: loop, log: log)
  }

  /// One of several nodes at the same port.
  init(
    share: ServerShare, index: Int = 0, port: UInt16, reusesPort: Bool = false,
    random: any RandomNumberGenerator, loop: EventLoop, log: @escaping (ServerLogEvent) -> Void
  ) throws(TransportError) {
    let options = share.options
    (self.options, self.share, self.index) = (options, share, index)
    access = AccessGate(options.access)
    self.loop = loop
    self.log = log
    awaitsOthers = index == 0 && share.group.count > 1
    link = share.link(loop: loop, log: log)
    isSettled = link == nil
    applications = Applications(
      limits: options.limits, pathPrefix: options.pathPrefix, dialect: options.dialect,
      text: MessageText(service: options.service, dialect: options.dialect), random: random)
    context = SessionContext(
      dialect: options.dialect, faults: share.faults,
      outputLimit: options.limits.allOutput / share.group.count)
    reception = try Reception(
      loop: loop, host: options.host, port: port, reusesPort: reusesPort,
      handed: index == 0 ? options.handedSocket : options.handedSocket?.copy(),
      tls: share.certificate, sockets: options.limits.connections, limits: options.limits)
    if link != nil {
      let group = share.group
      applications.countOthers = { group.connections(besides: index, own: $0) }
    }
    let apps = share.apps.withLock { $0 }
    applications.renew(apps.setups) { place(for: $0, in: apps) }
    do throws(TLSError) {
      if sendsWebhooks { try webhooks.renew(applications.hubs) }
    } catch {
      throw .tls(error)
    }
    reception.owner = self
    share.group.begin(index, loop.wakeUp)
    share.add(self)
    if let link {
      applications.whenSettled = { done in link.whenSettled { done(loop.now) } }
      link.whenSettled { share.noteSettled() }
    }
    context.ledger.relieve = { [weak self] in self?.relieve() }
    applications.nextTurn = { [weak self] in self?.onNextTurn($0) }
    applications.flushPortions { [weak self] in self?.flushTouched() }
    loop.beforeWait { [weak self] in self?.deliver() }
  }

  /// Has new connections get the certificate that ``ServerShare/renewCertificate()`` has read.
  func takeCertificate() {
    reception.tls = share.certificate
  }

  /// Where it listens, with the port that the system picked.
  package var address: SocketAddress { reception.address }

  package var port: UInt16 { address.port }

  /// How many sockets are connected.
  package var connectionCount: Int { applications.connectionCount }

  /// How many sockets and occupied channels each app has.
  package var occupancy: [(app: String, connections: Int, channels: Int)] {
    applications.hubs.map { ($0.application.id, $0.connectionCount, $0.channelCount) }
  }

  /// Why events cannot come from everywhere; `nil` while they can.
  package var ailment: String? {
    isStopping ? "ending" : link?.failure.map { "redis: \($0)" }
  }

  /// Bytes that wait for all clients together, on all nodes.
  package var queuedBytes: Int {
    share.group.count == 1 ? context.ledger.total : share.group.queuedBytes
  }

  // MARK: The beginning

  /// Calls `done` once events can come from everywhere, or it is known why they cannot.
  ///
  /// Where there are no nodes of other processes that is now. A server that is stopped before calls it never.
  package func whenSettled(_ done: @escaping () -> Void) {
    if isSettled { done() } else { onSettled = done }
  }

  /// All nodes of this process know whether those of others can be reached.
  func othersHaveSettled() {
    isSettled = true
    let done = onSettled
    onSettled = nil
    if !isStopping { done?() }
  }

  // MARK: The end

  /// Accepts nothing more, closes all sockets with 4200 and sends the webhooks that wait; `whenDone` is called then.
  ///
  /// Clients have `patience` to answer the close frame, webhooks have ``WebhookPolicy/grace``.
  ///
  /// - Parameter drain: Over how long the sockets are closed, evenly, so that clients do not come back all at once.
  package func stop(
    patience: Duration = .seconds(5), over drain: Duration = .zero,
    whenDone: @escaping () -> Void = {}
  ) {
    guard !isStopping else { return }
    isStopping = true
    whenStopped = whenDone
    let now = loop.now
    reception.close(at: now)
    let wave = ClosingWave(
      reception.connections.filter { $0.socket != nil }, from: now, over: drain)
    closeNext(of: wave, patience: patience)
    checkStopped()
  }

  /// Closes the sockets whose turn has come.
  private func closeNext(of wave: ClosingWave, patience: Duration) {
    let now = loop.now
    for connection in wave.due(at: now) { connection.stop(at: now) }
    deliver()
    guard let next = wave.next else {
      return setStopTimer(now.advanced(by: patience)) { [weak self] in self?.cutConnections() }
    }
    setStopTimer(next) { [weak self] in self?.closeNext(of: wave, patience: patience) }
  }

  private func setStopTimer(_ deadline: Instant, _ action: @escaping () -> Void) {
    stopTimer.map(loop.remove)
    let timer = LoopTimer(deadline: deadline, action: action)
    stopTimer = timer
    loop.add(timer)
  }

  private func cutConnections() {
    let now = loop.now
    for connection in reception.connections { connection.cut(at: now) }
  }

  /// The other nodes have ended.
  func othersHaveEnded() {
    awaitsOthers = false
    checkStopped()
  }

  func checkStopped() {
    guard isStopping, reception.isEmpty, !awaitsOthers, whenStopped != nil, hasResigned() else {
      return
    }
    if !isFinishingWebhooks {
      isFinishingWebhooks = true
      takeNotices(at: loop.now)
      setStopTimer(loop.now.advanced(by: options.webhooks.grace)) { [weak self] in self?.end() }
      webhooks.finish()
    }
    if webhooks.isIdle { end() }
  }

  /// Whether the nodes of other processes know of the end, or there are none; else begins to tell them.
  private func hasResigned() -> Bool {
    guard let link, !resignation.isDone else { return true }
    guard !resignation.hasBegun else { return false }
    resignation.hasBegun = true
    setStopTimer(loop.now.advanced(by: options.webhooks.grace)) { [weak self] in self?.end() }
    link.resign { [weak self] in
      self?.resignation.isDone = true
      self?.checkStopped()
    }
    return resignation.isDone
  }

  private func end() {
    guard let whenStopped else { return }
    self.whenStopped = nil
    stopTimer.map(loop.remove)
    reception.end()
    webhooks.close()
    takeLog()
    link?.close()
    share.group.end(index)
    whenStopped()
  }

  // MARK: Output

  /// Logs something, after the earlier notes of the hubs.
  func report(_ event: ServerLogEvent) {
    takeLog()
    noteForConsole(event, app: nil)
    log(event)
  }

  private func tell(_ events: [ServerLogEvent], of hub: Hub) {
    for event in events {
      noteForConsole(event, app: hub.application.id)
      log(event)
    }
  }

  private func takeLog() {
    for hub in applications.hubs { tell(hub.takeLog(), of: hub) }
    for hub in applications.leaving { tell(hub.takeLog(), of: hub) }
    if index == 0 { share.group.takeLog().forEach(log) }
  }

  /// Tells the first time that clients were dropped since all queues together were full.
  func noteFullQueues(dropped: Int) {
    guard !hasToldFullQueues else { return }
    hasToldFullQueues = true
    report(.queuesFull(limit: options.limits.allOutput, dropped: dropped))
  }

  /// Sends the output of the last round, and what other nodes have brought.
  private func deliver() {
    defer { console?.flush(at: loop.now) }
    handOn()
    while share.group.isFull(besides: index) {
      loop.pause()
      handOn()
    }
    guard share.group.count > 1 else { return }
    share.group.note(queuedBytes: context.ledger.total, of: index)
    // So that the others know how many sockets are here.
    if link != nil { _ = applications.connectionCount }
  }

  /// Hands on what waits; an ended client may cause messages to others, so it repeats until nothing is left.
  private func handOn() {
    let now = loop.now
    while true {
      applications.deliverWaiting(at: now)
      let hasSent = flushTouched()
      takeLog()
      if !hasSent { break }
    }
    takeNotices(at: now)
  }

  /// Lets the sockets that were handed something take it; answers whether there were any.
  @discardableResult
  private func flushTouched() -> Bool {
    let now = loop.now
    let touched = context.ledger.takeTouched()
    for session in touched { session.carrier?.flush(at: now) }
    return !touched.isEmpty
  }

  private func takeNotices(at now: Instant) {
    if sendsWebhooks {
      webhooks.takeNotices(at: now, noteForConsole)
      if share.feed.isOpen { takeUnsentNotices() }
    }
    // What the last sockets have caused is told first.
    if !applications.leaving.isEmpty { forgetDeserted() }
  }
}
