internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Runs `subscribe`: from settings to an exit status.
enum SubscribeCommand {
  /// Prints events until the end that was asked for, or one that cannot be helped.
  static func run(_ settings: SubscribeSettings, diagnostics: Diagnostics) -> ExitStatus {
    guard let descriptor = OutputDescriptor() else {
      diagnostics.error("standard output is closed; there is nowhere to print events")
      return .output
    }
    do {
      let loop = try EventLoop()
      let run = try SubscribeRun(
        settings, descriptor: descriptor, loop: loop, diagnostics: diagnostics)
      return run.run()
    } catch {
      // Nothing has been dialled yet: what fails here are the files and addresses that were given.
      diagnostics.error("\(error)")
      return error is TransportError ? .internalError : .usage
    }
  }
}

/// One run of `subscribe`: the client, the printer, the output and the clock on one loop.
final class SubscribeRun {
  /// How the run will end, once it is known.
  enum Ending: Equatable {
    case status(ExitStatus, reason: String)
    /// By this signal, as soon as possible.
    case signal(Int32)
  }

  let settings: SubscribeSettings
  let diagnostics: Diagnostics
  let loop: EventLoop
  let client: ChannelsClient
  let output: OutputQueue
  let printer: EventPrinter
  let lifecycle: Lifecycle
  private var signals: Signals?
  private var timers: [LoopTimer] = []
  private var idleTimer: LoopTimer?
  private var ending: Ending?
  private var hasSaidFull = false
  private var countAtLastRound = 0

  /// How long the goodbye to the server may take.
  private static let closeTime: Duration = .milliseconds(200)
  /// How long a stalled reader may hold up the end by --timeout; other ends wait for it.
  private static let flushTime: Duration = .seconds(1)

  init(
    _ settings: SubscribeSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    self.settings = settings
    self.diagnostics = diagnostics
    self.loop = loop
    let service = settings.connection.service
    output = OutputQueue(descriptor: descriptor, limit: settings.bufferSize)
    printer = EventPrinter(
      settings: settings, service: service, output: output.buffer,
      isTerminal: descriptor.isTerminal,
      hasColor: settings.color.isOn(forTerminal: descriptor.isTerminal),
      wallTime: SystemClock.wall)
    client = try ChannelsClient(
      loop: loop, configuration: try settings.clientConfiguration(service: service),
      options: settings.sessionOptions(service: service),
      authorizer: try settings.authorizer(loop: loop),
      authenticator: try settings.authenticator(loop: loop), tap: printer)
    lifecycle = Lifecycle(
      settings: settings, diagnostics: diagnostics, printer: printer, startedAt: loop.now)
    if diagnostics.showsMessages { printer.disableFastWay() }
  }

  func run() -> ExitStatus {
    Signals.ignoreBrokenPipes()
    signals = Signals(
      onQuestion: { [unowned self] in
        lifecycle.printStatus(events: printer.count, queued: output.buffer.count, at: loop.now)
      },
      { [unowned self] number in end(.signal(number)) })
    if let signals { loop.add(signals) }
    loop.add(output)
    output.onFailure = { [unowned self] in outputFailed($0) }
    client.delegate = self
    loop.beforeWait { [unowned self] in finishRound() }
    startTimers()
    if settings.userSignIn != .unwanted { client.signIn() }
    for channel in settings.channels { client.subscribe(channel) }
    client.connect()
    loop.run()
    return conclude()
  }

  private func startTimers() {
    if let timeout = settings.timeout {
      after(timeout) { run in
        guard let count = run.settings.count else {
          run.end(.status(.success, reason: "timeout"))
          return run.limitFlush()
        }
        run.timedOut("\(run.printer.count) of \(count) events within \(timeout.inWords)", "timeout")
        run.limitFlush()
      }
    }
    if let idle = settings.idleTimeout {
      idleTimer = after(idle) { $0.timedOut("no event for \(idle.inWords)", "idle timeout") }
    }
  }

  private func timedOut(_ what: String, _ reason: String) {
    guard ending == nil else { return }
    diagnostics.error("timed out: \(what)")
    end(.status(.timedOut, reason: reason))
  }

  /// Who asked for a time limit gets one, also when nobody reads; a count that was reached waits until all are written.
  private func limitFlush() {
    if !printer.isDone { after(Self.flushTime) { $0.loop.stop() } }
  }

  @discardableResult
  private func after(_ time: Duration, _ action: @escaping (SubscribeRun) -> Void) -> LoopTimer {
    let timer = LoopTimer(deadline: loop.now.advanced(by: time)) { [unowned self] in
      action(self)
    }
    timers.append(timer)
    loop.add(timer)
    return timer
  }

  /// Before every wait: what was printed goes out, and reading goes on only as far as it can be printed.
  private func finishRound() {
    output.flush()
    printer.endBurst()
    if printer.count != countAtLastRound {
      countAtLastRound = printer.count
      if let idle = settings.idleTimeout { idleTimer?.deadline = loop.now.advanced(by: idle) }
    }
    lifecycle.flushPendingError()
    guard ending == nil else { return stopIfDone() }
    adjustReading()
  }

  private func adjustReading() {
    let pressure = output.pressure(at: loop.now)
    client.isPaused = pressure != .none
    guard pressure == .full, !hasSaidFull else { return }
    hasSaidFull = true
    diagnostics.warning(
      "the reader of standard output is slow: \(Quantities.words(size: settings.bufferSize)) wait; "
        + "the socket is left unread until there is room (--buffer sets the limit)")
  }

  /// Begins the end: no more events, a goodbye to the server, and what is printed still goes out.
  func end(_ reason: Ending) {
    if case .signal = reason { ending = reason }
    guard ending == nil || ending == reason else { return }
    ending = reason
    if case .status(let status, let reason) = reason {
      lifecycle.printExit(status, reason: reason, events: printer.count)
    }
    printer.disableFastWay()
    client.isPaused = false
    client.disconnect()
    after(Self.closeTime) { run in
      run.client.abort()
      if case .signal = run.ending { run.loop.stop() }
    }
  }

  private func stopIfDone() {
    if client.isClosed && output.buffer.isEmpty { loop.stop() }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    switch failure {
    case .readerGone: end(.signal(SIGPIPE))
    case .system:
      diagnostics.error("cannot write to standard output: \(failure.reason)")
      end(.status(.output, reason: "output"))
    }
  }

  private func conclude() -> ExitStatus {
    output.flush()
    switch ending {
    case .status(let status, _): return output.buffer.isEmpty ? status : unwritten(status)
    case .signal(let number): Signals.die(of: number)
    case nil: return .internalError
    }
  }

  /// Says that printed events never reached the reader, so that a cut recording does not pass for a whole one.
  private func unwritten(_ status: ExitStatus) -> ExitStatus {
    diagnostics.error(
      "\(output.buffer.count) bytes could not be written: the reader did not take them within "
        + "\(Self.flushTime.inWords) of the time limit")
    return status == .success ? .output : status
  }
}

extension SubscribeRun: ChannelsClientDelegate {
  func clientTapIsFull(_ client: ChannelsClient) {
    finishEvent()
  }

  func client(
    _ client: ChannelsClient, received event: Envelope, named name: String?, at now: Instant
  ) {
    // After the end nothing more is printed, but the goodbye goes on.
    guard ending == nil else { return }
    printer.print(event, named: name)
    finishEvent()
  }

  /// After each event: enough is enough, and a flood must not outgrow the queue.
  private func finishEvent() {
    if printer.isDone { return end(.status(.success, reason: "count")) }
    if printer.isFull { client.isPaused = true }
  }

  func client(_ client: ChannelsClient, reports event: SessionEvent, at now: Instant) {
    guard ending == nil else { return }
    lifecycle.report(event, at: now)
    if printer.isDone { return end(.status(.success, reason: "count")) }
    switch event {
    case .subscriptionFailed(_, let failure):
      end(.status(ExitStatus(failure), reason: "subscription refused"))
    case .signInFailed(let failure):
      end(.status(ExitStatus(failure), reason: "sign-in refused"))
    case .ended(let reason): end(.status(ExitStatus(reason), reason: "connection"))
    default: break
    }
  }

  func clientClosed(_ client: ChannelsClient) {}

  func client(_ client: ChannelsClient, receives message: ByteView) {
    lifecycle.trace(received: message)
  }

  func client(_ client: ChannelsClient, sends message: String) {
    lifecycle.trace(sent: message)
  }
}
