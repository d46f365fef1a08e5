internal import PusherCore

/// One run of `check`, with the stages in the order that a subscription needs them.
final class CheckRun: SocketStreamDelegate {
  private let settings: CheckSettings
  private let report: CheckReport
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private var blocked: String?
  private typealias Trial = Result<(peer: SocketAddress?, security: TLSSummary?), TransportError>
  /// Result of the last attempt to open a stream.
  private var trial: Trial?

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
      report.skip("tls", "the scheme is http")
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
      failure.advice += clusterAdvice()
      throw failure
    }
  }

  /// Looks for the cluster of pusher.com that knows the app key, after the given one did not.
  private func clusterAdvice() -> [String] {
    guard let asked = connection.cluster, PusherService.clusters.contains(asked) else { return [] }
    for cluster in PusherService.clusters where cluster != asked {
      var neighbour = settings.subscription
      neighbour.connection.host = connection.service.host(cluster: cluster)
      neighbour.connection.network.connectTimeout = min(connection.connectTimeout, .seconds(2))
      let conversation = CheckConversation(neighbour, loop: loop, diagnostics: diagnostics)
      defer { conversation.close() }
      if (try? conversation.upgrade()) != nil, (try? conversation.waitForGreeting()) != nil {
        return ["cluster \(cluster) knows this key: add --cluster \(cluster)"]
      }
    }
    return ["no other public cluster knows this key: is it the app key, and not the app id?"]
  }

  private func tellSettings() {
    let key = Diagnostics.shortened(key: connection.key)
    var shown = url
    shown.path = "\(connection.path)/app/\(key)"
    report.pass("settings", "\(shown.place), key from \(settings.origin)")
  }

  /// - Parameter server: Server of the stage; `nil` for the server of the WebSocket.
  private func stage(
    _ name: String, of server: ConnectionSettings? = nil, _ body: () throws(CheckFailure) -> String
  ) {
    attempt(name, of: server) { () throws(CheckFailure) in
      let start = loop.now
      let detail = try body()
      report.pass(name, detail, after: start.duration(to: loop.now))
    }
  }

  /// Runs a stage, which reports its success itself, unless an earlier stage failed.
  private func attempt(
    _ name: String, of server: ConnectionSettings?, _ body: () throws(CheckFailure) -> Void
  ) {
    if let blocked { return report.skip(name, blocked) }
    let start = loop.now
    do throws(CheckFailure) {
      try body()
    } catch {
      blocked = "\(name) failed"
      var failure = error
      failure.neighbour = (server ?? connection).neighbour(isProxy: failure.isOfProxy)
      report.fail(name, failure, after: start.duration(to: loop.now))
    }
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
    switch open(route, within: connection.connectTimeout) {
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

  /// Opens a stream, with or without TLS, and closes it; runs the loop meanwhile.
  private func open(
    _ route: Route, tls: TLSContext? = nil, within time: Duration
  ) -> Trial {
    trial = nil
    let stream = SocketStream.connect(
      loop: loop, to: route, tls: tls, deadline: loop.now.advanced(by: time), delegate: self)
    loop.run()
    stream.close()
    return trial ?? .failure(.timeout(.connecting))
  }

  private func end(_ result: Trial) {
    trial = trial ?? result
    loop.stop()
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    end(.success((stream.peer, stream.security)))
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    end(.failure(error))
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {}

  /// Looks for what works instead: other ports, no proxy, other address families.
  private func neighbours(of route: Route) -> [String] {
    var found: [String] = []
    let time = min(connection.connectTimeout, .seconds(1))
    func answers(_ route: Route) -> Bool {
      if case .success = open(route, within: time) { true } else { false }
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
    if route.families != SocketAddress.Family.both {
      let both = Route(
        host: route.host, port: route.port, proxy: route.proxy, families: SocketAddress.Family.both)
      if answers(both) { found.append("it works with any address family: omit -4 and -6") }
    }
    if found.isEmpty {
      found.append("no other usual port of \(route.host) answers: is the server running?")
    }
    return found
  }

  private func secure(_ route: Route) throws(CheckFailure) -> String {
    let tls = try CheckFailure.starting("certificates to trust") {
      try TLSContext.client(connection.tls, environment: connection.trust)
    }
    switch open(route, tls: tls, within: connection.connectTimeout) {
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
      return report.skip("http api", settings.apiProblem ?? "no app id and secret")
    }
    // The API has its own address, so failures of the WebSocket say little about it.
    blocked = nil
    stage("http api", of: access.connection) { () throws(CheckFailure) in
      let expected = "HTTP 200 for a signed GET to \(access.connection.host)"
      let answer = try answer(to: .channels(appID: access.appID), of: access, expected)
      let clock = answer.skew.map { "; \($0)" } ?? ""
      return "HTTP \(answer.status), the signature is right\(clock)"
    }
  }

  /// Calls the API; `skew` is the difference of the clocks in words, `nil` if small or unknown.
  private func answer(
    to call: APIRequest, of access: APIAccess, _ expected: String
  ) throws(CheckFailure) -> (status: Int, body: String, skew: String?) {
    let client = access.client
    let outcome = try CheckFailure.starting(expected) {
      let calls = try access.calls(on: loop)
      defer { calls.close() }
      return try calls.answer(to: client.request(call), of: client, on: loop, run: loop.run)
    }
    let (answer, head): (APIAnswer, HTTPResponseHead)
    switch outcome {
    case .success(let given): (answer, head) = given
    case .failure(let failure): throw problem(failure, of: access.connection, expected)
    }
    let skew = Self.skew(head)
    switch answer {
    case .accepted(let body): return (head.status, body, skew)
    case .refused(_, _, let refusal):
      var advice = ["check that app id \(access.appID) and the secret belong to this key"]
      if refusal != .signature || !client.prefix.isEmpty {
        advice = [Hints.advice(refusal, of: client)]
      }
      if let skew { advice.insert("set the clock: \(skew)", at: 0) }
      throw CheckFailure(
        expected: expected, came: answer.words, cause: .notAllowed, advice: advice)
    case .rejected, .unavailable, .unexpected:
      let hint = Hints.hint(answer, of: client, access.connection) { problem in
        look(at: access.connection, problem)
      }
      throw CheckFailure(
        expected: expected, came: answer.words + hint, cause: Cause(httpStatus: answer.status))
    }
  }

  private func problem(
    _ failure: HTTPExchange.Failure, of connection: ConnectionSettings, _ expected: String
  ) -> CheckFailure {
    let isFound = look(at: connection, Hints.problem(failure))
    var problem = CheckFailure(
      expected: expected, came: Hints.explained(failure, connection, isFound: isFound),
      cause: Cause(failure))
    switch failure {
    case .transport(let error): problem.note(ConnectionLoss(error))
    case .http(.foreign(.tls)): problem.isMismatch = true
    case .http, .timeout: break
    }
    return problem
  }

  private func look(at connection: ConnectionSettings, _ problem: NetworkProblem?) -> Bool {
    SecondLook(connection).find(problem, on: loop, run: loop.run)
  }

  /// Compares our clock with the server's; ignores less than 2 s, because `Date` has whole seconds.
  private static func skew(_ head: HTTPResponseHead) -> String? {
    let now = SystemClock.wall()
    guard let date = head.headers["Date"], let theirs = HTTPDate.parse(date, now: now) else {
      return nil
    }
    let seconds = theirs.secondsSince1970 - now.secondsSince1970
    guard seconds.magnitude >= 2 else { return nil }
    return "this machine's clock is \(seconds.magnitude) s "
      + "\(seconds > 0 ? "behind" : "ahead of") the server's"
  }

  // MARK: The round trip

  /// Publishes to each channel, or to one of the program's own, and waits for the events.
  ///
  /// - Parameter trouble: Failed stage of the connection; `nil` for none.
  private func checkRoundTrips(_ conversation: CheckConversation, after trouble: String?) {
    guard let plan = settings.roundTrip, let access = settings.api else { return }
    blocked = trouble ?? blocked
    let channels = plan.channels.isEmpty ? [nil] : plan.channels.map(Optional.some)
    for channel in channels {
      let before = blocked
      if blocked == nil, let channel, !conversation.isSubscribed(to: channel) {
        blocked = "\(channel) failed"
      }
      attempt("round trip", of: access.connection) { () throws(CheckFailure) in
        try makeRoundTrip(on: channel, plan, access, conversation)
      }
      if conversation.isOpen { blocked = before }
    }
  }

  /// Publishes an event, which must come back on the subscription.
  ///
  /// - Parameter channel: A subscribed channel; `nil` for one of the program's own.
  private func makeRoundTrip(
    on channel: String?, _ plan: RoundTripSettings, _ access: APIAccess,
    _ conversation: CheckConversation
  ) throws(CheckFailure) {
    do throws(CheckFailure) {
      let event = CheckEvent(on: channel ?? CheckEvent.ownChannel())
      if channel == nil { _ = try conversation.subscribe(to: event.channel) }
      conversation.expect(event)
      let start = loop.now
      try publish(event, encryptedWith: plan.encryptionKey, access)
      diagnostics.info("published \(CheckEvent.name) to \(event.channel)")
      guard let arrival = try conversation.arrival() else { throw missing(event, access) }
      let time = start.duration(to: arrival)
      if let warning = Self.warning(after: time) { diagnostics.warning(warning) }
      report.pass(
        "round trip", time.inMilliseconds + (channel.map { " on \($0)" } ?? ""), after: time,
        showsTime: false, advice: plan.app.advice(afterSuccessOn: channel))
    } catch {
      var failure = error
      failure.advice += plan.app.adviceAfterFailure
      throw failure
    }
  }

  private func publish(
    _ event: CheckEvent, encryptedWith key: EncryptionMasterKey?, _ access: APIAccess
  ) throws(CheckFailure) {
    let expected = "HTTP 200 for an event to \(access.connection.host)"
    let call = try CheckFailure.starting(expected) {
      try TriggerRequest(name: CheckEvent.name, channels: [event.channel], data: event.data)
        .encrypted(with: key).request(appID: access.appID)
    }
    _ = try answer(to: call, of: access, expected)
  }

  /// The warning about a late event; a server on another continent needs less than a second.
  static func warning(after time: Duration) -> String? {
    guard time > .seconds(1) else { return nil }
    return "round trip: the event came late, after \(time.inWords); "
      + "are the server, its Redis or a proxy on the way busy?"
  }

  /// Asks the HTTP API whether it knows the subscription, which tells two servers from one.
  private func missing(_ event: CheckEvent, _ access: APIAccess) -> CheckFailure {
    var failure = CheckFailure(
      expected: "the event on \(event.channel)",
      came: "the HTTP API accepted the event, but nothing came within "
        + access.connection.connectTimeout.inWords,
      cause: .overloaded)
    let call = APIRequest.channel(event.channel, appID: access.appID)
    let body = (try? answer(to: call, of: access, ""))?.body
    switch body.flatMap({ try? JSONParser.parse($0) })?["occupied"]?.bool {
    case false?:
      failure.isMismatch = true
      failure.advice = [
        "the HTTP API sees no subscriber: it serves another app or another node than the WebSocket",
        "check app id \(access.appID) and --api-url; do all nodes share one Redis?",
      ]
    case true?:
      failure.advice = ["the HTTP API sees the subscriber, so the event got lost inside the server"]
    case nil:
      failure.advice = ["the HTTP API does not say whether it sees the subscriber"]
    }
    return failure
  }
}

extension CheckFailure {
  /// Returns the value of `body`, or throws what failed on this machine before the first byte.
  static func starting<Value>(
    _ expected: String, _ body: () throws -> Value
  ) throws(CheckFailure) -> Value {
    do {
      return try body()
    } catch {
      throw CheckFailure(expected: expected, came: "\(error)", cause: Cause(starting: error))
    }
  }

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

/// The stages of `check` on one connection: upgrade, greeting, ping and subscriptions.
private final class CheckConversation {
  private let settings: SubscribeSettings
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var feed: ChannelsFeed?
  private var isUpgraded = false
  private var greeting: (socketID: String, activityTimeout: Duration)?
  private var loss: (loss: ConnectionLoss, code: Int?)?
  private var limit: RateLimit?
  private var hasPong = false
  private var subscribed: [String: String] = [:]
  private var refused: [String: SubscriptionFailure] = [:]
  private var awaited: (event: CheckEvent, arrival: Instant?)?

  init(_ settings: SubscribeSettings, loop: EventLoop, diagnostics: Diagnostics) {
    (self.settings, self.diagnostics, self.loop) = (settings, diagnostics, loop)
  }

  var lossCode: Int? { loss?.code }
  var isOpen: Bool { greeting != nil && loss == nil }
  func isSubscribed(to channel: String) -> Bool { subscribed[channel] != nil }

  func upgrade() throws(CheckFailure) -> String {
    let expected = "101 from \(settings.connection.host) for the upgrade to WebSocket"
    try CheckFailure.starting(expected) { try start() }
    try wait(for: expected) { self.isUpgraded && (self.loss == nil || self.hasEndedLater) }
    return "101, the server speaks WebSocket"
  }

  /// True if the connection ended after the upgrade.
  private var hasEndedLater: Bool {
    if case .closed? = loss?.loss { true } else { false }
  }

  private func start() throws {
    var options = settings.sessionOptions()
    options.reconnect = ReconnectPolicy(mode: .never)
    let feed = try settings.makeFeed(
      options, sink: NoSink(), loop: loop, refresh: settings.refresh(loop, diagnostics))
    self.feed = feed
    feed.delegate = self
    feed.connect()
  }

  func waitForGreeting() throws(CheckFailure) -> String {
    try wait(for: "connection_established, the protocol's greeting") { self.greeting != nil }
    guard let greeting else { return "" }
    return "socket \(greeting.socketID), activity timeout \(greeting.activityTimeout.inWords)"
  }

  func ping() throws(CheckFailure) -> String {
    feed?.connection?.send(ClientCommand(service: settings.connection.service).ping)
    try wait(for: "a pong") { self.hasPong }
    return "answered"
  }

  func subscribe(to channel: String) throws(CheckFailure) -> String {
    feed?.subscribe(channel)
    try wait(for: "pusher_internal:subscription_succeeded for \(channel)") {
      self.subscribed[channel] != nil || self.refused[channel] != nil
    }
    if let failure = refused[channel] {
      let status = failure.status.map { " (status \($0))" } ?? ""
      throw CheckFailure(
        expected: "\(authoriser(of: channel))confirmed by the server",
        came: "\(failure.type): \(Redaction.redact(failure.message))\(status)",
        cause: Cause(failure), advice: advice(for: channel))
    }
    return "\(authoriser(of: channel))subscribed\(subscribed[channel] ?? "")"
  }

  /// Notes the arrival of an event from now on; the event is published after this call.
  func expect(_ event: CheckEvent) { awaited = (event, nil) }

  /// Waits for the expected event; returns `nil` if it does not come in time.
  func arrival() throws(CheckFailure) -> Instant? {
    _ = loop.run(atMost: settings.connection.connectTimeout) {
      awaited?.arrival != nil || loss != nil
    }
    if let arrival = awaited?.arrival { return arrival }
    guard let (loss, code) = loss else { return nil }
    throw CheckFailure("the event on this connection", loss, code: code, settings, loop)
  }

  private func authoriser(of channel: String) -> String {
    guard ChannelKind(channelName: channel).needsAuthorization else { return "" }
    return switch settings.authorization {
    case .secret: "signed with the secret, "
    case .endpoint: "authorised by the endpoint, "
    case .command: "authorised by the command, "
    case .unavailable: ""
    }
  }

  private func advice(for channel: String) -> [String] {
    guard ChannelKind(channelName: channel).needsAuthorization else { return [] }
    let key = Diagnostics.shortened(key: settings.connection.key)
    return switch settings.authorization {
    case .secret: ["check that the secret belongs to key \(key)"]
    case .endpoint(let endpoint): ["check the answer of \(Disclosure.place.shown(endpoint.url))"]
    case .command: ["run the command of --auth-command by hand"]
    case .unavailable: []
    }
  }

  /// Closes the connection, and waits up to 200 ms for the server's close frame.
  func close() {
    guard let feed, !feed.isClosed else { return }
    feed.disconnect()
    if !loop.run(atMost: .milliseconds(200), until: { feed.isClosed }) { feed.abort() }
    while !feed.isClosed { loop.run() }
  }

  /// Runs the loop until the condition holds; throws after a loss or a timeout.
  private func wait(for expected: String, until isSo: () -> Bool) throws(CheckFailure) {
    let limit = settings.connection.connectTimeout
    _ = loop.run(atMost: limit) { isSo() || loss != nil }
    if isSo() { return }
    if loss == nil, let came = self.limit.map({ Redaction.redact($0.cause) }) {
      throw CheckFailure(expected: expected, came: came, cause: .overloaded)
    }
    guard let (loss, code) = loss else {
      throw CheckFailure(
        expected: expected, came: "no answer within \(limit.inWords)", cause: .unreachable)
    }
    throw CheckFailure(expected, loss, code: code, settings, loop)
  }
}

extension CheckConversation: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    guard let awaited, awaited.arrival == nil, awaited.event.isCarried(by: event) else { return }
    self.awaited = (awaited.event, now)
    loop.stop()
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    switch event {
    case .connected(let socketID, let activityTimeout): greeting = (socketID, activityTimeout)
    case .pong: hasPong = true
    case .subscribed(let channel, let presence):
      limit = nil
      subscribed[channel] = presence.map { ", \(Quantities.words($0.count, of: "member"))" } ?? ""
    case .subscriptionFailed(let channel, let failure): refused[channel] = failure
    case .rateLimited(let limit): self.limit = limit
    default: return
    }
    loop.stop()
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    switch event {
    case .upgraded: isUpgraded = true
    case .ended(.lost(let loss, let code)), .ended(.retriesExhausted(let loss, let code, _)):
      self.loss = (loss, code)
    default: return
    }
    loop.stop()
  }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    diagnostics.trace(text(), isSent: isSent)
  }

  func feedSinkIsFull() {}
  func feedClosed() { loop.stop() }
}

/// Leaves every message to the session.
final class NoSink: EventSink {}

/// The event of `check --publish`; its data tells it from the event of every other run.
struct CheckEvent: Equatable, Sendable {
  static let name = "pusher-cli-check"

  let channel: String
  /// 32 hexadecimal digits.
  let token: String

  init(on channel: String, token: String = Hex.encode(SecureRandom.bytes(16))) {
    (self.channel, self.token) = (channel, token)
  }

  /// Returns the name of a public channel that no app uses.
  static func ownChannel() -> String { "\(name)-\(Hex.encode(SecureRandom.bytes(4)))" }

  var data: String { #"{"token":"\#(token)"}"# }

  func isCarried(by event: Envelope) -> Bool {
    event.eventName.isSame(as: Self.name) && event.channelName?.isSame(as: channel) == true
      && event.dataText?.holds(Array(token.utf8)) == true
  }
}

/// Advice about an app whose events do not come; a given `.env` makes it specific.
extension BroadcastingApp {
  private static let page = "more: docs/when-nothing-arrives.md"

  /// Returns the advice after an event came back: the server delivers, so the rest is the app's.
  ///
  /// - Parameter channel: Channel of the command line; `nil` for one of the program's own.
  func advice(afterSuccessOn channel: String?) -> [String] {
    [
      "the server delivers; if events of the app do not come, look at the app:",
      detour ?? broadcasterAdvice, queueAdvice, Self.nameAdvice(channel),
      "Laravel Echo wants a leading dot before a name of broadcastAs(): listen('.order.created')",
      Self.page,
    ]
  }

  /// The advice after an event was refused or did not come.
  var adviceAfterFailure: [String] {
    ["events of the app go the same way: repair this first", detour, Self.page].compactMap(\.self)
  }

  private var broadcasterAdvice: String {
    if let setting = broadcaster {
      return "\(setting.origin) is '\(setting.value)': is it so where the app runs?"
    }
    guard let file else {
      return "Laravel sends only if BROADCAST_CONNECTION is reverb or pusher: give its .env with "
        + "--env-file"
    }
    return "\(file) has no BROADCAST_CONNECTION: set it to reverb or pusher"
  }

  private var queueAdvice: String {
    switch queue {
    case let queue? where queue.value.isSame(as: "sync"):
      "\(queue.origin) is 'sync': events need no queue worker"
    case let queue?:
      "\(queue.origin) is '\(queue.value)': does a queue worker run (php artisan queue:work)? "
        + "only ShouldBroadcastNow needs none"
    case nil:
      "does a queue worker run (php artisan queue:work)? only ShouldBroadcastNow needs none"
    }
  }

  private static func nameAdvice(_ channel: String?) -> String {
    guard let channel else {
      return "does the app send to the channel of your subscriber, with private- or presence-?"
    }
    guard ChannelKind(channelName: channel) == .public else {
      return "does the app send to \(channel)? "
        + "PrivateChannel and PresenceChannel of Laravel add the prefix"
    }
    return "does the app send to \(channel)? private-\(channel) and presence-\(channel) are "
      + "different channels"
  }
}

struct CheckFailure: Error {
  var expected: String
  var came: String
  var cause: Cause
  /// True if the settings do not fit a server that may be fine.
  var isMismatch = false
  /// True if a proxy was unreachable, or refused to connect.
  var isOfProxy = false
  /// The unreachable part on this machine, in words; `nil` for another machine.
  var neighbour: String?
  /// Results of further checks, and remedies.
  var advice: [String] = []

  var fault: String {
    if isMismatch { return "your settings" }
    return switch cause {
    case .settings, .notAllowed: "you"
    case .unreachable, .time: neighbour ?? "the network"
    case .overloaded, .refused, .brokenProtocol, .unmet: "the server"
    case .defect, .output: "this program"
    }
  }
}

/// Prints each stage as it ends, in columns or as JSON lines.
private final class CheckReport {
  private let isJSON: Bool
  private let diagnostics: Diagnostics
  private var printStatus = ExitStatus.success
  private(set) var failure: ExitStatus?

  private let width: Int
  private static let leastWidth = 14
  private static let mostWidth = 40

  init(isJSON: Bool, channels: [String], diagnostics: Diagnostics) {
    self.isJSON = isJSON
    let widths = channels.map { Diagnostics.escaped($0).count }.filter { $0 <= Self.mostWidth }
    width = max(Self.leastWidth, widths.max() ?? 0)
    self.diagnostics = diagnostics
  }

  var status: ExitStatus { printStatus == .success ? failure ?? .success : printStatus }

  /// - Parameters:
  ///   - showsTime: False if the detail has the time.
  ///   - advice: Says what to look at in the app.
  func pass(
    _ stage: String, _ detail: String, after time: Duration? = nil, showsTime: Bool = true,
    advice: [String]? = nil
  ) {
    add(stage, "ok", detail, after: time, showsTime: showsTime, advice: advice)
  }

  /// An earlier stage failed, or a requirement is missing.
  func skip(_ stage: String, _ reason: String) { add(stage, "not tried", reason) }

  func fail(_ stage: String, _ problem: CheckFailure, after time: Duration) {
    failure = failure ?? problem.cause.status
    add(stage, "failed", problem.came, after: time, problem, advice: problem.advice)
  }

  private func add(
    _ stage: String, _ result: String, _ detail: String,
    after time: Duration? = nil, showsTime: Bool = true, _ problem: CheckFailure? = nil,
    advice: [String]? = nil
  ) {
    guard printStatus == .success else { return }
    guard !isJSON else {
      let line = JSONValue.object(present: [
        "stage": .string(stage), "result": .string(result), "detail": .string(detail),
        "expected": problem.map { .string($0.expected) },
        "fault": problem.map { .string($0.fault) },
        "advice": advice.map { .array($0.map { .string($0) }) },
        "seconds": time.map { .number($0.secondsText) },
      ])
      printStatus = diagnostics.print(line.jsonText + "\n")
      return
    }
    let name = Diagnostics.escaped(stage)
    let indent = String(repeating: " ", count: width + 2)
    let head = name.count > width ? name + "\n" + indent : name + indent.dropFirst(name.count)
    let suffix = time.map { showsTime ? " (\($0.inMilliseconds))" : "" } ?? ""
    let causes = problem.map { ["expected: \($0.expected)", "at fault: \($0.fault)"] } ?? []
    let details = (causes + (advice ?? [])).map { indent + Diagnostics.escaped($0) + "\n" }
    printStatus = diagnostics.print(
      head + Diagnostics.escaped("\(problem == nil ? result : "FAILED"): \(detail)\(suffix)") + "\n"
        + details.joined())
  }
}

extension Duration {
  /// Formats a time, such as `12.3 ms`.
  fileprivate var inMilliseconds: String {
    let tenths = wholeNanoseconds / 100_000
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
