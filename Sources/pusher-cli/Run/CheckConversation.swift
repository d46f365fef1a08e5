internal import PusherCore

/// The stages of `check` on one connection: upgrade, greeting, ping and subscriptions.
final class CheckConversation {
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
    do {
      try start()
    } catch {
      throw CheckFailure(expected: expected, came: "\(error)", cause: Cause(starting: error))
    }
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
    diagnostics.debug("\(isSent ? ">" : "<") \(Redaction.redact(text()))")
  }

  func feedSinkIsFull() {}
  func feedClosed() { loop.stop() }
}

/// Leaves every message to the session.
final class NoSink: EventSink {}

/// Looks for the cluster of pusher.com that knows an app key, after the given one did not.
enum ClusterSearch {
  private static let patience = Duration.seconds(2)

  static func advice(
    _ settings: SubscribeSettings, loop: EventLoop, diagnostics: Diagnostics
  ) -> [String] {
    guard let asked = settings.connection.cluster, PusherService.clusters.contains(asked) else {
      return []
    }
    for cluster in PusherService.clusters where cluster != asked {
      var neighbour = settings
      neighbour.connection.host = settings.connection.service.host(cluster: cluster)
      neighbour.connection.network.connectTimeout = min(
        settings.connection.connectTimeout, patience)
      let conversation = CheckConversation(neighbour, loop: loop, diagnostics: diagnostics)
      defer { conversation.close() }
      if (try? conversation.upgrade()) != nil, (try? conversation.waitForGreeting()) != nil {
        return ["cluster \(cluster) knows this key: add --cluster \(cluster)"]
      }
    }
    return ["no other public cluster knows this key: is it the app key, and not the app id?"]
  }
}
