internal import PusherCore

/// Runs `subscribe`: from settings to an exit status.
enum SubscribeCommand {
  /// Prints events until the end that was asked for, or one that cannot be helped.
  static func run(_ settings: SubscribeSettings, diagnostics: Diagnostics) -> ExitStatus {
    guard let descriptor = OutputDescriptor() else {
      diagnostics.error("standard output is closed; there is nowhere to print events")
      return .output
    }
    do {
      let limits = [settings.printing.timeout, settings.printing.idleTimeout].compactMap(\.self)
      LocalServerWait.run(settings.connection, atMost: limits.min(), diagnostics)
      let loop = try EventLoop()
      let run = try SubscribeRun(
        settings, descriptor: descriptor, loop: loop, diagnostics: diagnostics)
      return run.start()
    } catch {
      // Nothing has been dialled yet: what fails here are the files and addresses that were given.
      if let error = error as? UsageError {
        diagnostics.usage(error)
      } else {
        diagnostics.error("\(error)")
      }
      return ExitStatus(Cause(starting: error))
    }
  }
}

/// One run of `subscribe`: the client, its printer, and what is told of both.
final class SubscribeRun {
  private let settings: SubscribeSettings
  private let run: PrintingRun
  private let client: ChannelsClient
  private let printer: EventPrinter
  private let lifecycle: Lifecycle
  /// What is still to be joined on the present connection.
  private var missing: NameSet
  /// What no connection of this run has joined yet.
  private var neverSubscribed: NameSet
  private var wasConnected = false
  private var wasSignedIn = false
  /// Why the last connection was lost, or never came to be.
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
      isTerminal: descriptor.isTerminal, wallTime: SystemClock.wall)
    client = try ChannelsClient(
      loop: loop, configuration: try settings.clientConfiguration(service: service),
      options: settings.sessionOptions(
        service: service, longestSilence: run.readiness.manager.longestSilence),
      authorizer: try settings.authorizer(loop: loop),
      authenticator: try settings.authenticator(loop: loop), tap: printer)
    lifecycle = Lifecycle(
      settings: settings, diagnostics: diagnostics, printer: printer, startedAt: loop.now)
    if diagnostics.showsMessages { printer.disableFastWay() }
  }

  func start() -> ExitStatus {
    client.delegate = self
    run.readiness.manager.status("connecting to \(settings.connection.host)")
    if settings.userSignIn != .unwanted { client.signIn() }
    for channel in settings.channels { client.subscribe(channel) }
    return run.run(client, printer, observer: self)
  }
}

extension ChannelsClient: EventFeed {}

extension SubscribeRun: PrintingRunObserver {
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
    lifecycle.flushPendingError()
  }

  func endBegins() {}

  func printStatus(events: Int, queued: Int, at now: Instant) {
    lifecycle.printStatus(events: events, queued: queued, at: now)
  }

  func outputEnded() {}

  func printExit(_ status: Int32, reason: String, events: Int) {
    lifecycle.printExit(status, reason: reason, events: events)
  }
}

extension SubscribeRun: ChannelsClientDelegate {
  func clientTapIsFull(_ client: ChannelsClient) {
    run.finishEvent()
  }

  func client(
    _ client: ChannelsClient, received event: Envelope, named name: String?, at now: Instant
  ) {
    // After the end nothing more is printed, but the goodbye goes on.
    guard !run.isEnding else { return }
    printer.print(event, named: name)
    run.finishEvent()
  }

  func client(_ client: ChannelsClient, reports event: SessionEvent, at now: Instant) {
    guard !run.isEnding else { return }
    lifecycle.report(event, at: now)
    if printer.isDone { return run.end(.status(.success, reason: "count")) }
    tellOutside(event)
    switch event {
    case .connected: wasConnected = true
    case .disconnected(let loss, let code, _, _): lastLoss = (loss, code)
    case .subscribed(let channel, _): neverSubscribed.remove(channel)
    case .signedIn: wasSignedIn = true
    case .subscriptionFailed(_, let failure):
      run.end(.status(ExitStatus(Cause(failure)), reason: "subscription refused"))
    case .signInFailed(let failure):
      run.end(.status(ExitStatus(Cause(failure)), reason: "sign-in refused"))
    case .ended(let reason): run.end(.status(ExitStatus(reason), reason: "connection"))
    default: break
    }
  }

  /// What the service manager and the command of `--on-ready` are to know of it.
  private func tellOutside(_ event: SessionEvent) {
    let manager = run.readiness.manager
    let host = settings.connection.host
    switch event {
    case .connected:
      missing = NameSet(settings.channels)
      manager.status("connected to \(host)")
    case .subscribed(let channel, _):
      missing.remove(channel)
      becomeReady()
    case .signedIn: becomeReady()
    case .disconnected: manager.status("connection to \(host) lost")
    default: break
    }
  }

  private func becomeReady() {
    guard missing.isEmpty else { return }
    let channels =
      settings.channels.count == 1 ? "1 channel" : "\(settings.channels.count) channels"
    run.readiness.become("subscribed to \(channels) of \(settings.connection.host)")
  }

  func clientClosed(_ client: ChannelsClient) {}

  func client(_ client: ChannelsClient, receives message: ByteView) {
    lifecycle.trace(received: message)
  }

  func client(_ client: ChannelsClient, sends message: String) {
    lifecycle.trace(sent: message)
  }
}
