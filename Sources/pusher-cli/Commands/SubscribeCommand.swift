internal import PusherCore

extension SubscribeSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    PrintingRun.start(diagnostics, feed) { loop, descriptor in
      let limits = [feed.run.timeout, feed.run.onIdle == nil ? feed.run.idleTimeout : nil]
        .compactMap(\.self)
      connection.waitForLocalServer(atMost: limits.min(), on: loop, diagnostics)
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
  private let channels: ChannelsLifecycle
  private let members: ChannelMembership
  private let discovery: Discovery?
  private let diagnostics: Diagnostics
  private var orders: InputOrders?
  private let repair: GapCommand?
  private let state: StateKeeper?
  private var wasSignedIn = false
  private var limit: RateLimit?
  private var droppedEvents = 0
  private var refusedEvents = 0

  init(
    _ settings: SubscribeSettings, origin: Resolved, descriptor: OutputDescriptor,
    loop: EventLoop, diagnostics: Diagnostics
  ) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    run = try PrintingRun(
      settings.feed, network: settings.connection.network, descriptor: descriptor, loop: loop,
      diagnostics: diagnostics)
    printer = run.makePrinter(descriptor, service: settings.connection.service)
    let refresh = settings.refresh(loop, diagnostics, from: origin)
    var options = settings.sessionOptions(longestSilence: run.readiness.manager.longestSilence)
    let file = try settings.stateFile.map {
      try StateFile($0, url: settings.app, warn: diagnostics.warning)
    }
    options.positions = file?.place.positions.elements.map { ($0.name, $0.value) } ?? []
    // Receivers know an event that is delivered again by its ID.
    if settings.connection.service.replaysEvents { run.handler?.begin(settings.app, after: "") }
    state = file.map { [run] in run.keepPlace(in: $0, startingAfter: "") }
    if state != nil, printer.printsEvents { run.completeLine(of: descriptor) }
    let feed = try settings.makeFeed(options, sink: printer, loop: loop, refresh: refresh)
    let members = ChannelMembership(settings.channels, feed: feed)
    self.members = members
    channels = ChannelsLifecycle(
      settings: settings, loop: loop, diagnostics: diagnostics, printer: printer,
      members: members)
    if diagnostics.showsMessages { printer.usesFastWay = false }
    repair = settings.gap.map {
      GapCommand($0, limit: settings.printing.bufferSize, loop: loop, diagnostics: diagnostics)
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
    discovery?.onFirstList = { [unowned self] in becomeReady() }
    discovery?.onLeaving = { [unowned self] in
      channels.line("pusher-cli:left", of: $0, [:])
    }
    discovery?.lister.onRefusal = { [unowned self] in
      run.end(.refused($0.status, reason: "no list of channels"))
    }
    repair?.onEvent = { [unowned self] event in
      printer.print(repaired: event)
      run.finishEvent()
      return !run.isEnding
    }
    return try run.run(self, feed, printer)
  }
}

extension SubscribeRun: RunPart {
  var lifecycle: Lifecycle { channels }
  var command: Command { .subscribe }

  var interruption: String? {
    guard feed.session.isConnected else { return "no connection (\(channels.state))" }
    guard isSignedIn else { return "not signed in" }
    guard discovery?.lister.hasList ?? true else { return "no list of channels" }
    return members.areAllSettled ? nil : "not subscribed to every channel"
  }

  var metrics: [MetricFamily] {
    let pings = feed.session.pings
    let counts = members.counts(isConnected: feed.session.isConnected)
    let events = printer.channelCounts?.counts ?? []
    return [
      MetricFamily(
        "pusher_cli_channels", "Requested channels, by the server's answer.", by: "state",
        [
          "subscribed": counts.subscribed, "expected": counts.expected, "refused": counts.refused,
        ]),
      MetricFamily(
        "pusher_cli_channel_events_total",
        "Printed or handled events, by channel; (other) is for channels after the first 100.",
        events.map { .init($0.count.events, ("channel", $0.name)) }),
      MetricFamily(
        "pusher_cli_pings_total", "Pings of the Pusher protocol.", by: "direction",
        ["sent": pings.sent, "received": pings.received]),
      MetricFamily(
        "pusher_cli_parse_fallbacks_total",
        "Messages that took the general path instead of the fast path.", printer.fallbacks),
    ] + (repair.map { [$0.metrics] } ?? []) + recoveryMetrics
  }

  private var recoveryMetrics: [MetricFamily] {
    guard settings.connection.service.replaysEvents else { return [] }
    return [
      MetricFamily(
        "pusher_cli_recoveries_total", "Channels of lost connections without a missing event.",
        channels.recovered.channels),
      MetricFamily(
        "pusher_cli_recovered_events_total", "Events that the server replayed for them.",
        channels.recovered.events),
    ]
  }

  var summary: [String] {
    guard settings.connection.service.replaysEvents else { return [] }
    let (events, times) = (channels.recovered.events, channels.recovered.channels)
    return [
      "\(Quantities.words(events, of: "event")) recovered in "
        + "\(Quantities.words(times, of: "resumption")), \(Quantities.words(channels.gaps, of: "gap"))"
    ]
  }

  var obstacle: Obstacle? {
    let hasList = discovery?.lister.hasList ?? true
    let wasConnected = channels.hasBeenOpen
    if members.isComplete, isSignedIn, hasList, wasConnected || !isOpenEnded { return nil }
    let names = Quantities.listed(members.never(of: settings.channels))
    let missing =
      if !wasConnected {
        "no connection"
      } else if !isSignedIn {
        "no sign-in"
      } else {
        hasList ? "no subscription to \(names)" : "no list of channels"
      }
    var obstacle = channels.obstacle(missing)
    if let limit { obstacle.reason = Redaction.redact(limit.cause) }
    // A server that accepted one connection may accept another.
    if wasConnected { obstacle.isRefusal = false }
    return obstacle
  }

  /// A run with `--stdin` may only send.
  var silenceHint: String { settings.readsInput ? "" : Hints.silence(settings.channels) }

  func roundEnded() {
    channels.flushPendingError()
    if !run.isEnding { orders?.carryOut() }
    run.isEnding ? state?.finish() : state?.update()
  }

  func outputEnded() { state?.conclude() }

  func endBegins() {
    orders?.stop()
    discovery?.lister.stop()
    repair?.cut()
  }

  var isHolding: Bool { repair?.isRunning == true }

  func noted(_ event: ConnectionEvent) {
    switch event {
    case .gap(let from, let to): repair?.begin(from: from, to: to, members.names)
    case .disconnected: discovery?.lister.disconnected()
    default: break
    }
  }

  func failure() -> (status: ExitStatus, reason: String)? {
    guard droppedEvents > 0 || refusedEvents > 0 else { return nil }
    channels.flushPendingError()
    if droppedEvents > 0 {
      let events = Quantities.words(droppedEvents, of: "client event")
      diagnostics.error("the server's rate limit dropped \(events) from standard input")
    }
    guard refusedEvents > 0 else { return (Cause.overloaded.status, "client events dropped") }
    let events = Quantities.words(refusedEvents, of: "client event")
    diagnostics.error("the server refused \(events) from standard input")
    return (Cause.notAllowed.status, "client events refused")
  }
}

extension SubscribeRun: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    // After the end nothing more is printed, but the close handshake continues.
    guard !run.isEnding else { return }
    printer.print(event, named: name)
    note(event)
    run.finishEvent()
    if let discovery, let count = event.subscriptionCount(settings.connection.service) {
      discovery.counted(count, on: event.channelName ?? "")
    }
  }

  /// Notes that the run is through with an event, whether it was printed or left out.
  private func note(_ event: Envelope) {
    guard let state, let channel = event.channelName else { return }
    let former = feed.session.position(of: channel)
    if let position = StreamPosition(of: event, after: former) {
      state.note(position, of: channel)
    }
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    channels.report(event)
    if printer.isDone { return run.finishEvent() }
    switch event {
    case .connected:
      limit = nil
      members.connected()
      run.readiness.manager.status("connected to \(settings.connection.host)")
      discovery?.connected()
      becomeReady()
    case .missed(let channel, let gap, let from, let to):
      if let position = gap.position { state?.note(position, of: channel) }
      repair?.begin(from: from, to: to, [channel])
    case .subscribed(let channel, let presence):
      if let state, let position = feed.session.position(of: channel) {
        state.note(position, of: channel)
      }
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
    case .signInFailed(let failure):
      run.end(.refused(Cause(failure).status, reason: "sign-in refused"))
    default: break
    }
  }

  /// Ends the run for a typed channel, unless the run tolerates refusals and more may come.
  private func refused(_ channel: String, _ failure: SubscriptionFailure) {
    members.refuse(channel)
    let shouldRetry = settings.feed.goesOnAfterRefusals && isAnythingLeft
    guard shouldRetry || !members.isTyped(channel) else {
      return run.end(.refused(Cause(failure).status, reason: "subscription refused"))
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
    guard members.areAllSettled, isSignedIn, discovery?.lister.hasList ?? true else { return }
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
