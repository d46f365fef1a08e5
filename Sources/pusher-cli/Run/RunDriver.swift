internal import PusherCore
internal import PusherLines

/// Drives one run: its loop, signals, limits and end.
final class RunDriver {
  private let part: any RunPart
  private let run: PrintingRun
  private let settings: FeedSettings
  private let sync: DiskSync?
  private let monitor: RunMonitor?
  private var slowReaders: Set<String> = []
  private var statsTimer: LoopTimer?
  private var countAtLastStats = 0

  private var loop: EventLoop { run.loop }
  private var diagnostics: Diagnostics { run.diagnostics }

  /// - Throws: ``TransportError`` if the address of `--metrics` is unavailable.
  init(_ part: any RunPart, _ settings: FeedSettings) throws {
    (self.part, self.settings) = (part, settings)
    let run = part.run
    self.run = run
    sync = settings.run.syncInterval.map { DiskSync(run.output, every: $0, on: run.loop) }
    monitor = try settings.run.monitor.map { try RunMonitor($0, of: part) }
  }

  /// Prints the events of `feed` until the end; the delegate of `feed` is the command's part.
  ///
  /// - Parameter printer: `nil` if the part does not print them.
  func run(_ feed: any Feed, _ printer: Printer?) -> ExitStatus {
    run.begin(feed, printer)
    watchSignals()
    loop.add(run.output)
    run.output.onFailure = { [unowned self] in outputFailed($0) }
    run.record?.onFailure = { [run, diagnostics, path = settings.run.recordFile] in
      run.end(.failed(diagnostics.cannotPrint($0.reason, to: path), reason: "output"))
    }
    loop.beforeWait { [unowned self] in finishRound() }
    run.readiness.onEnd = { [run] hasFailed in
      if hasFailed { run.end(.failed(.command, reason: "on-ready")) }
    }
    run.handler?.onFailure = { [unowned self] in handlerFailed() }
    startStats()
    run.readiness.manager.follow(loop) { [run] in run.progress }
    run.readiness.manager.watch(loop) { [run] in run.feed?.heardAt }
    feed.connect()
    loop.run()
    return conclude()
  }

  private func watchSignals() {
    Signals.watchEach(loop) { [part] in
      part.printStatus()
    } onHangUp: { [unowned self] in
      guard !run.isEnding else { return settings.run.outputFile != nil || run.record != nil }
      run.record?.reopen(settings.run.recordFile ?? "", diagnostics)
      return reopenOutput() || run.record != nil
    } onSignal: { [run] number in
      run.end(.signal(number))
    }
  }

  /// Reopens the file of `--output-file`; returns false without that option.
  private func reopenOutput() -> Bool {
    guard let path = settings.run.outputFile else { return false }
    sync?.finish()
    run.output.reopen(path, diagnostics)
    return true
  }

  private func startStats() {
    guard let interval = settings.run.statsInterval else { return }
    statsTimer = loop.schedule(after: interval) { [unowned self] in
      part.lifecycle.printStatus(of: run, since: countAtLastStats, over: interval)
      countAtLastStats = run.count
      statsTimer?.deadline = loop.now.advanced(by: interval)
    }
  }

  // MARK: The rounds

  /// Runs before every wait: writes the printed lines, and pauses reading while the queue is full.
  private func finishRound() {
    run.output.flush()
    run.record?.flush()
    sync?.note()
    run.printer?.endBurst()
    run.noteEvents()
    run.handler?.startWaiting()
    part.roundEnded()
    if !run.isEnding {
      adjustReading()
      monitor?.noteReading(isPaused: run.feed?.isPaused == true, at: loop.now)
    }
    proceed()
  }

  private var mustWait: Bool { run.handler?.isFull == true }

  private func adjustReading() {
    var pressure = run.output.pressure(at: loop.now)
    run.feed?.isPaused = pressure != .none || mustWait
    while pressure == .none, run.printer?.isFull == true {
      // Bytes from an earlier read have filled the queue again.
      run.output.flush()
      pressure = run.output.pressure(at: loop.now)
      run.feed?.isPaused = pressure != .none || mustWait
    }
    if let handler = run.handler, handler.isFull { sayFull(handler.name, "of events wait for it") }
    if pressure == .full { sayFull("the reader of standard output", "wait") }
  }

  /// Reports once per reader that the socket is not read.
  private func sayFull(_ reader: String, _ queue: String) {
    guard slowReaders.insert(reader).inserted else { return }
    diagnostics.warning(
      "\(reader) is slow: \(Quantities.words(size: settings.printing.bufferSize)) \(queue); "
        + "the socket is not read until there is room (--buffer sets the limit)")
  }

  // MARK: The end

  private func proceed() {
    while true {
      switch run.ending.next(waiting, at: loop.now) {
      case .proceed, .drain:
        run.alarm.deadline = run.ending.deadline
        return
      case .judge(let limit): judge(limit)
      case .close: close()
      case .cut(let signal):
        run.handler?.cut(passing: signal)
        part.lifecycle.cutLook()
      case .cutCommand: run.readiness.cut()
      case .tellMissed: if run.handler?.tellMissed() == true { handlerFailed() }
      case .tellExit(let ending):
        if run.output.failure == nil { part.lifecycle.printExit(ending, events: run.count) }
      case .hangUp: run.feed?.abort()
      case .finish: return loop.stop()
      case .die(let number): Signals.die(of: number)
      }
    }
  }

  private var waiting: RunEnd.Waiting {
    var waiting = RunEnd.Waiting()
    if run.feed?.isClosed != true { waiting.insert(.feed) }
    if !run.output.isSettled { waiting.insert(.output) }
    if run.handler?.isIdle == false { waiting.insert(.handler) }
    if !run.readiness.isOver(succeeds: true) { waiting.insert(.command) }
    if part.isHolding || part.lifecycle.isLooking { waiting.insert(.work) }
    return waiting
  }

  private func judge(_ limit: RunEnd.Limit) {
    let closing: RunEnd.Closing =
      switch limit {
      case .timeout: .timeout(settings.run.timeout ?? .zero, part.obstacle)
      case .idle: .idleTimeout(settings.run.idleTimeout ?? .zero)
      }
    run.close(closing, hint: part.shortfall)
  }

  /// Stops taking events, and sends a close frame; printed lines are still written.
  private func close() {
    if run.ending.ending?.isSuccess == true, let failure = part.failure() {
      run.end(.failed(failure.status, reason: failure.reason))
    }
    run.readiness.manager.stopping()
    part.endBegins()
    run.feed?.isPaused = false
    run.feed?.disconnect()
  }

  private func handlerFailed() {
    if let failure = run.handler?.failure {
      run.end(.failed(failure.status, reason: failure.reason))
    }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    switch failure {
    case .readerGone: run.end(.readerGone)
    case .system:
      run.end(.outputFailed(diagnostics.cannotPrint(failure.reason, to: settings.run.outputFile)))
    }
  }

  private func conclude() -> ExitStatus {
    run.output.flush()
    run.record?.flush()
    sync?.finish()
    part.outputEnded()
    for line in run.printer?.tally?.lines ?? [] { diagnostics.answer(line) }
    tellShortfall()
    switch run.ending.ending {
    case .status(let status, _):
      // A run fails if its last lines could not be written.
      let hasFailed = run.output.failure != nil || run.record?.hasFailed == true
      if !hasFailed, !run.output.isSettled { tellUnwritten() }
      return status == .success && (hasFailed || !run.output.isSettled) ? .output : status
    case .signal(let number): Signals.die(of: number)
    case nil: return .internalError
    }
  }

  /// Reports silence and left-out events, unless the message about the end did so: a wrong path or
  /// channel must not end in silence.
  private func tellShortfall() {
    guard !run.hasToldShortfall, let printer = run.printer else { return }
    if run.count == 0, let end = run.ending.ending, hasBeenAwaited(end) {
      let leftOut = run.leftOut
      let text = leftOut.isEmpty ? part.silenceHint : "nothing to print: \(leftOut)"
      if text.isEmpty { return }
      return end.isSuccess ? diagnostics.warning(text) : diagnostics.info(text)
    }
    guard let field = printer.field, let absence = field.absence(isQuoted: false) else { return }
    if field.holdsError || isFreeEnd || run.count == 0 && run.ending.isSatisfied {
      diagnostics.warning((run.count == 0 ? "nothing to print: " : "") + absence)
    } else if run.ending.isSatisfied {
      // Most answers of language models have such events.
      diagnostics.info(absence)
    }
  }

  /// True after the success of a run that waited for no event.
  private var isFreeEnd: Bool {
    run.ending.ending?.isSuccess == true && !run.ending.isSatisfied
  }

  /// True if a time limit alone or a person ended the run, and nothing kept events away.
  private func hasBeenAwaited(_ end: RunEnd.Ending) -> Bool {
    switch end {
    case .status(.success, let reason): reason.isSame(as: "timeout")
    case .signal(Signals.interrupt): part.obstacle == nil
    default: false
    }
  }

  /// Reports unwritten bytes, so that a cut recording does not look complete.
  private func tellUnwritten() {
    diagnostics.error(
      "\(run.output.buffer.count) bytes could not be written: the reader did not read them within "
        + "\(RunEnd.flushTime.inWords) of the time limit")
  }
}

extension RunDriver {
  static func start(
    _ diagnostics: Diagnostics, _ settings: FeedSettings? = nil,
    _ body: (EventLoop, OutputDescriptor) throws -> ExitStatus
  ) -> ExitStatus {
    diagnostics.outcome {
      switch try output(settings, diagnostics) {
      case .success(let descriptor?): return try body(EventLoop(), descriptor)
      case .success(nil):
        diagnostics.error("cannot print events: standard output is closed")
        return .output
      case .failure(let fault):
        return diagnostics.cannotPrint(fault.reason, to: settings?.run.outputFile)
      }
    }
  }

  /// Opens the file of `--output-file`, or standard output; `nil` if that is closed.
  ///
  /// A disk's failure is no usage error, and is returned: a service manager may retry.
  private static func output(
    _ settings: FeedSettings?, _ diagnostics: Diagnostics
  ) throws(UsageError) -> Result<OutputDescriptor?, FileFault> {
    guard let settings, let path = settings.run.outputFile else {
      return .success(OutputDescriptor())
    }
    do throws(FileFault) {
      let file = try OutputFile(
        path, terminator: settings.printing.form.terminator, warn: { diagnostics.warning($0) })
      return .success(OutputDescriptor(file))
    } catch {
      guard !error.isOfDisk else { return .failure(error) }
      throw UsageError("--output-file: cannot write '\(path)': \(error.reason)")
    }
  }
}

/// Syncs a written file to disk within a given time, for `--sync`.
final class DiskSync {
  private let output: OutputQueue
  private let interval: Duration
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var synchronized = 0

  init(_ output: OutputQueue, every interval: Duration, on loop: EventLoop) {
    (self.output, self.interval, self.loop) = (output, interval, loop)
  }

  func note() {
    guard output.written != synchronized, timer == nil else { return }
    timer = loop.schedule(after: interval) { [unowned self] in finish() }
  }

  func finish() {
    loop.cancel(&timer)
    guard output.written != synchronized else { return }
    synchronized = output.written
    output.synchronize()
  }
}
