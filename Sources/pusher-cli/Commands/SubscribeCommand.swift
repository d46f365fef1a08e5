internal import PusherCore

extension SubscribeSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    RunDriver.start(diagnostics, feed) { loop, descriptor in
      let limits = [feed.run.timeout, feed.run.idleTimeout].compactMap(\.self)
      LocalServerWait.run(connection, atMost: limits.min(), on: loop, diagnostics)
      return try SubscribeRun(
        self, origin: origin, descriptor: descriptor, loop: loop, diagnostics: diagnostics
      ).start()
    }
  }
}

extension CheckSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    diagnostics.outcome { try CheckRun(self, diagnostics: diagnostics).run() }
  }
}

final class SubscribeRun {
  private let settings: SubscribeSettings
  let run: PrintingRun
  private var feed: ChannelsFeed { members.feed }
  private let printer: Printer
  let lifecycle: Lifecycle
  private let channels: ChannelsLifecycle
  private let members: ChannelMembership
  private let discovery: Discovery?
  private let diagnostics: Diagnostics
  private var orders: InputOrders?
  private let repair: GapRepair?
  private var wasConnected = false
  private var wasSignedIn = false
  private var lastLoss: (loss: ConnectionLoss, code: Int?)?
  private var limit: RateLimit?
  private var droppedEvents = 0
  private var refusedEvents = 0

  init(
    _ settings: SubscribeSettings, origin: Resolved, descriptor: OutputDescriptor,
    loop: EventLoop, diagnostics: Diagnostics
  ) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    let service = settings.connection.service
    run = try PrintingRun(
      settings.feed, network: settings.connection.network, descriptor: descriptor, loop: loop,
      diagnostics: diagnostics)
    printer = Printer(
      settings: settings.printing, service: service, output: run.output.buffer,
      isTerminal: descriptor.isTerminal, receiver: run.handler, record: run.record?.buffer,
      columns: { descriptor.columns }, wallTime: SystemClock.wall)
    let refresh = settings.refresh(loop, diagnostics, from: origin)
    let feed = try settings.makeFeed(
      settings.sessionOptions(longestSilence: run.readiness.manager.longestSilence), sink: printer,
      loop: loop, refresh: refresh)
    let members = ChannelMembership(settings.channels, feed: feed)
    self.members = members
    lifecycle = Lifecycle(
      settings.printing, printer: printer, loop: loop, diagnostics: diagnostics)
    channels = ChannelsLifecycle(
      settings: settings, lifecycle: lifecycle, diagnostics: diagnostics, printer: printer,
      members: members)
    if diagnostics.showsMessages { printer.usesFastWay = false }
    repair = settings.gap.map {
      GapRepair($0, limit: settings.printing.bufferSize, loop: loop, diagnostics: diagnostics)
    }
    if settings.readsInput {
      orders = InputOrders(loop: loop, channels: members, diagnostics: diagnostics)
    }
    discovery = try settings.discovery.map {
      try Discovery(
        $0, refresh: refresh, loop: loop, channels: members, diagnostics: diagnostics)
    }
  }

  func start() throws -> ExitStatus {
    feed.delegate = self
    run.readiness.manager.status("connecting to \(settings.connection.host)")
    if settings.userSignIn != .unwanted { feed.signIn() }
    for channel in settings.channels { feed.subscribe(channel) }
    discovery?.onEvent = { [unowned self] event in
      switch event {
      case .firstList: becomeReady()
      case .left(let channel): channels.left(channel)
      case .refusal(let cause): run.end(.refused(ExitStatus(cause), reason: "no list of channels"))
      }
    }
    repair?.onEvent = { [unowned self] event in
      printer.print(repaired: event)
      run.finishEvent()
      return !run.isEnding
    }
    return try RunDriver(self, settings.feed).run(feed, printer)
  }
}

extension SubscribeRun: RunPart {
  var words: any FeedWords { channels }
  var command: Command { .subscribe }

  var interruption: String? {
    guard feed.session.isConnected else { return "no connection (\(lifecycle.state))" }
    guard isSignedIn else { return "not signed in" }
    guard discovery?.hasList ?? true else { return "no list of channels" }
    return members.areAllSettled ? nil : "not subscribed to every channel"
  }

  var metrics: [MetricFamily] {
    let pings = feed.session.pings
    let counts = members.counts(isConnected: feed.session.isConnected)
    let events = printer.channelCounts?.counts ?? []
    return [
      MetricFamily(
        "pusher_cli_channels", .gauge, "Requested channels, by the server's answer.",
        [
          .init(counts.subscribed, .init("state", "subscribed")),
          .init(counts.expected, .init("state", "expected")),
          .init(counts.refused, .init("state", "refused")),
        ]),
      MetricFamily(
        "pusher_cli_channel_events_total", .counter,
        "Printed or handled events, by channel; (other) is for channels after the first 100.",
        events.map { .init($0.events, .init("channel", $0.channel)) }),
      MetricFamily(
        "pusher_cli_pings_total", .counter, "Pings of the Pusher protocol.",
        [
          .init(pings.sent, .init("direction", "sent")),
          .init(pings.received, .init("direction", "received")),
        ]),
      MetricFamily(
        "pusher_cli_parse_fallbacks_total", .counter,
        "Messages that took the general path instead of the fast path.", printer.fallbacks),
    ] + (repair.map { [$0.results.family(of: "on-gap")] } ?? [])
  }

  var obstacle: Obstacle? {
    let hasList = discovery?.hasList ?? true
    if members.isComplete, isSignedIn, hasList, wasConnected || !isOpenEnded { return nil }
    let reason = limit.map { Redaction.redact($0.cause) } ?? lastLoss.map { "\($0.loss)" }
    let isRefusal = lastLoss.map { Cause($0.loss, code: $0.code) == .notAllowed } ?? false
    guard wasConnected else {
      return Obstacle(what: "no connection", reason: reason, isRefusal: isRefusal)
    }
    guard isSignedIn else { return Obstacle(what: "no sign-in", reason: reason) }
    guard hasList else { return Obstacle(what: "no list of channels", reason: reason) }
    let names = members.never(of: settings.channels)
    let more = names.count > 3 ? " and \(names.count - 3) more" : ""
    let shown = names.prefix(3).joined(separator: ", ")
    return Obstacle(what: "no subscription to \(shown)\(more)", reason: reason)
  }

  /// A run with `--stdin` may only send.
  var silenceHint: String { settings.readsInput ? "" : Hints.silence(settings.channels) }

  func roundEnded() {
    channels.flushPendingError()
    if !run.isEnding { orders?.carryOut() }
  }

  func endBegins() {
    orders?.stop()
    discovery?.stop()
    repair?.cut()
  }

  var isHolding: Bool { repair?.isRunning == true }

  func noted(_ event: ConnectionEvent) {
    if case .gap(let from, let to) = event {
      repair?.begin(Gap(start: from, end: to, channels: members.names))
      return
    }
    guard case .disconnected(let loss, let code, _, _) = event else { return }
    discovery?.disconnected()
    lastLoss = (loss, code)
    let host = settings.connection.host
    run.readiness.manager.status(
      wasConnected ? "connection to \(host) lost" : "no connection to \(host) yet")
  }

  func failure() -> (status: ExitStatus, reason: String)? {
    guard droppedEvents > 0 || refusedEvents > 0 else { return nil }
    channels.flushPendingError()
    if droppedEvents > 0 {
      let events = Quantities.words(droppedEvents, of: "client event")
      diagnostics.error("the server's rate limit dropped \(events) from standard input")
    }
    guard refusedEvents > 0 else { return (ExitStatus(.overloaded), "client events dropped") }
    let events = Quantities.words(refusedEvents, of: "client event")
    diagnostics.error("the server refused \(events) from standard input")
    return (ExitStatus(.notAllowed), "client events refused")
  }
}

extension SubscribeRun: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    // After the end nothing more is printed, but the close handshake continues.
    guard !run.isEnding else { return }
    printer.print(event, named: name)
    run.finishEvent()
    if let discovery, let count = event.subscriptionCount(settings.connection.service) {
      discovery.counted(count, on: event.channelName ?? "")
    }
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    channels.report(event)
    if printer.isDone { return run.finishEvent() }
    switch event {
    case .connected:
      limit = nil
      run.counts.noteGreeting()
      wasConnected = true
      members.connected()
      run.readiness.manager.status("connected to \(settings.connection.host)")
      discovery?.connected()
      becomeReady()
    case .subscribed(let channel, let presence):
      members.subscribed(channel)
      if let presence { discovery?.counted(presence.count, on: channel) }
      becomeReady()
    case .memberRemoved(let channel, _):
      if let count = feed.session.roster(of: channel)?.count {
        discovery?.counted(count, on: channel)
      }
    case .signedIn:
      wasSignedIn = true
      becomeReady()
    case .subscriptionFailed(let channel, let failure): refused(channel, failure)
    case .rateLimited(let limit): self.limit = limit
    case .clientEventsDropped(let count, _): droppedEvents += count
    case .clientEventRefused: refusedEvents += 1
    case .malformed, .decryptionFailed: run.counts.noteUnreadable()
    case .signInFailed(let failure):
      run.end(.refused(ExitStatus(Cause(failure)), reason: "sign-in refused"))
    default: break
    }
  }

  /// Ends the run for a typed channel, unless the run tolerates refusals and more may come.
  private func refused(_ channel: String, _ failure: SubscriptionFailure) {
    members.refuse(channel)
    let shouldRetry = settings.feed.goesOnAfterRefusals && isAnythingLeft
    guard shouldRetry || !members.isTyped(channel) else {
      return run.end(.refused(ExitStatus(Cause(failure)), reason: "subscription refused"))
    }
    members.giveUp(channel)
    becomeReady()
  }

  /// True if events can still come despite the refusals.
  private var isAnythingLeft: Bool {
    settings.userSignIn != .unwanted || isOpenEnded || members.isAnyAllowed
  }

  private var isOpenEnded: Bool { settings.readsInput || settings.discovery != nil }
  private var isSignedIn: Bool { wasSignedIn || settings.userSignIn == .unwanted }

  private func becomeReady() {
    guard members.areAllSettled, isSignedIn, discovery?.hasList ?? true else { return }
    let channels = Quantities.words(members.count, of: "channel")
    run.readiness.report("subscribed to \(channels) of \(settings.connection.host)")
  }
}

extension Envelope {
  fileprivate func subscriptionCount(_ service: PusherService) -> Int? {
    guard eventName == service.internalPrefix + "subscription_count" else { return nil }
    return data["subscription_count"]?.integer
  }
}
