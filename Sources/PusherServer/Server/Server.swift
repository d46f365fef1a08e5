package import PusherCore

/// A Pusher server: sockets at `/app/KEY` and the HTTP API at `/apps/ID`, on one port.
///
/// Only the loop's thread may use it.
package final class Server {
  package let options: ServerOptions
  package let loop: EventLoop
  private let acceptor: ConnectionAcceptor
  package let context: SessionContext
  package let applications: Applications
  package let feed = ServerFeed()
  private let cluster: (any Cluster)?
  private var served: [Application]
  /// Host of an allowed request without an `Origin`: a program's requests all name the same one.
  private var admittedHost: String?
  private var refusals = RefusalReport()
  private var calls = CallTable<Caller>()
  /// Work that waits until the reachability of other nodes is known.
  private var pendingWork: (done: () -> Void, calls: [((Instant) -> CallProgress, Caller)])?
  private var ending: Ending?
  /// Number of events since the last request: those of the call that is answered next.
  private var eventsOfCall = 0
  private var hasToldFullQueues = false
  private let log: (ServerLogEvent) -> Void
  package var console: (any ServerConsole)?
  private lazy var webhooks = WebhookRouter(
    loop: loop, policy: cluster == nil ? options.webhooks : options.webhooks.withoutDelay,
    report: { [weak self] in self?.report($0) }, onIdle: { [weak self] in self?.checkStopped() })

  private typealias Caller = (head: HTTPRequestHead, connection: ServerConnection)

  private struct Ending {
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
    served = options.applications
    pendingWork = cluster == nil ? nil : ({}, [])
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
    let connections = acceptor.connections.filter { $0.socket != nil }
    let share = drain.wholeNanoseconds / Int64(max(connections.count, 1))
    let interval = Duration.nanoseconds(share)
    close(
      connections[...], at: now.advanced(by: interval), every: interval, patience: patience)
    checkStopped()
  }

  /// Closes connections one after the other; the last one closes at the end of the period.
  private func close(
    _ connections: ArraySlice<ServerConnection>, at due: Instant, every interval: Duration,
    patience: Duration
  ) {
    let now = loop.now
    var (rest, due) = (connections, due)
    while due <= now, let next = rest.popFirst() {
      next.stop(at: now)
      due = due.advanced(by: interval)
    }
    deliver()
    guard !rest.isEmpty else {
      return setStopTimer(now.advanced(by: patience)) { [weak self] in
        guard let self else { return }
        for connection in acceptor.connections { connection.cut(at: loop.now) }
      }
    }
    setStopTimer(due) { [weak self, rest, due] in
      self?.close(rest, at: due, every: interval, patience: patience)
    }
  }

  private func setStopTimer(_ deadline: Instant, _ action: @escaping () -> Void) {
    ending?.timer.map(loop.remove)
    let timer = LoopTimer(deadline: deadline, action: action)
    ending?.timer = timer
    loop.add(timer)
  }

  private func checkStopped() {
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
  private func report(_ event: ServerLogEvent) {
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

  /// Output waiting for all clients, in bytes, computed from scratch.
  package var recountedBytes: Int { acceptor.connections.reduce(0) { $0 + $1.waitingBytes } }

  /// Sends as much as the sockets take, then drops the slowest readers until an eighth is free.
  ///
  /// Sockets come first because one event for many healthy clients may fill the queues.
  private func makeRoom() {
    let now = loop.now
    for connection in acceptor.connections { connection.flush(at: now) }
    let ledger = context.ledger
    guard ledger.isFull else { return }
    var waiting = acceptor.connections.filter { $0.waitingBytes > 0 && $0.socket is ClientSession }
    waiting.sort { $0.waitingBytes > $1.waitingBytes }
    var dropped = 0
    for connection in waiting where ledger.total > ledger.limit / 8 * 7 {
      connection.cut("all clients together left more than \(ledger.limit) bytes unread", at: now)
      dropped += 1
    }
    // Only the first time is logged.
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
      let touched = context.ledger.takeTouched()
      for session in touched {
        session.carrier?.flush(at: now)
        session.settle(at: now)
      }
      takeLog()
      if touched.isEmpty { break }
    }
    takeNotices(at: now)
    cluster?.flush(at: now)
    console?.flush(at: now)
    if calls.hasTurn { loop.wakeUp.signal() }
    if ending?.hasBegunToResign == true, cluster?.hasResigned == true { checkStopped() }
  }

  private func takeNotices(at now: Instant) {
    webhooks.takeNotices(at: now, noteForConsole)
    if feed.isOpen { takeUnsentNotices() }
    if !applications.leaving.isEmpty { forgetUnusedApps() }
  }
}

extension Server {
  /// Replaces the apps.
  ///
  /// A changed app keeps its sockets, unless it is disabled (4003). Sockets of removed apps are
  /// closed (4001).
  ///
  /// - Throws: ``TLSError`` if webhooks cannot be sent over TLS; then nothing has changed.
  package func renew(_ apps: [Application]) throws(TLSError) -> AppChanges {
    try WebhookRouter.check(apps, options.webhooks)
    let changes = AppChanges(from: served, to: apps)
    served = apps
    if !isStopping { take(setups(of: apps), at: loop.now) }
    return changes
  }

  private func setups(of apps: [Application]) -> [AppSetup] {
    apps.map {
      AppSetup(
        $0, limits: options.limits, service: options.service, dialect: options.dialect,
        watch: feed.watch)
    }
  }

  private func take(_ setups: [AppSetup], at now: Instant) {
    let gone = applications.renew(setups, in: cluster)
    renewWebhooks()
    console?.appsChanged()
    for session in clients {
      session.renewLimits()
      if gone.contains(where: { $0 === session.hub }) {
        session.close(.unknownApplication, reason: "this server no longer serves the app", at: now)
      } else if !session.hub.application.isEnabled {
        session.close(.applicationDisabled, reason: "The app is disabled", at: now)
      }
    }
  }

  private func forgetUnusedApps() {
    let deserted = applications.forgetUnusedApps()
    guard !deserted.isEmpty else { return }
    for hub in deserted where !applications.hubs.contains(where: { $0.member === hub.member }) {
      cluster?.giveUp(hub.member)
    }
    renewWebhooks()
  }

  private func renewWebhooks() {
    do throws(TLSError) {
      try webhooks.renew(applications.all)
    } catch {
      // The certificates could be checked before the nodes got the apps, but not any more.
      report(.dropped(reason: "webhooks over TLS: \(error)"))
    }
  }
}

/// What the console shows and does.
extension Server {
  package var faults: FaultScript { context.faults }
  package var isShared: Bool { cluster != nil }
  package var signsChannels: Bool { options.authEndpoints != .nobody }

  /// Notes an event; a request's entry counts the events that it caused.
  ///
  /// A call runs to its end at once, so its events are the last ones before its request. With other
  /// nodes the answer comes later, after events of other calls.
  private func noteForConsole(_ event: ServerLogEvent, app: String?) {
    var caused = 0
    switch event {
    case .event: if cluster == nil { eventsOfCall += 1 }
    case .request(_, let path, let status, _):
      swap(&caused, &eventsOfCall)
      // Requests of the page itself are not shown, unless access was refused.
      if ServerRoute.isOfConsole(path), status != 403 { return }
    default: break
    }
    feed.note(event.entry(app: app, caused: caused), on: loop.wakeUp)
  }

  private func noteForConsole(_ application: Application, _ notices: [WebhookNotice]) {
    for notice in notices where notice.audience != .webhooks {
      feed.note(notice.entry(app: application.id), on: loop.wakeUp)
    }
  }

  private func takeUnsentNotices() {
    for hub in applications.hubs where hub.application.webhooks.isEmpty {
      noteForConsole(hub.application, hub.takeNotices())
    }
  }

  // MARK: Questions

  package func sessions(ofApp id: String) -> [ClientSession] {
    clients.filter { $0.isOpen && $0.hub.application.id.isSame(as: id) }
  }

  // MARK: Orders

  package func disconnect(_ socketID: String, ofApp id: String) -> Bool {
    let session = sessions(ofApp: id).first { $0.socketID.isSame(as: socketID) }
    session?.close(.unauthorized, reason: "disconnected by the server's operator", at: loop.now)
    return session != nil
  }

  package func sendWebhook(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool {
    webhooks.send(name, body, ofApp: id)
  }
}

extension Server: ConnectionAcceptorOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    let route = ServerRoute(request.head, options)
    if let refusal = refusal(of: request.head, for: route, from: connection.peer) {
      report(refusal.answer, to: request.head)
      return .answer(refusal.answer, isLast: route == .socket)
    }
    if route == .socket { return upgrade(request.head, on: connection, at: now) }
    if route == .console, let stream = console?.stream(for: request, on: connection, at: now) {
      return .socket(stream)
    }
    let caller = (head: request.head, connection: connection)
    guard let answer = begin(request, for: route, caller, at: now) else { return .later }
    report(answer, to: request.head)
    return .answer(answer, isLast: false)
  }

  private func finish(_ done: [(caller: Caller, answer: HTTPAnswer)]) {
    for (caller, answer) in done {
      report(answer, to: caller.head)
      caller.connection.answerNow(answer, at: loop.now)
    }
  }

  private func report(_ answer: HTTPAnswer, to head: HTTPRequestHead) {
    report(head, answer.status, answer.status < 300 ? "" : answer.body)
  }

  private func report(_ head: HTTPRequestHead, _ status: Int, _ reason: String) {
    let end = head.target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? head.target.endIndex
    report(
      .request(
        method: head.method, path: String(head.target[..<end]), status: status, reason: reason))
  }

  /// Checks the `Origin`, the `Host` and the caller's machine; `nil` if the request is allowed.
  private func refusal(
    of head: HTTPRequestHead, for route: ServerRoute, from peer: SocketAddress?
  ) -> AccessRefusal? {
    var refusal = refusalByName(head)
    if refusal == nil, options.reach(of: route) == .thisMachine,
      let sign = AccessPolicy.remoteSign(of: head, from: peer)
    {
      refusal = .remote(part: route.name, sign: sign)
    }
    guard let refusal else { return nil }
    if let isLast = refusals.note(refusal) { report(.accessRefused(refusal, isLast: isLast)) }
    return refusal
  }

  private func refusalByName(_ head: HTTPRequestHead) -> AccessRefusal? {
    var host: String?
    // Only the `Host` counts: one field, no `Origin`, and no host in the target.
    if head.target.begins(with: "/"), head.headers["Origin"] == nil {
      let hosts = head.headers.all("Host")
      host = hosts.count == 1 ? hosts[0] : nil
    }
    if let admittedHost, let host, host.isSame(as: admittedHost) { return nil }
    let refusal = options.access.refusal(head)
    if refusal == nil, let host { admittedHost = host }
    return refusal
  }

  /// Starts to answer a request that is not an upgrade; `nil` if the answer comes later.
  private func begin(
    _ request: HTTPRequestReader.Request, for route: ServerRoute, _ caller: Caller, at now: Instant
  ) -> HTTPAnswer? {
    switch route {
    case .console:
      if let console { return calls.keep(console.begin(request, at: now), for: caller) }
    case .faults:
      let count = context.faults.faults.count
      let answer = context.faults.answer(request)
      if context.faults.faults.count > count { stageGreetings(at: now) }
      return answer
    case .authorization:
      let endpoint = AuthEndpoint(applications, refusal: context.faults.endpointFailure)
      if let authorized = endpoint.answer(request) { return authorized }
    // A console that only this machine may use leaves the path to the dialect.
    case .api where options.console == .everybody && request.head.isForRoot:
      return .redirect(to: ServerRoute.console.paths[0])
    case .socket, .api: break
    }
    let seconds = SystemClock.wall().secondsSince1970
    let isHeld = pendingWork != nil
    let progress = APIRouter(applications).begin(
      request, seconds: seconds, isHeld: isHeld, at: now)
    guard isHeld, case .pauses(let next) = progress else {
      return calls.keep(progress, for: caller)
    }
    pendingWork?.calls.append((next, caller))
    return nil
  }

  /// Continues held calls, now that the reachability of other nodes is known.
  private func settle(at now: Instant) {
    guard let waiting = pendingWork else { return }
    pendingWork = nil
    if !isStopping { waiting.done() }
    for (next, caller) in waiting.calls {
      if let answer = calls.keep(next(now), for: caller) { finish([(caller, answer)]) }
    }
  }

  private func upgrade(
    _ request: HTTPRequestHead, on carrier: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    let connection: WebSocketConnection
    do throws(HTTPResponseHead) {
      let (head, negotiated) = try ServerHandshake.respond(
        to: request, supportedSubprotocol: { $0.begins(with: "pusher-channels-protocol-") },
        deflate: options.acceptsCompression && options.dialect.has(.knowsCompression))
      connection = WebSocketConnection(
        role: .server, deflate: negotiated.deflate, limits: options.limits.webSocket,
        random: SecureRandom.generator, input: carrier.input)
      connection.output.append(head)
    } catch {
      var head = error
      head.headers.append("Connection", "close")
      report(request, head.status, "not a valid WebSocket handshake")
      return .head(head)
    }
    let speaksV2 = applications.speaksV2(request)
    do throws(ProtocolRefusal) {
      let hub = try applications.admit(request)
      if speaksV2 { hub.beginStreams(life: applications.newStreamLife()) }
      let session = ClientSession(
        connection, socketID: applications.newSocketID(),
        from: ClientAddress(of: carrier.peer, sending: request), hub: hub, context: context,
        speaksV2: speaksV2, at: now)
      session.carrier = carrier
      return .socket(session)
    } catch {
      let refusal = RefusedSocket(
        connection, error, applications: applications, speaksV2: speaksV2, at: now)
      report(.refused(code: refusal.code.rawValue, reason: error.reason))
      return .socket(refusal)
    }
  }

  func refused(_ answer: HTTPAnswer) { report(.dropped(reason: answer.body)) }
  func dropped(_ reason: String) { report(.dropped(reason: reason)) }
  func forgot(_ connection: ServerConnection) { checkStopped() }
  func scanned(at now: Instant) { for hub in applications.hubs { hub.tick(at: now) } }
}

/// Functions for owners of an in-process server, called on its loop's thread between two rounds.
extension Server {
  /// Stages more faults; faults without an event count close connections at once.
  package func stage(_ faults: [StagedFault]) {
    context.faults.add(faults)
    stageGreetings(at: loop.now)
  }

  private func stageGreetings(at now: Instant) {
    for session in clients { session.stageGreeting(at: now) }
  }

  package func dropClients() {
    let now = loop.now
    for connection in acceptor.connections where connection.socket != nil {
      connection.cut("dropped", at: now)
    }
  }

  package func closeClients(_ code: CloseCode, reason: String) {
    let now = loop.now
    for session in clients { session.close(code, reason: reason, at: now) }
  }

  private var clients: [ClientSession] {
    acceptor.connections.compactMap { $0.socket as? ClientSession }
  }
  package var hubs: [Hub] { applications.hubs }
}

// Functions for owners of a single-node hub, which answers at once.
extension Hub {
  package var occupiedChannels: [String] {
    guard
      case .answered(.channels(let names)) = ask(.channels(prefix: ""), at: Instant(nanoseconds: 0))
    else {
      return []
    }
    return names
  }

  package func facts(
    of channel: String, at now: Instant = Instant(nanoseconds: 0)
  ) -> ChannelFacts {
    guard case .answered(.facts(let facts)) = ask(.facts([channel], withMembers: true), at: now)
    else {
      return ChannelFacts(name: channel)
    }
    return facts.first ?? ChannelFacts(name: channel)
  }
}

package struct AppChanges: Sendable, Equatable, CustomStringConvertible {
  /// IDs in the order of the apps.
  package let new: [String]
  package let gone: [String]
  package let changed: [String]

  init(from former: [Application], to applications: [Application]) {
    func app(_ id: String, in apps: [Application]) -> Application? {
      apps.first { $0.id.isSame(as: id) }
    }
    new = applications.map(\.id).filter { app($0, in: former) == nil }
    gone = former.map(\.id).filter { app($0, in: applications) == nil }
    changed = applications.filter { new in app(new.id, in: former).map { $0 != new } ?? false }.map(
      \.id)
  }

  /// A summary for a message; "nothing has changed" if there is no difference.
  package var description: String {
    func part(_ ids: [String], _ one: String, _ several: String) -> String? {
      guard let first = ids.first else { return nil }
      return ids.count == 1
        ? "app '\(first)' \(one)"
        : "apps " + ids.map { "'\($0)'" }.joined(separator: ", ") + " \(several)"
    }
    let parts = [
      part(new, "is new", "are new"), part(changed, "has changed", "have changed"),
      part(gone, "is gone", "are gone"),
    ].compactMap(\.self)
    return parts.isEmpty ? "nothing has changed" : parts.joined(separator: "; ")
  }
}

/// The console of a server, which the module PusherConsole provides.
package protocol ServerConsole: AnyObject {
  /// Returns the stream of entries that a request asks for; `nil` for other requests.
  func stream(
    for request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> (any ConnectionSocket)?
  /// Starts to answer a request for the page or for one of its calls.
  func begin(_ request: HTTPRequestReader.Request, at now: Instant) -> CallProgress
  func flush(at now: Instant)
  func appsChanged()
}
