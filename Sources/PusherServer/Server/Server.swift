package import PusherCore

/// A Pusher server: sockets at `/app/KEY` and the HTTP API at `/apps/ID`, on one port.
///
/// Only the loop's thread may use it.
package final class Server {
  package let options: ServerOptions
  package let loop: EventLoop
  let acceptor: ConnectionAcceptor
  package let context: SessionContext
  package let applications: Applications
  package let feed = ServerFeed()
  /// Connection to servers of other processes.
  let cluster: (any Cluster)?
  /// Apps as the options or the file list them.
  var served: [Application]
  var access: AccessGate
  var refusals = RefusalReport()
  var calls = CallTable<Caller>()
  /// Work that waits until the reachability of other nodes is known.
  var pendingWork: PendingWork?
  private(set) var ending: Ending?
  /// Number of events since the last request: those of the call that is answered next.
  var eventsOfCall = 0
  private var hasToldFullQueues = false
  private let log: (ServerLogEvent) -> Void
  package var console: (any ServerConsole)?
  private(set) lazy var webhooks = WebhookRouter(
    loop: loop, policy: cluster == nil ? options.webhooks : options.webhooks.withoutDelay,
    report: { [weak self] in self?.report($0) }, onIdle: { [weak self] in self?.checkStopped() })

  struct Caller {
    let head: HTTPRequestHead
    let connection: ServerConnection
  }

  struct PendingWork {
    var done: () -> Void = {}
    var calls: [(any ServerCall, Caller)] = []
  }

  struct Ending {
    let whenDone: () -> Void
    /// Limits the wait for clients, then for other nodes and webhook receivers.
    var timer: LoopTimer?
    var isFinishingWebhooks = false
    var hasBegunToResign = false
    var isOver = false
  }

  /// Starts listening.
  ///
  /// Connections are served while the loop runs.
  ///
  /// - Parameters:
  ///   - cluster: Connection to servers of other processes; `nil` for none.
  ///   - random: Source of the socket IDs.
  ///   - log: Receives each entry of the log.
  /// - Throws: ``TransportError`` if the address is not available, and ``TransportError/tls(_:)``
  ///   for an unusable certificate or key.
  package init(
    options: ServerOptions, cluster: (any Cluster)? = nil, random: any RandomNumberGenerator,
    loop: EventLoop, log: @escaping (ServerLogEvent) -> Void = { _ in }
  ) throws(TransportError) {
    (self.options, self.loop, self.log, self.cluster) = (options, loop, log, cluster)
    access = AccessGate(options.access)
    served = options.applications
    pendingWork = cluster == nil ? nil : PendingWork()
    applications = Applications(
      limits: options.limits, dialect: options.dialect,
      text: MessageText(service: options.service, dialect: options.dialect), random: random)
    context = SessionContext(dialect: options.dialect, outputLimit: options.limits.sizes.allOutput)
    context.faults.add(options.faults)
    let certificate: TLSContext?
    do throws(TLSError) { certificate = try options.certificate?.context() } catch {
      throw .tls(error)
    }
    acceptor = try ConnectionAcceptor(
      loop: loop, at: options.listen, tls: certificate, sockets: options.limits.connections,
      limits: options.limits)
    applications.renew(setups(of: served), in: cluster)
    do throws(TLSError) {
      try webhooks.renew(applications.hubs)
    } catch {
      throw .tls(error)
    }
    acceptor.owner = self
    context.ledger.makeRoom = { [weak self] in self?.makeRoom() }
    loop.beforeWait { [weak self] in self?.deliver() }
  }

  /// Reads the certificate and its key again, for new connections only.
  ///
  /// - Throws: ``TLSError`` if they are unusable; then nothing has changed.
  package func renewCertificate() throws(TLSError) {
    acceptor.tls = try options.certificate?.context()
  }

  /// Listening address, with the port that the system picked.
  package var address: SocketAddress { acceptor.address }
  package var port: UInt16 { address.port }
  package var connectionCount: Int { applications.connectionCount }
  package var isStopping: Bool { ending != nil }

  package var occupancy: [(app: String, connections: Int, channels: Int)] {
    applications.hubs.map { ($0.application.id, $0.connectionCount, $0.channelCount) }
  }

  /// Reason why the server is not healthy: it stops, or other nodes are unreachable; else `nil`.
  package var ailment: String? { isStopping ? "ending" : cluster?.failure.map { "redis: \($0)" } }
  package var queuedBytes: Int { context.ledger.total }

  /// Calls `done` once other nodes are reachable, or the reason of a failure is known.
  ///
  /// A server without other nodes calls it at once. A server that stops earlier never calls it.
  package func whenSettled(_ done: @escaping () -> Void) {
    if pendingWork == nil { done() } else { pendingWork?.done = done }
  }

  // MARK: Shutdown

  /// Stops listening, closes all sockets with 4200, sends waiting webhooks, then calls `whenDone`.
  ///
  /// Clients have `patience` to answer the close frame, webhooks have ``WebhookPolicy/grace``.
  ///
  /// - Parameter drain: Period over which the sockets are closed evenly, so that clients do not
  ///   reconnect all at once.
  package func stop(
    patience: Duration = .seconds(5), over drain: Duration = .zero,
    whenDone: @escaping () -> Void = {}
  ) {
    guard !isStopping else { return }
    ending = Ending(whenDone: whenDone)
    let now = loop.now
    acceptor.close(at: now)
    let wave = ClosingWave(
      acceptor.connections.filter { $0.socket != nil }, from: now, over: drain)
    closeNext(of: wave, patience: patience)
    checkStopped()
  }

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
    for connection in acceptor.connections { connection.cut(at: now) }
  }

  func checkStopped() {
    guard let ending, !ending.isOver, acceptor.isEmpty, hasResigned() else { return }
    if !ending.isFinishingWebhooks {
      self.ending?.isFinishingWebhooks = true
      takeNotices(at: loop.now)
      setStopTimer(loop.now.advanced(by: options.webhooks.grace)) { [weak self] in self?.end() }
      webhooks.finish()
    }
    if webhooks.isIdle { end() }
  }

  /// Returns true if other nodes know of the shutdown, or there are none.
  ///
  /// The first call informs them.
  private func hasResigned() -> Bool {
    guard let cluster, !cluster.hasResigned else { return true }
    guard ending?.hasBegunToResign == false else { return false }
    ending?.hasBegunToResign = true
    // Messages of the last sockets come first.
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
    acceptor.end()
    webhooks.close()
    takeLog()
    cluster?.close()
    ending.whenDone()
  }

  // MARK: Output

  /// Logs an entry after earlier entries of the hubs.
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

  /// Logs the first time that clients were dropped because all queues together were full.
  func noteFullQueues(dropped: Int) {
    guard !hasToldFullQueues else { return }
    hasToldFullQueues = true
    report(.queuesFull(limit: options.limits.sizes.allOutput, dropped: dropped))
  }

  /// Sends the output of the last round and the news of other nodes.
  ///
  /// An ended client may cause messages to others, so this repeats until nothing is left.
  private func deliver() {
    let now = loop.now
    finish(calls.takeTurns(at: now))
    if cluster?.isSettled == true, pendingWork != nil { settle(at: now) }
    while true {
      for hub in applications.all {
        hub.handleNews(at: now)
        // A client's message may have made the hub handle the news first.
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

  /// Returns false if no session had output.
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
    if !applications.leaving.isEmpty { forgetUnusedApps() }
  }
}
