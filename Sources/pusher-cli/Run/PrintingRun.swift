internal import PusherCore

/// One run of a command that prints events: the feed, the printer, the output and the clock on one loop.
final class PrintingRun {
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
  private var ending: RunEnd
  /// Runs out at the next deadline of ``ending``.
  private lazy var endTimer = LoopTimer(deadline: ending.deadline) { [unowned self] in
    // Events of this round count.
    noteEvents()
    proceed()
  }
  private var hasSaidFull = false
  private var countAtLastRound = 0
  private(set) var lastEventAt: Instant?
  private var statsTimer: LoopTimer?
  private var countAtLastStats = 0

  /// - Throws: What keeps events from being handled at all.
  init(
    _ feed: FeedSettings, network: NetworkSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    settings = feed.printing
    self.diagnostics = diagnostics
    self.loop = loop
    ending = RunEnd(timeout: settings.timeout, idleTimeout: settings.idleTimeout, at: loop.now)
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
    Signals.watchEach(loop) { [unowned self] in
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
    record?.onFailure = { [unowned self] in end(.failed($0, reason: "output")) }
    loop.beforeWait { [unowned self] in finishRound() }
    readiness.onEnd = { [unowned self] hasFailed in
      if hasFailed { end(.failed(.command, reason: "on-ready")) } else if isEnding { proceed() }
    }
    handler?.onFailure = { [unowned self] in handlerFailed() }
    loop.add(endTimer)
    startStats()
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
  var isEnding: Bool { ending.ending != nil }

  private var count: Int { printer?.count ?? 0 }

  private func startStats() {
    guard let interval = settings.statsInterval else { return }
    let timer = LoopTimer(deadline: loop.now.advanced(by: interval)) { [unowned self] in
      tellStats(every: interval)
    }
    statsTimer = timer
    loop.add(timer)
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

  /// Says that a limit has passed, and decides how the run ends by it.
  private func judge(_ limit: RunEnd.Limit) {
    switch limit {
    case .timeout: timeIsUp(settings.timeout?.inWords ?? "")
    case .idle:
      let time = settings.idleTimeout?.inWords ?? ""
      timedOut("no event for \(time)\(othersCame)", "idle timeout")
    }
  }

  /// The end by --timeout: what was asked for, unless events were counted, or there never could be any.
  private func timeIsUp(_ time: String) {
    let obstacle = owner?.obstacle
    let reason = obstacle?.reason.map { ": \($0)" } ?? ""
    if let missing {
      let why = obstacle.map { " (\($0.what)\(reason))" } ?? othersCame
      return timedOut("\(missing) within \(time)\(why)", "timeout")
    }
    guard let obstacle else { return end(.timedOut(.success, reason: "timeout")) }
    diagnostics.error("timed out: \(obstacle.what) within \(time)\(reason)")
    let cause: Cause = obstacle.isRefusal ? .notAllowed : .unreachable
    end(.timedOut(cause.status, reason: "timeout"))
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

  private func timedOut(_ what: String, _ reason: String) {
    diagnostics.error("timed out: \(what)")
    end(.timedOut(.timedOut, reason: reason))
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
    if isEnding { return proceed() }
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
    ending.noteEvents(at: loop.now)
    endTimer.deadline = ending.deadline
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

  /// Takes a cause to end the run; the first decides.
  func end(_ event: RunEnd.Event) {
    ending.take(event, at: loop.now)
    proceed()
  }

  /// Does what the end of the run needs now.
  private func proceed() {
    while true {
      switch ending.next(waiting, at: loop.now) {
      case .goOn, .drain:
        endTimer.deadline = ending.deadline
        return
      case .judge(let limit): judge(limit)
      case .close: close()
      case .cutHandler(let signal): handler?.cut(passing: signal)
      case .cutCommand: readiness.cut()
      case .tellMissed: if handler?.tellMissed() == true { handlerFailed() }
      case .tellExit(let ending): printExit(ending)
      case .hangUp: feed?.abort()
      case .finish: return loop.stop()
      case .die(let number): Signals.die(of: number)
      }
    }
  }

  /// What the end of the run waits for.
  private var waiting: RunEnd.Waiting {
    var waiting = RunEnd.Waiting()
    if feed?.isClosed != true { waiting.insert(.feed) }
    if !output.isSettled { waiting.insert(.output) }
    if handler?.isIdle == false { waiting.insert(.handler) }
    if !readiness.isOver(succeeds: true) { waiting.insert(.command) }
    if owner?.isHolding == true { waiting.insert(.work) }
    return waiting
  }

  /// Takes no more events, and sends a close frame to the server; printed lines are still written.
  private func close() {
    if ending.ending?.isSuccess == true, let failure = owner?.failure() {
      ending.take(.failed(failure.status, reason: failure.reason), at: loop.now)
    }
    printer?.stop()
    readiness.manager.stopping()
    owner?.endBegins()
    feed?.isPaused = false
    feed?.disconnect()
  }

  /// Prints the last line, if there is a reader.
  private func printExit(_ ending: RunEnd.Ending) {
    guard output.failure == nil else { return }
    switch ending {
    case .status(let status, let reason):
      owner?.lifecycle.printExit(status.rawValue, reason: reason, events: count)
    case .signal(let number):
      owner?.lifecycle.printExit(128 + number, reason: Signals.name(number), events: count)
    }
  }

  private func handlerFailed() {
    if let failure = handler?.failure { end(.failed(failure.status, reason: failure.reason)) }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    switch failure {
    case .readerGone: end(.readerGone)
    case .system:
      end(.outputFailed(diagnostics.cannotPrint(failure.reason, to: settings.outputFile)))
    }
  }

  private func conclude() -> ExitStatus {
    output.flush()
    record?.flush()
    sync?.finish()
    owner?.outputEnded()
    for line in printer?.tally?.lines ?? [] { diagnostics.answer(line) }
    switch ending.ending {
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
        + "\(RunEnd.flushTime.inWords) of the time limit")
    return status == .success ? .output : status
  }

  /// After each event: enough is enough, and a flood must not outgrow the queue.
  func finishEvent() {
    guard let printer else { return }
    if printer.isDone {
      return end(.satisfied(reason: printer.hasMetEnd ? "until" : "count"))
    }
    if printer.hasFullBurst {
      output.flush()
      record?.flush()
    }
    let isHeldUp = printer.hasFullBurst && output.pressure(at: loop.now) != .none
    if isHeldUp || mustWait { feed?.isPaused = true }
  }
}
