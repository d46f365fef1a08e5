internal import PusherCore

/// One run of `check`, with the stages in the order that a subscription needs them.
final class CheckRun {
  private let settings: CheckSettings
  private let report: CheckReport
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private var blocked: String?

  private var connection: ConnectionSettings { settings.subscription.connection }
  private var url: HTTPURL { settings.subscription.destination.url }

  init(_ settings: CheckSettings, diagnostics: Diagnostics) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    loop = try EventLoop()
    report = CheckReport(
      isJSON: settings.isJSON, channels: settings.subscription.channels, diagnostics: diagnostics)
  }

  func run() -> ExitStatus {
    Signals.watch(loop) {
    } onSignal: {
      Signals.die(of: $0)
    }
    let route = connection.routing.route(to: url)
    tellSettings()
    stage("name service") { () throws(CheckFailure) in try lookUp(route) }
    stage("connection") { () throws(CheckFailure) in try connect(route) }
    if url.isSecure {
      stage("tls") { () throws(CheckFailure) in try secure(route) }
    } else {
      report.add("tls", .notTried("the scheme is http"))
    }
    let conversation = CheckConversation(
      settings.subscription, loop: loop, diagnostics: diagnostics)
    stage("upgrade") { () throws(CheckFailure) in try conversation.upgrade() }
    stage("greeting") { () throws(CheckFailure) in try greet(conversation) }
    stage("ping") { () throws(CheckFailure) in try conversation.ping() }
    for channel in settings.subscription.channels {
      // The refusal of one channel says nothing about the next.
      let before = blocked
      stage(channel) { () throws(CheckFailure) in try conversation.subscribe(to: channel) }
      if conversation.isOpen { blocked = before }
    }
    if settings.roundTrip == nil { conversation.close() }
    let trouble = blocked
    checkAPI()
    checkRoundTrips(conversation, after: trouble)
    conversation.close()
    return report.status
  }

  /// Waits for the greeting; for an unknown app, looks for the cluster that knows it.
  private func greet(_ conversation: CheckConversation) throws(CheckFailure) -> String {
    do throws(CheckFailure) {
      return try conversation.waitForGreeting()
    } catch {
      guard conversation.lossCode == 4001 else { throw error }
      var failure = error
      failure.advice += ClusterSearch.advice(
        settings.subscription, loop: loop, diagnostics: diagnostics)
      throw failure
    }
  }

  private func tellSettings() {
    let key = Diagnostics.shortened(key: connection.key)
    var shown = url
    shown.path = "\(connection.path)/app/\(key)"
    report.add("settings", .passed("\(shown.place), key from \(settings.origin)"))
  }

  /// - Parameter server: Server of the stage; `nil` for the server of the WebSocket.
  private func stage(
    _ name: String, of server: ConnectionSettings? = nil, _ body: () throws(CheckFailure) -> String
  ) {
    attempt(name, of: server) { () throws(CheckFailure) in .passed(try body()) }
  }

  private func attempt(
    _ name: String, of server: ConnectionSettings?, _ body: () throws(CheckFailure) -> CheckOutcome
  ) {
    if let blocked { return report.add(name, .notTried(blocked)) }
    let start = loop.now
    let outcome: CheckOutcome
    do throws(CheckFailure) {
      outcome = try body()
    } catch {
      blocked = "\(name) failed"
      var failure = error
      failure.neighbour = (server ?? connection).neighbour(isProxy: failure.isOfProxy)
      outcome = .failed(failure)
    }
    report.add(name, outcome, after: start.duration(to: loop.now))
  }

  // MARK: Connection

  private func lookUp(_ route: Route) throws(CheckFailure) -> String {
    let host = route.proxy?.host ?? route.host
    let port = route.proxy?.port ?? route.port
    let whose = route.proxy == nil ? "" : " (the proxy)"
    if Resolver.literal(host, port: port) != nil { return "\(host)\(whose) is an address" }
    var answer: Resolver.Answer?
    let ticket = loop.resolver.resolve(host, port: port) { [loop] in
      answer = $0
      loop.stop()
    }
    let isInTime = loop.run(atMost: connection.connectTimeout) { answer != nil }
    loop.resolver.cancel(ticket)
    guard isInTime, let answer else {
      throw CheckFailure(
        expected: "an address of \(host)",
        came: "no answer within \(connection.connectTimeout.inWords)", cause: .unreachable,
        advice: ["check that the name server in /etc/resolv.conf is reachable"])
    }
    switch answer {
    case .success(let addresses) where !addresses.isEmpty:
      var hosts: [String] = []
      for address in addresses where !hosts.contains(address.host) { hosts.append(address.host) }
      return "\(host)\(whose) is \(hosts.joined(separator: ", "))"
    case .success:
      throw failure(
        "an address of \(host)", ConnectionLoss(.resolve(host: host, reason: "it has no address")))
    case .failure(let error): throw failure("an address of \(host)", ConnectionLoss(error))
    }
  }

  private func connect(_ route: Route) throws(CheckFailure) -> String {
    switch StreamTrial.run(loop, to: route, within: connection.connectTimeout) {
    case .success(let opened):
      let family = opened.peer.map { $0.family == .ipv6 ? "IPv6" : "IPv4" } ?? "a socket"
      let way = route.proxy.map { "through \($0)" } ?? "without a proxy"
      return "\(opened.peer?.description ?? route.host) over \(family), \(way)"
    case .failure(let error):
      var problem = failure("a connection to \(place(route))", ConnectionLoss(error))
      problem.advice += neighbours(of: route)
      throw problem
    }
  }

  /// Looks for what works instead: other ports, no proxy, other address families.
  private func neighbours(of route: Route) -> [String] {
    var found: [String] = []
    let time = min(connection.connectTimeout, .seconds(1))
    func answers(_ route: Route) -> Bool {
      if case .success = StreamTrial.run(loop, to: route, within: time) { true } else { false }
    }
    if route.proxy != nil {
      let direct = Route(host: route.host, port: route.port, families: route.families)
      found.append(
        answers(direct)
          ? "it works without the proxy: add --proxy ''"
          : "it does not work without the proxy either")
    }
    let ports: [UInt16] = [443, 80, 6001, 8080]
    for port in ports where port != route.port {
      if answers(Route(host: route.host, port: port, proxy: route.proxy, families: route.families))
      {
        found.append("port \(port) of \(route.host) answers: try --port \(port)")
      }
    }
    if route.families != .any {
      let both = Route(host: route.host, port: route.port, proxy: route.proxy, families: .any)
      if answers(both) { found.append("it works with any address family: omit -4 and -6") }
    }
    if found.isEmpty {
      found.append("no other usual port of \(route.host) answers: is the server running?")
    }
    return found
  }

  private func secure(_ route: Route) throws(CheckFailure) -> String {
    let tls: TLSContext
    do throws(TLSError) {
      tls = try TLSContext.client(connection.tls, environment: connection.trust)
    } catch {
      throw CheckFailure(
        expected: "certificates to trust", came: "\(error)", cause: Cause(starting: error))
    }
    switch StreamTrial.run(loop, to: route, tls: tls, within: connection.connectTimeout) {
    case .success(let opened):
      guard let security = opened.security else { return "TLS" }
      let days = security.daysLeft.map { ", \($0) days left" } ?? ""
      let trust = connection.tls.insecure ? " (not checked: --insecure)" : ""
      return "\(security.version), \(security.cipher), certificate of \(security.subject) "
        + "by \(security.issuer)\(days)\(trust)"
    case .failure(let error):
      throw failure("a TLS handshake with a certificate for \(route.host)", ConnectionLoss(error))
    }
  }

  private func place(_ route: Route) -> String {
    route.proxy.map { "\(url.authority) through \($0)" } ?? "\(route.host) port \(route.port)"
  }

  private func failure(_ expected: String, _ loss: ConnectionLoss) -> CheckFailure {
    CheckFailure(expected, loss, code: nil, settings.subscription, loop)
  }

  // MARK: The HTTP API

  private func checkAPI() {
    guard let access = settings.api else {
      return report.add("http api", .notTried(settings.apiProblem ?? "no app id and secret"))
    }
    // The API has its own address, so failures of the WebSocket say little about it.
    blocked = nil
    stage("http api", of: access.connection) { () throws(CheckFailure) in
      try CheckCalls(access, on: loop).listChannels()
    }
  }

  // MARK: The round trip

  /// Publishes to each channel, or to one of the program's own, and waits for the events.
  ///
  /// - Parameter trouble: Failed stage of the connection; `nil` for none.
  private func checkRoundTrips(_ conversation: CheckConversation, after trouble: String?) {
    guard let plan = settings.roundTrip, let access = settings.api else { return }
    blocked = trouble ?? blocked
    let trip = RoundTrip(
      plan, calls: CheckCalls(access, on: loop), conversation: conversation, loop: loop,
      diagnostics: diagnostics)
    let channels = plan.channels.isEmpty ? [nil] : plan.channels.map(Optional.some)
    for channel in channels {
      let before = blocked
      if blocked == nil, let channel, !conversation.isSubscribed(to: channel) {
        blocked = "\(channel) failed"
      }
      attempt("round trip", of: access.connection) { () throws(CheckFailure) in
        try trip.run(on: channel)
      }
      if conversation.isOpen { blocked = before }
    }
  }
}

extension CheckFailure {
  /// Makes the failure for a loss, after a second look at the port.
  init(
    _ expected: String, _ loss: ConnectionLoss, code: Int?, _ settings: SubscribeSettings,
    _ loop: EventLoop
  ) {
    let isFound = SecondLook(settings.connection).find(Hints.problem(loss), on: loop, run: loop.run)
    let came = settings.hints.explained("\(loss)", loss, code: code, isFound: isFound)
    self.init(expected: expected, came: came, cause: Cause(loss, code: code))
    note(loss)
  }

  mutating func note(_ loss: ConnectionLoss) {
    isMismatch = loss.isMismatch
    if case .network(_, .proxy?) = loss { isOfProxy = true }
  }
}

extension ConnectionSettings {
  /// The unreachable part on this machine, in words; `nil` for another machine.
  fileprivate func neighbour(isProxy: Bool) -> String? {
    let proxy = proxy(to: host)
    if isProxy { return proxy.map { Loopback.contains($0.host) } == true ? "the proxy" : nil }
    return proxy == nil && Loopback.contains(host) ? "the server" : nil
  }
}

extension ConnectionLoss {
  fileprivate var isMismatch: Bool {
    guard case .network(_, let problem?) = self else { return false }
    return [.handshakeClosed, .notTLS, .onlyTLS, .unknownName].contains(problem)
  }
}

extension EventLoop {
  /// Runs until the condition holds, or `time` has passed; returns whether it holds.
  func run(atMost time: Duration, until isSo: () -> Bool) -> Bool {
    var isLate = false
    let timer = schedule(after: time) { [unowned self] in
      isLate = true
      stop()
    }
    defer { remove(timer) }
    while !isSo(), !isLate { run() }
    return isSo()
  }
}

/// Opens a stream, with or without TLS, and closes it; runs the loop meanwhile.
final class StreamTrial: SocketStreamDelegate {
  typealias Opened = (peer: SocketAddress?, security: TLSSummary?)

  private let loop: EventLoop
  private var result: Result<Opened, TransportError>?

  private init(_ loop: EventLoop) { self.loop = loop }

  static func run(
    _ loop: EventLoop, to route: Route, tls: TLSContext? = nil, within time: Duration
  ) -> Result<Opened, TransportError> {
    let trial = StreamTrial(loop)
    let stream = SocketStream.connect(
      loop: loop, to: route, tls: tls, deadline: loop.now.advanced(by: time), delegate: trial)
    loop.run()
    stream.close()
    return trial.result ?? .failure(.timeout(.connecting))
  }

  private func end(_ result: Result<Opened, TransportError>) {
    guard self.result == nil else { return }
    self.result = result
    loop.stop()
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    end(.success((stream.peer, stream.security)))
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    end(.failure(error))
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {}
  func streamWritable(_ stream: SocketStream, at now: Instant) {}
}
