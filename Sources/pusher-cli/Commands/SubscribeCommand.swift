internal import PusherCore

/// Runs `subscribe`: from settings to an exit status.
enum SubscribeCommand {
  /// Prints events until the wanted end or a failure.
  static func run(_ settings: SubscribeSettings, diagnostics: Diagnostics) -> ExitStatus {
    PrintingRun.start(diagnostics) { loop, descriptor in
      let limits = [settings.printing.timeout, settings.printing.idleTimeout].compactMap(\.self)
      LocalServerWait.run(settings.connection, atMost: limits.min(), diagnostics)
      return try SubscribeRun(
        settings, descriptor: descriptor, loop: loop, diagnostics: diagnostics
      ).start()
    }
  }
}

/// One run of `subscribe`: the feed, its printer, and what is told of both.
final class SubscribeRun {
  private let settings: SubscribeSettings
  let run: PrintingRun
  private let feed: ChannelsFeed
  private let printer: EventPrinter
  private let channels: ChannelsLifecycle
  /// Channels that are not yet subscribed on this connection.
  private var missing: NameSet
  /// Channels that no connection of this run has subscribed yet.
  private var neverSubscribed: NameSet
  /// The last refusal.
  private var refused = NameSet([])
  private var wasConnected = false
  private var wasSignedIn = false
  /// Why the last connection was lost or could not be made.
  private var lastLoss: (loss: ConnectionLoss, code: Int?)?

  init(
    _ settings: SubscribeSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    self.settings = settings
    missing = NameSet(settings.channels)
    neverSubscribed = missing
    let service = settings.connection.service
    run = PrintingRun(
      settings.printing, descriptor: descriptor, loop: loop, diagnostics: diagnostics)
    printer = EventPrinter(
      settings: settings.printing, service: service, output: run.output.buffer,
      isTerminal: descriptor.isTerminal, receiver: run.hook, wallTime: SystemClock.wall)
    feed = try ChannelsFeed(
      loop: loop, destination: settings.destination(service: service),
      settings: settings.webSocket,
      options: settings.sessionOptions(
        service: service, longestSilence: run.readiness.manager.longestSilence),
      signer: try settings.signer(loop: loop), tap: printer)
    channels = ChannelsLifecycle(
      settings: settings, diagnostics: diagnostics, printer: printer, startedAt: loop.now)
    if diagnostics.showsMessages { printer.disableFastWay() }
  }

  func start() -> ExitStatus {
    feed.delegate = self
    run.readiness.manager.status("connecting to \(settings.connection.host)")
    if settings.userSignIn != .unwanted { feed.signIn() }
    for channel in settings.channels { feed.subscribe(channel) }
    return run.run(feed, printer, owner: self)
  }
}

extension SubscribeRun: PrintingRunOwner {
  var lifecycle: Lifecycle { channels }

  var obstacle: Obstacle? {
    let isSignedIn = wasSignedIn || settings.userSignIn == .unwanted
    if neverSubscribed.isEmpty, isSignedIn { return nil }
    let reason = lastLoss.map { "\($0.loss)" }
    let isRefusal = lastLoss.map { Cause($0.loss, code: $0.code) == .notAllowed } ?? false
    guard wasConnected else {
      return Obstacle(what: "no connection", reason: reason, isRefusal: isRefusal)
    }
    guard isSignedIn else { return Obstacle(what: "no sign-in", reason: reason) }
    let names = settings.channels.filter(neverSubscribed.contains)
    let more = names.count > 3 ? " and \(names.count - 3) more" : ""
    let shown = names.prefix(3).joined(separator: ", ")
    return Obstacle(what: "no subscription of \(shown)\(more)", reason: reason)
  }

  func roundEnded() {
    channels.flushPendingError()
  }

  func noted(_ event: ConnectionEvent) {
    guard case .disconnected(let loss, let code, _, _) = event else { return }
    lastLoss = (loss, code)
    run.readiness.manager.status("connection to \(settings.connection.host) lost")
  }

  func status(of end: ConnectionEnd) -> ExitStatus { ExitStatus(end) }
}

extension SubscribeRun: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    // After the end nothing more is printed, but the goodbye goes on.
    guard !run.isEnding else { return }
    printer.print(event, named: name)
    run.finishEvent()
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    channels.report(event)
    if printer.isDone { return run.end(.status(.success, reason: "count")) }
    switch event {
    case .connected:
      wasConnected = true
      missing = NameSet(settings.channels)
      run.readiness.manager.status("connected to \(settings.connection.host)")
    case .subscribed(let channel, _):
      neverSubscribed.remove(channel)
      refused.remove(channel)
      missing.remove(channel)
      becomeReady()
    case .signedIn:
      wasSignedIn = true
      becomeReady()
    case .subscriptionFailed(let channel, let failure):
      refused.insert(channel)
      guard settings.feed.goesOnAfterRefusals, isAnythingLeft else {
        return run.end(.status(ExitStatus(Cause(failure)), reason: "subscription refused"))
      }
      neverSubscribed.remove(channel)
      missing.remove(channel)
      becomeReady()
    case .signInFailed(let failure):
      run.end(.status(ExitStatus(Cause(failure)), reason: "sign-in refused"))
    default: break
    }
  }

  /// Whether events may come that no refusal keeps out.
  private var isAnythingLeft: Bool {
    settings.userSignIn != .unwanted || !settings.channels.allSatisfy(refused.contains)
  }

  private func becomeReady() {
    guard missing.isEmpty else { return }
    let channels =
      settings.channels.count == 1 ? "1 channel" : "\(settings.channels.count) channels"
    run.readiness.become("subscribed to \(channels) of \(settings.connection.host)")
  }
}
