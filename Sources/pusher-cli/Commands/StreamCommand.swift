internal import PusherCore

extension StreamSettings: RunnableSettings {
  func perform(from origin: Resolved, _ diagnostics: Diagnostics) -> ExitStatus {
    PrintingRun.start(diagnostics, feed) { loop, descriptor in
      try StreamRun(self, descriptor: descriptor, loop: loop, diagnostics: diagnostics).start()
    }
  }

  fileprivate var options: EventSourceOptions {
    var options = EventSourceOptions(
      reconnect: feed.policy(floor: .zero), reconnectionTime: feed.reconnectDelay,
      connectTimeout: network.connectTimeout, silenceTimeout: feed.activityTimeout)
    options.needsPriming = isContinuedByGET
    return options
  }
}

final class StreamRun {
  private let settings: StreamSettings
  let run: PrintingRun
  private let stream: StreamLifecycle
  private let feed: EventStreamFeed
  private let printer: Printer
  private let state: StateKeeper?

  init(
    _ settings: StreamSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    self.settings = settings
    run = try PrintingRun(
      settings.feed, network: settings.network, descriptor: descriptor, loop: loop,
      diagnostics: diagnostics)
    printer = run.makePrinter(descriptor)
    let file = try settings.stateFile.map {
      try StateFile($0, url: settings.url, warn: diagnostics.warning)
    }
    let lastEventID =
      settings.lastEventID ?? file.map { String(decoding: $0.place.id, as: UTF8.self) }
    run.handler?.begin(settings.url, after: lastEventID ?? "")
    state = file.map { [run] in run.keepPlace(in: $0, startingAfter: lastEventID ?? "") }
    let feed = try EventStreamFeed(
      loop: loop, destination: settings.network.destination(settings.url, settings.headers),
      settings: settings.request,
      options: settings.options, lastEventID: lastEventID ?? "",
      sink: StreamSink(printer: printer, state: state, handler: run.handler))
    self.feed = feed
    stream = StreamLifecycle(
      settings, feed, printer: printer, loop: loop, diagnostics: diagnostics)
    if state != nil, printer.printsEvents { run.completeLine(of: descriptor) }
  }

  func start() throws -> ExitStatus {
    feed.delegate = self
    feed.fieldSource = CredentialRefresh(
      settings.fields, timeout: settings.network.connectTimeout, loop: run.loop,
      diagnostics: run.diagnostics)
    if settings.keepsCookies { feed.cookies = CookieJar() }
    feed.sessionField = settings.sessionField
    if settings.showsHeaders { feed.onHead = { [run] in run.diagnostics.show($0) } }
    run.readiness.manager.status("connecting to \(settings.url.place)")
    return try run.run(self, feed, printer)
  }
}

private final class StreamSink: EventSink {
  private let printer: Printer
  private let state: StateKeeper?
  private let handler: (any EventHandling)?

  init(printer: Printer, state: StateKeeper?, handler: (any EventHandling)?) {
    (self.printer, self.state, self.handler) = (printer, state, handler)
  }

  func take(event: EventStreamEvent) -> SinkVerdict {
    // After the end, the last id must stay the id of the last printed event.
    guard !printer.isStopped else { return .declined }
    printer.print(event)
    state?.note(event.lastEventID)
    let isFull = printer.isDone || printer.hasFullBurst || handler?.isFull == true
    return isFull ? .takenAndFull : .taken
  }
}

extension StreamRun: RunPart {
  var command: Command { .sse }
  var lifecycle: Lifecycle { stream }

  var interruption: String? {
    lifecycle.state == "connected" ? nil : "no stream (\(lifecycle.state))"
  }

  var obstacle: Obstacle? {
    stream.hasBeenOpen ? .none : stream.obstacle("no event stream")
  }

  func roundEnded() {
    guard let state else { return }
    // A block without data also changes the id. Nothing is printed after the end.
    guard !run.isEnding else { return state.finish() }
    feed.withLastEventID(state.note)
    state.update()
  }

  func outputEnded() { state?.conclude() }

  func noted(_ event: ConnectionEvent) {
    guard case .opened = event else { return }
    run.readiness.report("receiving events from \(settings.url.place)")
  }

  func closing(of end: ConnectionEnd) -> RunEnd.Closing {
    let wasOpen = stream.hasBeenOpen
    switch end {
    case .lost(let loss, _), .retriesExhausted(let loss, _, _):
      // A script must not take an answer without an event for success.
      if stream.eventlessBody(loss) != nil { return .lost(.brokenProtocol, "", wasOpen: wasOpen) }
    case .asked, .finished: break
    }
    return RunEnd.Closing(end, wasOpen: wasOpen)
  }
}

extension Diagnostics {
  /// Shows the head of an answer, without the values of cookies.
  fileprivate func show(_ head: HTTPResponseHead) {
    answer("HTTP/1.\(head.minorVersion) \(head.status) \(head.reason)")
    for field in head.headers.fields {
      let isSecret = field.name.lowercased() == "set-cookie"
      answer("\(field.name): \(isSecret ? "…" : field.value)")
    }
  }
}
