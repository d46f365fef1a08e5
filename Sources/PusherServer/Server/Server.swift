package import PusherCore

/// A Pusher for one machine: sockets at `/app/KEY` and the HTTP API at `/apps/ID`, behind one port.
///
/// It lives on its loop's thread: made, asked and stopped there.
package final class Server {
  /// Where it listens, with the port that the system picked.
  package let address: SocketAddress
  package let options: ServerOptions
  let loop: EventLoop
  let applications: Applications
  let router: APIRouter
  package let context: SessionContext
  /// Where all connections read to; empty between two calls.
  let scratch = ByteBuffer(capacity: 65_536)
  private(set) var isStopping = false
  private var refusals = RefusalReport()
  private var hasToldFullQueues = false
  private let listener: Listener
  private let log: (ServerLogEvent) -> Void
  private var connections: [ObjectIdentifier: ServerConnection] = [:]
  private var connectionsBySession: [ObjectIdentifier: ServerConnection] = [:]
  /// Those who have sent more requests than were answered.
  private var turns: [ServerConnection] = []
  private var turnTimer: LoopTimer?
  private var scanTimer: LoopTimer?
  private var whenStopped: (() -> Void)?
  /// What ends the wait for clients, then for the receivers of webhooks, once the server stops.
  private var stopTimer: LoopTimer?
  private var isFinishingWebhooks = false
  /// Those of the hubs, in their order.
  private var dispatchers: [WebhookDispatcher?] = []

  /// How exact the deadlines of connections are kept.
  private static let scanInterval = Duration.seconds(1)
  /// Connections that are no sockets, beyond those that ``ServerLimits/connections`` allows.
  private static let spareConnections = 256

  /// Listens from now on; connections are served while the loop runs.
  ///
  /// `random` draws the socket ids. `log` is told what happens. Throws when the address cannot be had, and
  /// ``TransportError/tls(_:)`` for a certificate or key that cannot be used.
  package init(
    options: ServerOptions, random: any RandomNumberGenerator, loop: EventLoop,
    log: @escaping (ServerLogEvent) -> Void = { _ in }
  ) throws(TransportError) {
    self.options = options
    self.loop = loop
    self.log = log
    applications = Applications(
      options.applications, limits: options.limits, pathPrefix: options.pathPrefix,
      service: options.service, dialect: options.dialect, random: random)
    router = APIRouter(applications)
    context = SessionContext(dialect: options.dialect, outputLimit: options.limits.allOutput)
    context.faults.add(options.faults)
    let tls = try Self.context(options)
    let outgoing = try Self.outgoingContext(options)
    let door = Door()
    listener = try Listener(loop: loop, host: options.host, port: options.port) {
      descriptor, peer, now in
      door.server?.accept(descriptor, peer, tls, at: now)
    }
    address = listener.address
    door.server = self
    dispatchers = options.applications.map { application in
      WebhookDispatcher(
        application, loop: loop, tls: outgoing, policy: options.webhooks,
        report: { [weak self] in self?.report($0) },
        onIdle: { [weak self] in self?.checkStopped() })
    }
    context.ledger.relieve = { [weak self] in self?.relieve() }
    startTimers()
    loop.beforeWait { [weak self] in self?.deliver() }
  }

  package var port: UInt16 { address.port }

  /// How many sockets are connected.
  package var connectionCount: Int { applications.connectionCount }

  var limits: ServerLimits { options.limits }

  var allConnections: [ServerConnection] { Array(connections.values) }

  /// Bytes that wait for all clients together.
  package var queuedBytes: Int { context.ledger.total }

  /// What a request is answered that comes from a foreign page or asks for a foreign name; `nil` for all others.
  func accessRefusal(_ head: HTTPRequestHead) -> HTTPAnswer? {
    guard let refusal = options.access.refusal(head) else { return nil }
    switch refusals.note(refusal) {
    case .tell: report(.accessRefused(refusal, isLast: false))
    case .tellLast: report(.accessRefused(refusal, isLast: true))
    case .silence: break
    }
    return refusal.answer
  }

  /// The answer to a request that is no WebSocket's.
  func answer(_ request: HTTPRequestReader.Request) -> HTTPAnswer {
    let endpoint = AuthEndpoint(applications, refusal: context.faults.endpointFailure)
    let authorized = options.hasAuthEndpoints ? endpoint.answer(request) : nil
    return authorized
      ?? router.answer(request, seconds: SystemClock.wall().secondsSince1970, at: loop.now)
  }

  /// Accepts nothing more, closes all sockets with 4200 and sends the webhooks that wait; `whenDone` is called then.
  ///
  /// Clients have `patience` to answer the close frame, webhooks have ``WebhookPolicy/grace``.
  package func stop(
    patience: Duration = .seconds(5), whenDone: @escaping () -> Void = {}
  ) {
    guard !isStopping else { return }
    isStopping = true
    whenStopped = whenDone
    listener.close()
    let now = loop.now
    for connection in connections.values { connection.stop(at: now) }
    deliver()
    setStopTimer(now.advanced(by: patience)) { [weak self] in self?.cutConnections() }
    checkStopped()
  }

  private func setStopTimer(_ deadline: Instant, _ action: @escaping () -> Void) {
    stopTimer.map(loop.remove)
    let timer = LoopTimer(deadline: deadline, action: action)
    stopTimer = timer
    loop.add(timer)
  }

  private func cutConnections() {
    let now = loop.now
    for connection in connections.values { connection.cut(at: now) }
  }

  /// What lets the listener call a server that is not complete when the listener is made.
  private final class Door {
    weak var server: Server?
  }

  private static func context(_ options: ServerOptions) throws(TransportError) -> TLSContext? {
    guard let certificate = options.certificateFile else { return nil }
    do throws(TLSError) {
      return try TLSContext.server(
        certificateFile: certificate, keyFile: options.keyFile ?? certificate)
    } catch {
      throw .tls(error)
    }
  }

  /// What webhooks to secure receivers need.
  private static func outgoingContext(
    _ options: ServerOptions
  ) throws(TransportError) -> TLSContext? {
    guard options.applications.contains(where: { $0.webhooks.contains { $0.isSecure } }) else {
      return nil
    }
    do throws(TLSError) {
      return try TLSContext.client(TLSConfiguration(), environment: options.webhooks.trust)
    } catch {
      throw .tls(error)
    }
  }

  // MARK: Connections

  private func accept(
    _ descriptor: Int32, _ peer: SocketAddress?, _ tls: TLSContext?, at now: Instant
  ) {
    let connection = ServerConnection(
      server: self, descriptor: descriptor, peer: peer, tls: tls, at: now)
    guard connections.count < limits.connections + Self.spareConnections else {
      connection.stop(at: now)
      report(.dropped(reason: "too many connections"))
      return
    }
    connections[ObjectIdentifier(connection)] = connection
    armScan(at: now)
  }

  /// A connection has become a socket.
  func join(_ session: ClientSession, _ connection: ServerConnection) {
    connectionsBySession[ObjectIdentifier(session)] = connection
  }

  /// A connection has ended.
  func forget(_ connection: ServerConnection) {
    connections[ObjectIdentifier(connection)] = nil
    if case .socket(let session) = connection.phase {
      connectionsBySession[ObjectIdentifier(session)] = nil
    }
    checkStopped()
  }

  private func checkStopped() {
    guard isStopping, connections.isEmpty, whenStopped != nil else { return }
    if !isFinishingWebhooks {
      isFinishingWebhooks = true
      takeNotices(at: loop.now)
      setStopTimer(loop.now.advanced(by: options.webhooks.grace)) { [weak self] in self?.end() }
      for dispatcher in dispatchers { dispatcher?.finish() }
    }
    if dispatchers.allSatisfy({ $0?.isIdle ?? true }) { end() }
  }

  private func end() {
    guard let whenStopped else { return }
    self.whenStopped = nil
    for timer in [turnTimer, scanTimer, stopTimer] { timer.map(loop.remove) }
    for dispatcher in dispatchers { dispatcher?.close() }
    whenStopped()
  }

  // MARK: Output

  /// Tells what has happened, after what the hubs have noted before it.
  func report(_ event: ServerLogEvent) {
    for hub in applications.hubs { hub.takeLog().forEach(log) }
    log(event)
  }

  /// Tells the first time that clients were dropped since all queues together were full.
  func noteFullQueues(dropped: Int) {
    guard !hasToldFullQueues else { return }
    hasToldFullQueues = true
    report(.queuesFull(limit: limits.allOutput, dropped: dropped))
  }

  /// Sends what the last round has brought; ends may tell others something, so that it goes on until all is told.
  private func deliver() {
    let now = loop.now
    while true {
      let touched = context.ledger.takeTouched()
      for session in touched { connectionsBySession[ObjectIdentifier(session)]?.flush(at: now) }
      for hub in applications.hubs { hub.takeLog().forEach(log) }
      if touched.isEmpty { break }
    }
    takeNotices(at: now)
  }

  private func takeNotices(at now: Instant) {
    for (hub, dispatcher) in zip(applications.hubs, dispatchers) {
      dispatcher?.take(hub.takeNotices(), at: now)
    }
  }

  // MARK: Time

  private func startTimers() {
    let turn = LoopTimer(deadline: nil) { [weak self] in self?.takeTurns() }
    let scan = LoopTimer(deadline: nil) { [weak self] in self?.scan() }
    loop.add(turn)
    loop.add(scan)
    turnTimer = turn
    scanTimer = scan
  }

  /// Lets a connection answer its next request in the next round.
  func giveTurn(_ connection: ServerConnection) {
    turns.append(connection)
    turnTimer?.deadline = LoopInterest.immediately
  }

  private func takeTurns() {
    let now = loop.now
    let waiting = turns
    turns = []
    for connection in waiting {
      connection.flush(at: now)
      connection.takeTurn(at: now)
      connection.flush(at: now)
    }
  }

  private func armScan(at now: Instant) {
    guard let scanTimer, scanTimer.deadline == nil else { return }
    scanTimer.deadline = now.advanced(by: Self.scanInterval)
  }

  /// Looks at all deadlines at once: they are long, and one timer is cheaper than thousands.
  private func scan() {
    let now = loop.now
    for connection in connections.values {
      if let deadline = connection.deadline, deadline <= now { connection.tick(at: now) }
    }
    for hub in applications.hubs { hub.tick(at: now) }
    if !connections.isEmpty { armScan(at: now) }
  }
}
