internal import PusherCore
internal import PusherServer

extension WebhookSendSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    PrintingRun.start(diagnostics, subscription.feed) { loop, descriptor in
      subscription.connection.waitForLocalServer(
        atMost: subscription.feed.run.timeout, on: loop, diagnostics)
      return try WebhookSendRun(self, origin, descriptor, loop: loop, diagnostics).start()
    }
  }

  /// - Throws: ``TLSError`` if certificates of receivers cannot be checked.
  fileprivate func dispatcher(
    on loop: EventLoop, report: @escaping (ServerLogEvent) -> Void
  ) throws -> WebhookDispatcher {
    var app = Application(
      id: access.appID, key: access.connection.key, secret: access.secret.revealed)
    app.webhooks = receivers
    let tls = try access.connection.network.tls(forOthersAt: receivers)
    guard
      let dispatcher = WebhookDispatcher(
        app, loop: loop, tls: tls, policy: policy, report: report, onIdle: {})
    else { throw UsageError("no receiver: give --to URL") }
    return dispatcher
  }
}

/// Runs `webhook send`: watches the channels of a server without webhooks, and sends webhooks.
final class WebhookSendRun {
  private let settings: WebhookSendSettings
  let run: PrintingRun
  private let channels: ChannelsLifecycle
  private let members: ChannelMembership
  private let lister: ChannelLister
  /// Made at the start.
  private var dispatcher: WebhookDispatcher?
  private var sentCount = 0
  private var hasLost = false
  private let diagnostics: Diagnostics
  private var watch: WebhookWatch
  /// Warnings that were given once.
  private var said: Set<String> = []
  private var isClosed = false

  private var feed: ChannelsFeed { members.feed }
  private var subscription: SubscribeSettings { settings.subscription }
  private var host: String { settings.subscription.connection.host }

  init(
    _ settings: WebhookSendSettings, _ origin: Resolved, _ descriptor: OutputDescriptor,
    loop: EventLoop, _ diagnostics: Diagnostics
  ) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    let subscription = settings.subscription
    run = try PrintingRun(
      subscription.feed, network: subscription.connection.network, descriptor: descriptor,
      loop: loop, diagnostics: diagnostics)
    let refresh = subscription.refresh(loop, diagnostics, from: origin)
    let feed = try subscription.makeFeed(
      subscription.sessionOptions(longestSilence: run.readiness.manager.longestSilence),
      sink: NoSink(), loop: loop, refresh: refresh)
    members = ChannelMembership(subscription.channels, feed: feed)
    channels = ChannelsLifecycle(
      settings: subscription, loop: loop, diagnostics: diagnostics, printer: nil,
      members: members)
    lister = try ChannelLister(
      settings.access, secret: refresh, every: settings.interval, channels: members, loop: loop,
      diagnostics: diagnostics)
    watch = WebhookWatch(settings.watch)
  }

  func start() throws -> ExitStatus {
    dispatcher = try settings.dispatcher(on: run.loop) { [unowned self] in note($0) }
    feed.delegate = self
    run.readiness.manager.status("connecting to \(host)")
    for channel in subscription.channels { feed.subscribe(channel) }
    lister.onList = { [unowned self] list in
      apply(watch.take(list, standing: lister.standing))
      becomeReady()
    }
    lister.onRefusal = { [unowned self] in
      run.end(.refused($0.status, reason: "no list of channels"))
    }
    return try run.run(self, feed, nil)
  }

  // MARK: Changes

  private func apply(_ changes: WebhookWatch.Changes) {
    for channel in changes.channels.leave {
      diagnostics.info("left \(channel): no other subscribers")
      members.leave(channel)
    }
    for channel in changes.channels.join { members.join(channel) }
    send(changes.notices)
    if changes.channels.leftOut > 0 {
      warnOnce(
        ChannelSearch.words(
          leftOut: changes.channels.leftOut, of: "presence channel",
          limit: settings.watch.channelLimit),
        about: "limit")
    }
    if let channel = changes.uncounted {
      warnOnce(
        "the server does not count the subscribers of \(channel), which this program joined: "
          + "no webhook reports whether others are there", about: "count")
    }
  }

  private func warnOnce(_ text: String, about subject: String) {
    if said.insert(subject).inserted { diagnostics.warning(text) }
  }

  private func send(_ notices: [WebhookNotice]) {
    if diagnostics.isShown(.info) {
      for notice in notices {
        let user = notice.userID.map { " \($0)" } ?? ""
        diagnostics.info("\(notice.kind.rawValue) \(notice.channel)\(user)")
      }
    }
    dispatcher?.take(notices, at: run.loop.now)
  }

  private func becomeReady() {
    guard lister.hasList, members.areAllSettled else { return }
    run.readiness.report("watching the channels of \(host)")
  }

  /// Reports what became of a webhook.
  private func note(_ event: ServerLogEvent) {
    event.isProblem ? diagnostics.warning("\(event)") : diagnostics.info("\(event)")
    switch event {
    case .webhookSent: sentCount += 1
    case .webhookDropped, .webhooksDiscarded:
      hasLost = true
      // Before the end, the run asks for the failure itself.
      if run.isEnding, let failure = failure() {
        run.end(.failed(failure.status, reason: failure.reason))
      }
    default: break
    }
  }

  /// Gives up the webhooks that are left, and reports them.
  private func closeWebhooks() {
    guard !isClosed else { return }
    isClosed = true
    dispatcher?.close()
  }
}

extension WebhookSendRun: RunPart {
  var lifecycle: Lifecycle { channels }
  var command: Command { .webhook }

  var interruption: String? {
    guard feed.session.isConnected else { return "no connection (\(channels.state))" }
    return lister.hasList ? nil : "no list of channels"
  }

  var obstacle: Obstacle? {
    if channels.hasBeenOpen, lister.hasList { return nil }
    return channels.obstacle(channels.hasBeenOpen ? "no list of channels" : "no connection")
  }

  func printStatus() {
    diagnostics.answer(
      "\(channels.state), \(Quantities.words(watch.occupiedCount, of: "occupied channel")), "
        + "\(Quantities.words(sentCount, of: "webhook")) sent, \(dispatcher?.openCount ?? 0) waiting"
    )
  }

  func roundEnded() { channels.flushPendingError() }

  func noted(_ event: ConnectionEvent) {
    if case .disconnected = event { lister.disconnected() }
  }

  func failure() -> (status: ExitStatus, reason: String)? {
    hasLost ? (Cause.unreachable.status, "webhooks") : nil
  }

  func endBegins() {
    lister.stop()
    dispatcher?.finish()
    run.loop.schedule(after: settings.policy.grace) { [unowned self] in closeWebhooks() }
  }

  var isHolding: Bool { dispatcher?.isIdle == false }

  func outputEnded() {
    closeWebhooks()
    diagnostics.info("sent \(Quantities.words(sentCount, of: "webhook"))")
  }
}

extension WebhookSendRun: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    guard !run.isEnding, let notice = watch.clientEvent(event, named: name) else { return }
    send([notice])
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    channels.report(event)
    switch event {
    case .connected: connected()
    case .subscribed(let channel, let presence):
      members.subscribed(channel)
      if let presence {
        let ids = presence.members.map(\.userId)
        apply(watch.joined(channel, members: ids, isCut: presence.isCut))
      }
      becomeReady()
    case .memberAdded(let channel, let member): apply(watch.memberAdded(member.userId, to: channel))
    case .memberRemoved(let channel, let member):
      apply(watch.memberRemoved(member.userId, from: channel))
    case .subscriptionFailed(let channel, let failure): refused(channel, failure)
    default: break
    }
  }

  private func connected() {
    members.connected()
    run.readiness.manager.status("connected to \(host)")
    if lister.connected() {
      diagnostics.info(
        "looking for occupied channels every \(settings.interval.inWords); a channel that comes "
          + "and goes between two looks is missed")
    }
    becomeReady()
  }

  /// Ends the run for a channel of the command line; a look decides about any other.
  private func refused(_ channel: String, _ failure: SubscriptionFailure) {
    members.refuse(channel)
    guard !members.isTyped(channel) else {
      return run.end(.refused(Cause(failure).status, reason: "subscription refused"))
    }
    members.giveUp(channel)
    becomeReady()
  }
}
