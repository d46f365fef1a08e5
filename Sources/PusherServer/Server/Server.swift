package import PusherCore

/// A Pusher: sockets at `/app/KEY` and the HTTP API at `/apps/ID`, at one port.
///
/// It lives on its loop's thread: asked and stopped there.
package final class Server {
  package let options: ServerOptions
  let loop: EventLoop
  let reception: Reception
  package let context: SessionContext
  let applications: Applications
  /// What happens, for those who look on.
  package let feed = ConsoleFeed()
  /// What connects it with servers of other processes.
  let cluster: (any Cluster)?
  /// The apps as the options or the file have them.
  var served: [Application]
  var access: AccessGate
  var refusals = RefusalReport()
  var calls = CallTable<Caller>()
  /// Those who wait to know whether the others can be reached.
  var unsettled: Unsettled?
  private(set) var ending: Ending?
  private var hasToldFullQueues = false
  private let log: (ServerLogEvent) -> Void
  /// The page that shows what happens; `nil` for none.
  private(set) lazy var console = options.console.map { Console($0, host: self) }
  /// Sends the webhooks.
  private(set) lazy var webhooks = WebhookDesk(
    loop: loop, policy: cluster == nil ? options.webhooks : options.webhooks.withoutDelay,
    report: { [weak self] in self?.report($0) },
    onIdle: { [weak self] in self?.checkStopped() })

  /// Gets the answer of a call.
  struct Caller {
    let head: HTTPRequestHead
    let connection: ServerConnection
  }

  /// What waits until it is known whether the others can be reached.
  struct Unsettled {
    var done: () -> Void = {}
    /// Calls of the HTTP API.
    var calls: [(any ServerCall, Caller)] = []
  }

  /// The end of a server.
  struct Ending {
    let whenDone: () -> Void
    /// Ends the wait for clients, then for the others and for the receivers of webhooks.
    var timer: LoopTimer?
    var isFinishingWebhooks = false
    var hasBegunToResign = false
    var isOver = false
  }

  /// Listens from now on; connections are served while the loop runs.
  ///
  /// - Parameters:
  ///   - cluster: What connects it with servers of other processes; `nil` for none.
  ///   - random: Draws the socket ids.
  ///   - log: Told what happens.
  /// - Throws: ``TransportError`` when the address cannot be had, and ``TransportError/tls(_:)`` for a certificate or key
  ///   that cannot be used.
  package init(
    options: ServerOptions, cluster: (any Cluster)? = nil, random: any RandomNumberGenerator,
    loop: EventLoop, log: @escaping (ServerLogEvent) -> Void = { _ in }
  ) throws(TransportError) {
    (self.options, self.loop, self.log, self.cluster) = (options, loop, log, cluster)
    access = AccessGate(options.access)
    served = options.applications
    unsettled = cluster == nil ? nil : Unsettled()
    applications = Applications(
      limits: options.limits, pathPrefix: options.pathPrefix, dialect: options.dialect,
      text: MessageText(service: options.service, dialect: options.dialect), random: random)
    context = SessionContext(dialect: options.dialect, outputLimit: options.limits.allOutput)
    context.faults.add(options.faults)
    let certificate: TLSContext?
    do throws(TLSError) { certificate = try options.incomingTLS() } catch { throw .tls(error) }
    reception = try Reception(
      loop: loop, host: options.host, port: options.port, reusesPort: options.reusesPort,
      handed: options.handedSocket, tls: certificate, sockets: options.limits.connections,
      limits: options.limits)
    applications.renew(setups(of: served), in: cluster)
    do throws(TLSError) {
      try webhooks.renew(applications.hubs)
    } catch {
      throw .tls(error)
    }
    reception.owner = self
    context.ledger.relieve = { [weak self] in self?.relieve() }
    loop.beforeWait { [weak self] in self?.deliver() }
  }

  /// Reads the certificate and its key again, for new connections; those that are there go on.
  ///
  /// - Throws: ``TLSError`` when they cannot be used; then nothing has changed.
  package func renewCertificate() throws(TLSError) {
    reception.tls = try options.incomingTLS()
  }

  /// Where it listens, with the port that the system picked.
  package var address: SocketAddress { reception.address }

  package var port: UInt16 { address.port }

  /// How many sockets are connected.
  package var connectionCount: Int { applications.connectionCount }

  package var isStopping: Bool { ending != nil }

  /// How many sockets and occupied channels each app has.
  package var occupancy: [(app: String, connections: Int, channels: Int)] {
    applications.hubs.map { ($0.application.id, $0.connectionCount, $0.channelCount) }
  }

  /// Why events cannot come from everywhere; `nil` while they can.
  package var ailment: String? {
    isStopping ? "ending" : cluster?.failure.map { "redis: \($0)" }
  }

  /// Bytes that wait for all clients together.
  package var queuedBytes: Int { context.ledger.total }

  /// Calls `done` once events can come from everywhere, or it is known why they cannot.
  ///
  /// Where there are no nodes of other processes that is now. A server that is stopped before calls it never.
  package func whenSettled(_ done: @escaping () -> Void) {
    if unsettled == nil { done() } else { unsettled?.done = done }
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
    ending = Ending(whenDone: whenDone)
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
    ending?.timer.map(loop.remove)
    let timer = LoopTimer(deadline: deadline, action: action)
    ending?.timer = timer
    loop.add(timer)
  }

  private func cutConnections() {
    let now = loop.now
    for connection in reception.connections { connection.cut(at: now) }
  }

  func checkStopped() {
    guard let ending, !ending.isOver, reception.isEmpty, hasResigned() else { return }
    if !ending.isFinishingWebhooks {
      self.ending?.isFinishingWebhooks = true
      takeNotices(at: loop.now)
      setStopTimer(loop.now.advanced(by: options.webhooks.grace)) { [weak self] in self?.end() }
      webhooks.finish()
    }
    if webhooks.isIdle { end() }
  }

  /// Whether the servers of other processes know of the end, or there are none; else begins to tell them.
  private func hasResigned() -> Bool {
    guard let cluster, !cluster.hasResigned else { return true }
    guard ending?.hasBegunToResign == false else { return false }
    ending?.hasBegunToResign = true
    // What the last sockets have caused comes first.
    deliver()
    setStopTimer(loop.now.advanced(by: options.webhooks.grace)) { [weak self] in self?.end() }
    cluster.resign(at: loop.now)
    cluster.flush(at: loop.now)
    return cluster.hasResigned
  }

  private func end() {
    guard let ending, !ending.isOver else { return }
    self.ending?.isOver = true
    ending.timer.map(loop.remove)
    reception.end()
    webhooks.close()
    takeLog()
    cluster?.close()
    ending.whenDone()
  }

  // MARK: Output

  /// Logs something, after the earlier notes of the hubs.
  func report(_ event: ServerLogEvent) {
    takeLog()
    tell(event, app: nil)
  }

  private func tell(_ event: ServerLogEvent, app: String?) {
    noteForConsole(event, app: app)
    log(event)
  }

  private func takeLog() {
    for hub in applications.all {
      for event in hub.takeLog() { tell(event, app: hub.application.id) }
    }
    for event in cluster?.takeLog() ?? [] { tell(event, app: nil) }
  }

  /// Tells the first time that clients were dropped since all queues together were full.
  func noteFullQueues(dropped: Int) {
    guard !hasToldFullQueues else { return }
    hasToldFullQueues = true
    report(.queuesFull(limit: options.limits.allOutput, dropped: dropped))
  }

  /// Sends the output of the last round, and what other nodes have brought.
  ///
  /// An ended client may cause messages to others, so it repeats until nothing is left.
  private func deliver() {
    let now = loop.now
    finish(calls.takeTurns(at: now))
    if cluster?.isSettled == true, unsettled != nil { settle(at: now) }
    while true {
      for hub in applications.all {
        hub.handleNews(at: now)
        // A client's message may have brought the hub to the news first.
        finish(calls.take(from: hub, at: now))
      }
      let hasSent = flushTouched(at: now)
      takeLog()
      if !hasSent { break }
    }
    takeNotices(at: now)
    cluster?.flush(at: now)
    console?.flush(at: now)
    if calls.hasTurn { loop.wakeUp.signal() }
    if ending?.hasBegunToResign == true, cluster?.hasResigned == true { checkStopped() }
  }

  /// Lets the sockets that were handed something take it; answers whether there were any.
  private func flushTouched(at now: Instant) -> Bool {
    let touched = context.ledger.takeTouched()
    for session in touched {
      session.carrier?.flush(at: now)
      session.settle(at: now)
    }
    return !touched.isEmpty
  }

  private func takeNotices(at now: Instant) {
    webhooks.takeNotices(at: now, noteForConsole)
    if feed.isOpen { takeUnsentNotices() }
    // What the last sockets have caused is told first.
    if !applications.leaving.isEmpty { forgetDeserted() }
  }
}
