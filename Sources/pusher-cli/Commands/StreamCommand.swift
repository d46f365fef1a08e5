internal import PusherCore

/// Runs `sse`: from settings to an exit status.
enum StreamCommand {
  /// Prints events until the end that was asked for, or one that cannot be helped.
  static func run(_ settings: StreamSettings, diagnostics: Diagnostics) -> ExitStatus {
    guard let descriptor = OutputDescriptor() else {
      diagnostics.error("standard output is closed; there is nowhere to print events")
      return .output
    }
    do {
      let loop = try EventLoop()
      let run = try StreamRun(
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

/// One run of `sse`: the client, its printer, and what is told of both.
final class StreamRun {
  private let settings: StreamSettings
  private let run: PrintingRun
  private let client: EventStreamClient
  private let printer: StreamPrinter
  private let lifecycle: StreamLifecycle
  private let state: StateKeeper?
  private var wasOpen = false
  /// Why the last stream was lost, or never came to be.
  private var lastError: EventSourceError?

  init(
    _ settings: StreamSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    self.settings = settings
    run = PrintingRun(
      settings.printing, descriptor: descriptor, loop: loop, diagnostics: diagnostics)
    printer = StreamPrinter(
      settings: settings.printing, output: run.output.buffer, isTerminal: descriptor.isTerminal,
      wallTime: SystemClock.wall)
    let file = try settings.stateFile.map {
      try StateFile($0, url: settings.url, warn: diagnostics.warning)
    }
    let lastEventID = settings.lastEventID ?? file.map { String(decoding: $0.id, as: UTF8.self) }
    client = try EventStreamClient(
      loop: loop, configuration: settings.configuration, options: settings.options,
      lastEventID: lastEventID ?? "")
    lifecycle = StreamLifecycle(
      settings: settings, diagnostics: diagnostics, printer: printer, startedAt: loop.now)
    state = file.map { [output = run.output] in
      StateKeeper(
        $0, output: output, startingAfter: lastEventID ?? "", limit: settings.printing.bufferSize,
        diagnostics: diagnostics, clock: { loop.now })
    }
    if let state {
      loop.add(state)
      completeLine(of: descriptor, diagnostics)
    }
  }

  func start() -> ExitStatus {
    client.delegate = self
    run.readiness.manager.status("connecting to \(settings.url.place)")
    return run.run(client, printer, observer: self)
  }

  /// Ends a line that an earlier run could not write to its end; its event comes again.
  private func completeLine(of descriptor: OutputDescriptor, _ diagnostics: Diagnostics) {
    let terminator = settings.printing.terminator
    switch TornLine.end(of: descriptor.number, terminator: terminator) {
    case .whole: break
    case .torn:
      run.output.buffer.append(terminator)
      diagnostics.warning(
        "the file at standard output ends in the middle of a line: that line is ended now, and new "
          + "ones follow it")
    case .unknown(let reason):
      diagnostics.warning(
        "cannot look whether the file at standard output ends with a whole line: \(reason)")
    }
  }
}

extension EventStreamClient: EventFeed {
  func abort() {
    disconnect()
  }
}

extension StreamRun: PrintingRunObserver {
  var obstacle: Obstacle? {
    guard !wasOpen else { return nil }
    return Obstacle(
      what: "no event stream", reason: lastError.map { "\($0)" },
      isRefusal: lastError.map { Cause($0) == .notAllowed } ?? false)
  }

  func roundEnded() {
    guard let state else { return }
    // A block without data changes the id too. After the end what comes is not printed.
    guard !run.isEnding else { return state.finish() }
    client.withLastEventID(state.note)
    state.update()
  }

  func outputEnded() {
    state?.conclude()
  }

  func endBegins() {
    // At once, so that the last event's id stays that of the last one printed.
    client.disconnect()
  }

  func printStatus(events: Int, queued: Int, at now: Instant) {
    lifecycle.printStatus(events: events, queued: queued, at: now)
  }

  func printExit(_ status: Int32, reason: String, events: Int) {
    lifecycle.printExit(status, reason: reason, events: events)
  }
}

extension StreamRun: EventStreamClientDelegate {
  func client(_ client: EventStreamClient, received event: EventStreamEvent, at now: Instant) {
    guard !run.isEnding else { return }
    printer.print(event)
    state?.note(event.lastEventID)
    if printer.isDone || printer.isFull { run.finishEvent() }
  }

  func client(_ client: EventStreamClient, reports event: EventSourceReport, at now: Instant) {
    guard !run.isEnding else { return }
    lifecycle.report(event, lastEventID: client.lastEventID, at: now)
    switch event {
    case .opened:
      wasOpen = true
      run.readiness.become("receiving events from \(settings.url.place)")
    case .disconnected(let error, _, _):
      lastError = error
      run.readiness.manager.status("stream of \(settings.url.place) lost")
    default: break
    }
    if case .ended(let end) = event {
      let status = ExitStatus(end, endsWithStream: settings.reconnect == .never)
      run.end(.status(status, reason: "connection"))
    }
  }

  func client(_ client: EventStreamClient, exchanged head: String, isRequest: Bool) {
    lifecycle.trace(head, isRequest: isRequest)
  }

  func clientClosed(_ client: EventStreamClient) {}
}

/// From settings to what the library wants to know.
extension StreamSettings {
  /// Where the stream is and how it is asked for.
  fileprivate var configuration: EventStreamConfiguration {
    EventStreamConfiguration(
      url: url, method: method, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }),
      body: body, routing: network.routing, tls: network.tls, trust: network.trust,
      acceptsCompression: acceptsCompression,
      // A line is a name, a colon, a space and a value.
      limits: EventStreamLimits(line: maxEvent + 64, event: maxEvent),
      connectTimeout: network.connectTimeout)
  }

  fileprivate var options: EventSourceOptions {
    let mode: ReconnectPolicy.Mode =
      switch feed.reconnect {
      case .auto: .automatic
      case .always: .always
      case .never: .never
      }
    return EventSourceOptions(
      reconnect: ReconnectPolicy(
        mode: mode, maximumAttempts: feed.maxRetries,
        backoff: Backoff(floor: .zero, ceiling: feed.retryMaxDelay)),
      silenceTimeout: feed.activityTimeout)
  }
}
