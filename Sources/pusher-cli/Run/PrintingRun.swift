internal import PusherCore

/// One run of a command that prints events: the feed, the printer, the output and the clock on one loop.
final class PrintingRun {
  /// How the run will end, once it is known.
  enum Ending: Equatable {
    case status(ExitStatus, reason: String)
    /// By this signal, as soon as possible.
    case signal(Int32)
  }

  let loop: EventLoop
  let output: OutputQueue
  /// Announces that the run is ready.
  let readiness: Readiness
  /// Handles each event in place of the output, or besides it.
  let handler: (any EventHandling)?
  /// Tells with `--metrics` how the run is.
  let monitor: RunMonitor?
  /// Gets every event, printed or not.
  let record: EventRecord?
  private let health: HealthFile?
  private let sync: DiskSync?
  private let settings: PrintSettings
  let diagnostics: Diagnostics
  private(set) var feed: (any Feed)?
  private(set) var printer: Printer?
  /// Kept until the process ends; a weak reference would slow every use.
  private(set) var owner: (any PrintingRunOwner)?
  private var timers: [LoopTimer] = []
  private var idleTimer: LoopTimer?
  private var ending: Ending?
  private var hasPrintedExit = false
  private var hasSaidFull = false
  private var countAtLastRound = 0
  private(set) var lastEventAt: Instant?
  private var statsTimer: LoopTimer?
  private var countAtLastStats = 0
  /// Whether a run has had its time to end, which a signal or --timeout limits.
  private var isOverdue = false

  /// How long the goodbye to the server may take.
  private static let closeTime: Duration = .milliseconds(200)
  /// How long a stalled reader may hold up the end by --timeout; other ends wait for it.
  private static let flushTime: Duration = .seconds(1)

  /// - Throws: What keeps events from being handled at all.
  init(
    _ feed: FeedSettings, network: NetworkSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    settings = feed.printing
    self.diagnostics = diagnostics
    self.loop = loop
    output = OutputQueue(descriptor: descriptor, limit: settings.bufferSize)
    record = try settings.recordFile.map {
      try EventRecord($0, loop: loop, diagnostics: diagnostics)
    }
    sync = settings.syncInterval.map { [output] in DiskSync(output, every: $0, on: loop) }
    readiness = Readiness(
      command: settings.onReady, descriptor: settings.readyDescriptor, loop: loop,
      diagnostics: diagnostics)
    monitor = try settings.monitor.map {
      try RunMonitor($0, loop: loop, diagnostics: diagnostics)
    }
    health = settings.healthFile.map { HealthFile($0, diagnostics: diagnostics) }
    handler = try settings.handler?.handler(
      in: HandlerSurroundings(
        output: output, limit: settings.bufferSize, loop: loop, diagnostics: diagnostics),
      feed: feed, network: network)
  }

  /// Prints what comes from `feed`, whose delegate the caller is, until the end; answers how it went.
  func run(
    _ feed: any Feed, _ printer: Printer, owner: any PrintingRunOwner
  ) -> ExitStatus {
    self.feed = feed
    self.printer = printer
    self.owner = owner
    monitor?.run = self
    Signals.watch(loop) { [unowned self] in
      owner.lifecycle.printStatus(status(since: 0), at: loop.now)
    } onHangUp: { [unowned self] in
      guard !isEnding else { return settings.outputFile != nil || record != nil }
      record?.reopen()
      let isReopened = reopenOutput() || record != nil
      return owner.readSettingsAgain() || isReopened
    } onSignal: { [unowned self] number in
      end(.signal(number))
    }
    loop.add(output)
    output.onFailure = { [unowned self] in outputFailed($0) }
    record?.onFailure = { [unowned self] in end(.status($0, reason: "output")) }
    loop.beforeWait { [unowned self] in finishRound() }
    readiness.onEnd = { [unowned self] in readyCommandEnded(hasFailed: $0) }
    handler?.onFailure = { [unowned self] in handlerFailed() }
    startTimers()
    readiness.manager.follow(loop) { [unowned self] in progress }
    readiness.manager.watch(loop) { [unowned self] in self.feed?.heardAt }
    feed.connect()
    loop.run()
    return conclude()
  }

  /// Goes on with another feed, which is connected.
  func goOn(with feed: any Feed) {
    feed.isPaused = self.feed?.isPaused == true
    self.feed = feed
  }

  /// Whether the end has begun, after which nothing more is printed.
  var isEnding: Bool { ending != nil }

  private var count: Int { printer?.count ?? 0 }

  private func startTimers() {
    if let timeout = settings.timeout {
      after(timeout) { run in
        run.readiness.cut()
        run.timeIsUp(timeout.inWords)
        run.limitFlush()
      }
    }
    if let interval = settings.statsInterval {
      statsTimer = after(interval) { run in run.tellStats(every: interval) }
    }
    if let idle = settings.idleTimeout {
      idleTimer = after(idle) { run in run.idled(for: idle) }
    }
  }

  private func tellStats(every interval: Duration) {
    let status = status(since: countAtLastStats, over: interval)
    owner?.lifecycle.printStatus(status, at: loop.now)
    countAtLastStats = count
    statsTimer?.deadline = loop.now.advanced(by: interval)
  }

  private func status(since earlier: Int, over time: Duration? = nil) -> RunStatus {
    noteEvents()
    return RunStatus(
      events: count, recent: count - earlier, period: time,
      queued: output.buffer.count + (handler?.waitingBytes ?? 0), lastEventAt: lastEventAt)
  }

  /// The end by --timeout: what was asked for, unless events were counted, or there never could be any.
  private func timeIsUp(_ time: String) {
    guard ending == nil else { return }
    let obstacle = owner?.obstacle
    let reason = obstacle?.reason.map { ": \($0)" } ?? ""
    if let missing {
      let why = obstacle.map { " (\($0.what)\(reason))" } ?? othersCame
      return timedOut("\(missing) within \(time)\(why)", "timeout")
    }
    guard let obstacle else { return end(.status(.success, reason: "timeout")) }
    diagnostics.error("timed out: \(obstacle.what) within \(time)\(reason)")
    let cause: Cause = obstacle.isRefusal ? .notAllowed : .unreachable
    end(.status(cause.status, reason: "timeout"))
  }

  /// The events that the run ends after and that have not come, in words; `nil` where none was named.
  private var missing: String? {
    if let wanted = settings.count { return "\(count) of \(wanted) events" }
    let names = settings.untilEvents.map { "'\($0)'" }.joined(separator: " or ")
    return names.isEmpty ? nil : "no event \(names)"
  }

  /// In parentheses, why no wanted event may have come; empty when some did and no other.
  private var othersCame: String {
    guard let printer else { return "" }
    if printer.rejected > 0 { return Hints.rejection(printer, settings) }
    return count == 0 ? owner?.silenceHint ?? "" : ""
  }

  private func idled(for idle: Duration) {
    guard !noteEvents() else { return }
    timedOut("no event for \(idle.inWords)\(othersCame)", "idle timeout")
  }

  private func timedOut(_ what: String, _ reason: String) {
    guard ending == nil else { return }
    diagnostics.error("timed out: \(what)")
    end(.status(.timedOut, reason: reason))
  }

  /// A time limit ends the run even when the output is not read; a reached count waits until all events are written,
  /// but not for commands.
  private func limitFlush() {
    let isDone = printer?.isDone == true
    guard handler != nil || !isDone else { return }
    after(Self.flushTime) { run in
      run.handler?.cut(passing: nil)
      guard !isDone else { return }
      run.isOverdue = true
      guard run.isHandled else { return }
      run.tellMissed()
      run.stopIfDone()
      run.loop.stop()
    }
  }

  @discardableResult
  private func after(_ time: Duration, _ action: @escaping (PrintingRun) -> Void) -> LoopTimer {
    let timer = LoopTimer(deadline: loop.now.advanced(by: time)) { [unowned self] in
      action(self)
    }
    timers.append(timer)
    loop.add(timer)
    return timer
  }

  /// Goes on with the file that has the name of `--output-file` now; answers whether there is that option.
  private func reopenOutput() -> Bool {
    guard let path = settings.outputFile else { return false }
    sync?.finish()
    output.reopen(path, diagnostics)
    return true
  }

  /// Before every wait: writes the printed lines, and allows reading only while there is room to print.
  private func finishRound() {
    output.flush()
    record?.flush()
    sync?.note()
    printer?.endBurst()
    noteEvents()
    handler?.startWaiting()
    health?.note(feed?.heardAt)
    owner?.roundEnded()
    guard ending == nil else { return stopIfDone() }
    adjustReading()
    monitor?.noteReading(isPaused: feed?.isPaused == true, at: loop.now)
  }

  /// Notes when events have come, for timers too that are due in the same round; answers whether any have.
  @discardableResult
  private func noteEvents() -> Bool {
    guard count != countAtLastRound else { return false }
    countAtLastRound = count
    lastEventAt = loop.now
    readiness.manager.progressed(at: loop.now)
    if let idle = settings.idleTimeout { idleTimer?.deadline = loop.now.advanced(by: idle) }
    return true
  }

  /// Whether something other than the output keeps events from being taken.
  private var mustWait: Bool { handler?.isFull == true || owner?.isFull == true }

  private func adjustReading() {
    var pressure = output.pressure(at: loop.now)
    feed?.isPaused = pressure != .none || mustWait
    while pressure == .none, printer?.isFull == true {
      // Bytes that were already read have filled the queue again.
      output.flush()
      pressure = output.pressure(at: loop.now)
      feed?.isPaused = pressure != .none || mustWait
    }
    handler?.sayFull()
    guard pressure == .full, !hasSaidFull else { return }
    hasSaidFull = true
    diagnostics.warning(
      "the reader of standard output is slow: \(Quantities.words(size: settings.bufferSize)) wait; "
        + "the socket is left unread until there is room (--buffer sets the limit)")
  }

  /// Begins the end: no more events, a close frame to the server, and printed lines are still written.
  func end(_ reason: Ending) {
    if case .signal = reason { ending = reason }
    guard ending == nil || ending == reason else { return }
    ending = reason
    if succeeds, let failure = owner?.failure() {
      ending = .status(failure.status, reason: failure.reason)
    }
    if case .signal(let number) = reason {
      handler?.cut(passing: number == Signals.brokenPipe ? nil : number)
    } else if output.failure != nil {
      handler?.cut(passing: nil)
    }
    if isHandled { tellMissed() }
    // The command of --on-ready can still change the status of a successful run.
    let isOver = readiness.isOver(succeeds: succeeds)
    if isOver || !succeeds { printExit() }
    printer?.stop()
    readiness.manager.stopping()
    owner?.endBegins()
    feed?.isPaused = false
    feed?.disconnect()
    after(Self.closeTime) { run in
      run.feed?.abort()
      guard case .signal = run.ending else { return }
      run.isOverdue = true
      run.stopIfDone()
    }
  }

  /// The last line, once, while there is a reader; commands of `--exec` print before it.
  private func printExit() {
    guard let ending, output.failure == nil, !hasPrintedExit, isHandled else { return }
    hasPrintedExit = true
    switch ending {
    case .status(let status, let reason):
      owner?.lifecycle.printExit(status.rawValue, reason: reason, events: count)
    case .signal(let number):
      owner?.lifecycle.printExit(128 + number, reason: Signals.name(number), events: count)
    }
  }

  /// Whether the end is the one that was asked for.
  private var succeeds: Bool {
    if case .status(.success, _) = ending { true } else { false }
  }

  private func readyCommandEnded(hasFailed: Bool) {
    if hasFailed { fail(.command, "on-ready") }
    if ending != nil { stopIfDone() }
  }

  private func handlerFailed() {
    if let failure = handler?.failure { fail(failure.status, failure.reason) }
  }

  private func tellMissed() {
    if handler?.tellMissed() == true { handlerFailed() }
  }

  /// Whether every event that came has been handled.
  private var isHandled: Bool { handler?.isIdle ?? true }

  /// Ends the run with a failure, also when it was about to end with success.
  private func fail(_ status: ExitStatus, _ reason: String) {
    let failure = Ending.status(status, reason: reason)
    guard ending != nil else { return end(failure) }
    if succeeds { ending = failure }
  }

  private func stopIfDone() {
    guard readiness.isOver(succeeds: succeeds), isHandled, owner?.isHolding != true else { return }
    tellMissed()
    printExit()
    if feed?.isClosed == true && output.isSettled || isOverdue { loop.stop() }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    switch failure {
    case .readerGone: end(.signal(Signals.brokenPipe))
    case .system:
      end(
        .status(diagnostics.cannotPrint(failure.reason, to: settings.outputFile), reason: "output"))
    }
  }

  private func conclude() -> ExitStatus {
    output.flush()
    record?.flush()
    sync?.finish()
    owner?.outputEnded()
    for line in printer?.tally?.lines ?? [] { diagnostics.answer(line) }
    switch ending {
    case .status(let status, _):
      // A run has not succeeded when its last lines could not be written.
      if output.failure != nil || record?.hasFailed == true {
        return status == .success ? .output : status
      }
      return output.isSettled ? status : unwritten(status)
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

  /// After each event: enough is enough, and a flood must not outgrow the queue.
  func finishEvent() {
    guard let printer else { return }
    if printer.isDone {
      return end(.status(.success, reason: printer.hasMetEnd ? "until" : "count"))
    }
    if printer.hasFullBurst {
      output.flush()
      record?.flush()
    }
    let isHeldUp = printer.hasFullBurst && output.pressure(at: loop.now) != .none
    if isHeldUp || mustWait { feed?.isPaused = true }
  }
}
