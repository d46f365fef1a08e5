internal import PusherCore
internal import PusherLines
internal import PusherServer

/// One run of a command that prints events or hands them on: its parts, loop, signals, limits and
/// end.
final class PrintingRun {
  let loop: EventLoop
  let output: OutputQueue
  let readiness: Readiness
  let handler: (any EventHandling)?
  /// The file of `--record`: every event as a JSON line with its time, printed or not.
  let record: OutputQueue?
  /// The command of `--on-idle`.
  let idleCommand: GapCommand?
  let diagnostics: Diagnostics
  private(set) var feed: (any Feed)?
  private(set) var printer: Printer?
  private let settings: FeedSettings
  private let sync: DiskSync?
  private var monitor: MonitoringEndpoint?
  private var pausedSince: Instant?
  /// Shorter pauses are normal during a flood.
  private static let longestPause = Duration.seconds(5)
  private var slowReaders: Set<String> = []
  private var statsTimer: LoopTimer?
  private var countAtLastStats = 0
  private(set) var ending: RunEnd
  /// True after a message that told which events were left out.
  private var hasToldShortfall = false
  /// Wakes the loop at the deadline of ``ending``.
  private let alarm = LoopTimer(deadline: nil) {}
  private var countAtLastRound = 0
  private(set) var lastEventAt: Instant?

  init(
    _ feed: FeedSettings, network: NetworkSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    (settings, self.diagnostics, self.loop) = (feed, diagnostics, loop)
    ending = RunEnd(
      feed.printing.wishes, timeout: feed.run.timeout, idleTimeout: feed.run.idleTimeout,
      outlastsSilence: feed.run.onIdle != nil, at: loop.now)
    idleCommand = feed.run.onIdle.map {
      GapCommand($0, limit: 0, loop: loop, diagnostics: diagnostics)
    }
    output = OutputQueue(descriptor: descriptor, limit: feed.printing.bufferSize)
    sync = feed.run.syncInterval.map { [output] in DiskSync(output, every: $0, on: loop) }
    record = try feed.run.recordFile.map { try Self.record($0, diagnostics) }
    readiness = Readiness(
      command: feed.run.onReady, descriptor: feed.run.readyDescriptor, loop: loop,
      diagnostics: diagnostics)
    handler =
      switch feed.run.handler {
      case nil: nil
      case .command(let command): EventHook(command, feed, output, loop, diagnostics)
      case .receiver(let receiver):
        try EventForwarder(receiver, feed, network: network, output, loop, diagnostics)
      }
    loop.add(alarm)
    if let record { loop.add(record) }
  }

  private static func record(
    _ path: String, _ diagnostics: Diagnostics
  ) throws(UsageError) -> OutputQueue {
    do throws(FileFault) {
      let file = try OutputFile(path, terminator: UInt8(ascii: "\n")) {
        diagnostics.warning("--record: \($0)")
      }
      return OutputQueue(descriptor: OutputDescriptor(file), limit: OutputQueue.softLimit)
    } catch { throw UsageError("--record: cannot write '\(path)': \(error.reason)") }
  }

  /// - Parameter service: `nil` for an event stream.
  func makePrinter(_ descriptor: OutputDescriptor, service: PusherService? = nil) -> Printer {
    Printer(
      settings: settings.printing, service: service, output: output.buffer,
      files: descriptor.files, isTerminal: descriptor.isTerminal, receiver: handler,
      record: record?.buffer,
      columns: { descriptor.columns }, wallTime: SystemClock.wall)
  }

  /// True after the end has begun; nothing more is printed then.
  var isEnding: Bool { ending.ending != nil }

  /// Takes a cause to end the run; the first one decides.
  func end(_ event: RunEnd.Event) {
    ending.take(event, at: loop.now)
    printer?.stop()
    alarm.deadline = LoopInterest.immediately
  }

  /// Ends the run without a met wish, and reports why; printed events come before the message.
  func close(_ closing: RunEnd.Closing, hint: String) {
    let sentence = ending.wishes.sentence(at: closing, after: count, hint: hint)
    end(.closed(closing))
    output.flush()
    guard let sentence else { return }
    hasToldShortfall = true
    diagnostics.error(sentence)
  }

  /// The events that came and were left out, in words; empty for none.
  var leftOut: String {
    guard let printer else { return "" }
    let rejection = printer.rejected > 0 ? Hints.rejection(printer, settings.printing) : nil
    let absence = printer.field?.absence(isQuoted: ending.wishes.awaitEvent)
    return [rejection, absence].compactMap(\.self).joined(separator: "; ")
  }

  /// Runs after each event: ends a finished run, and pauses the feed if the queue is full.
  func finishEvent() {
    guard let printer else { return }
    if let failure = printer.failure { return fail(failure.words, failure.option) }
    if printer.isDone { return end(.satisfied(reason: printer.hasMetEnd ? "until" : "count")) }
    if printer.hasFullBurst {
      output.flush()
      record?.flush()
    }
    let isHeldUp = printer.hasFullBurst && output.pressure(at: loop.now) != .none
    if isHeldUp || handler?.isFull == true { feed?.isPaused = true }
  }

  /// Ends the run at an event of `--fail-event` or `--fail-where`; printed events are written
  /// before the message.
  private func fail(_ message: String, _ option: Flag) {
    guard !isEnding else { return }
    end(.refused(Cause.refused.status, reason: option.name))
    output.flush()
    diagnostics.error(message)
  }

  var count: Int { printer?.count ?? 0 }

  /// Notes new events, also before a limit of the same round is judged.
  func noteEvents() {
    guard count != countAtLastRound else { return }
    countAtLastRound = count
    lastEventAt = loop.now
    readiness.manager.progressed(at: loop.now)
    ending.noteEvents(at: loop.now)
    alarm.deadline = ending.deadline
  }

  // MARK: The loop

  /// Handles the events of `feed` until the end; the delegate of `feed` is the command's part.
  ///
  /// - Parameter printer: `nil` if the part does not print them.
  /// - Throws: ``TransportError`` if the address of `--metrics` is unavailable.
  func run(_ part: any RunPart, _ feed: any Feed, _ printer: Printer?) throws -> ExitStatus {
    monitor = try settings.run.monitor?.monitoringEndpoint(
      of: part.command, loop: loop, diagnostics, ailment: { [unowned self] in ailment(part) },
      families: { [unowned self] in metrics(of: part) })
    (self.feed, self.printer) = (feed, printer)
    watchSignals(part)
    loop.add(output)
    output.onFailure = { [unowned self] in outputFailed($0) }
    record?.onFailure = { [unowned self] in
      end(
        .failed(diagnostics.cannotPrint($0.reason, to: settings.run.recordFile), reason: "output"))
    }
    loop.beforeWait { [unowned self] in finishRound(part) }
    readiness.onEnd = { [unowned self] hasFailed in
      if hasFailed { end(.failed(.command, reason: "on-ready")) }
    }
    handler?.onFailure = { [unowned self] in handlerFailed() }
    startStats(part)
    readiness.manager.follow(loop) { [unowned self] in
      loop.progress(count, lastAt: lastEventAt) ?? ""
    }
    readiness.manager.watch(loop) { [unowned self] in self.feed?.heardAt }
    feed.connect()
    loop.run()
    return conclude(part)
  }

  /// The reason that no event can come now, if any.
  private func ailment(_ part: any RunPart) -> String? {
    if isEnding { return "ending" }
    let isStalled = pausedSince.map { $0.duration(to: loop.now) >= Self.longestPause } ?? false
    return part.interruption
      ?? (isStalled ? "the output or the event handler is slow; nothing is read" : nil)
  }

  private func watchSignals(_ part: any RunPart) {
    Signals.watch(loop, passesAll: true) { [part] in
      part.printStatus()
    } onHangUp: { [unowned self] in
      guard !isEnding else { return settings.run.outputFile != nil || record != nil }
      record?.reopen(settings.run.recordFile ?? "", diagnostics)
      return reopenOutput() || record != nil
    } onSignal: { [unowned self] number in
      end(.signal(number))
    }
  }

  /// Reopens the file of `--output-file`; returns false without that option.
  private func reopenOutput() -> Bool {
    guard let path = settings.run.outputFile else { return false }
    sync?.finish()
    output.reopen(path, diagnostics)
    return true
  }

  private func startStats(_ part: any RunPart) {
    guard let interval = settings.run.statsInterval else { return }
    statsTimer = loop.schedule(after: interval) { [unowned self] in
      part.lifecycle.printStatus(of: self, since: countAtLastStats, over: interval)
      countAtLastStats = count
      statsTimer?.deadline = loop.now.advanced(by: interval)
    }
  }

  // MARK: The rounds

  /// Runs before every wait: writes the printed lines, and pauses reading while the queue is full.
  private func finishRound(_ part: any RunPart) {
    output.flush()
    record?.flush()
    sync?.note()
    printer?.endBurst()
    noteEvents()
    handler?.startWaiting()
    part.roundEnded()
    if !isEnding {
      adjustReading()
      pausedSince = feed?.isPaused == true ? pausedSince ?? loop.now : nil
    }
    proceed(part)
  }

  private var mustWait: Bool { handler?.isFull == true }

  private func adjustReading() {
    var pressure = output.pressure(at: loop.now)
    feed?.isPaused = pressure != .none || mustWait
    while pressure == .none, printer?.isFull == true {
      // Bytes from an earlier read have filled the queue again.
      output.flush()
      pressure = output.pressure(at: loop.now)
      feed?.isPaused = pressure != .none || mustWait
    }
    if let handler, handler.isFull { sayFull(handler.name, "of events wait for it") }
    if pressure == .full { sayFull("the reader of standard output", "wait") }
  }

  /// Warns that the socket is not read, once for each slow reader.
  private func sayFull(_ reader: String, _ queue: String) {
    guard slowReaders.insert(reader).inserted else { return }
    diagnostics.warning(
      "\(reader) is slow: \(Quantities.words(size: settings.printing.bufferSize)) \(queue); "
        + "the socket is not read until there is room (--buffer sets the limit)")
  }

  // MARK: The end

  private func proceed(_ part: any RunPart) {
    while true {
      switch ending.next(waiting(for: part), at: loop.now) {
      case .proceed, .drain:
        alarm.deadline = ending.deadline
        return
      case .judge(.timeout(let time, _)):
        close(.timeout(time, part.obstacle), hint: part.shortfall)
      case .judge(let closing): close(closing, hint: part.shortfall)
      case .silence(let time):
        idleCommand?.begin(from: loop.now.advanced(by: .zero - time), to: loop.now)
      case .close: beginEnd(part)
      case .cut(let signal):
        handler?.cut(passing: signal)
        part.lifecycle.cutLook()
      case .cutCommand: readiness.cut()
      case .tellMissed: if handler?.tellMissed() == true { handlerFailed() }
      case .tellExit(let end):
        if output.failure == nil { part.lifecycle.printExit(end, events: count) }
      case .hangUp: feed?.abort()
      case .finish: return loop.stop()
      case .die(let number): Signals.die(of: number)
      }
    }
  }

  private func waiting(for part: any RunPart) -> RunEnd.Waiting {
    var waiting = RunEnd.Waiting()
    if feed?.isClosed != true { waiting.insert(.feed) }
    if !output.isSettled { waiting.insert(.output) }
    if handler?.isIdle == false { waiting.insert(.handler) }
    if !readiness.isOver(succeeds: true) { waiting.insert(.command) }
    if part.isHolding || part.lifecycle.isLooking || idleCommand?.isRunning == true {
      waiting.insert(.work)
    }
    return waiting
  }

  /// Stops taking events, and sends a close frame; printed lines are still written.
  private func beginEnd(_ part: any RunPart) {
    if ending.ending?.isSuccess == true, let failure = part.failure() {
      end(.failed(failure.status, reason: failure.reason))
    }
    readiness.manager.stopping()
    idleCommand?.cut()
    part.endBegins()
    feed?.isPaused = false
    feed?.disconnect()
  }

  private func handlerFailed() {
    if let failure = handler?.failure {
      end(.failed(failure.status, reason: failure.reason))
    }
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    switch failure {
    case .readerGone: end(.readerGone)
    case .system, .unopened:
      end(.outputFailed(diagnostics.cannotPrint(failure.reason, to: settings.run.outputFile)))
    }
  }

  private func conclude(_ part: any RunPart) -> ExitStatus {
    output.flush()
    record?.flush()
    sync?.finish()
    part.outputEnded()
    if let tally = printer?.tally {
      for line in tally.lines + part.summary { diagnostics.answer(line) }
    }
    if let words = printer?.field?.lastWords { diagnostics.answer(words) }
    tellShortfall(part)
    switch ending.ending {
    case .status(let status, _):
      // A run fails if its last lines could not be written.
      let hasFailed = output.failure != nil || record?.hasFailed == true
      if !hasFailed, !output.isSettled { tellUnwritten() }
      return status == .success && (hasFailed || !output.isSettled) ? .output : status
    case .signal(let number): Signals.die(of: number)
    case nil: return .internalError
    }
  }

  /// Reports silence and left-out events, unless the message about the end did so: a wrong path or
  /// channel must not end in silence.
  private func tellShortfall(_ part: any RunPart) {
    guard !hasToldShortfall, let printer else { return }
    if count == 0, let end = ending.ending, hasBeenAwaited(end, part) {
      let leftOut = leftOut
      let text = leftOut.isEmpty ? part.silenceHint : "nothing to print: \(leftOut)"
      if text.isEmpty { return }
      return end.isSuccess ? diagnostics.warning(text) : diagnostics.info(text)
    }
    guard let field = printer.field, let absence = field.absence(isQuoted: false) else { return }
    if field.holdsError || isFreeEnd || count == 0 && ending.isSatisfied {
      diagnostics.warning((count == 0 ? "nothing to print: " : "") + absence)
    } else if ending.isSatisfied {
      // Most answers of language models have such events.
      diagnostics.info(absence)
    }
  }

  /// True after the success of a run that waited for no event.
  private var isFreeEnd: Bool {
    ending.ending?.isSuccess == true && !ending.isSatisfied
  }

  /// True if a time limit alone or a person ended the run, and nothing kept events away.
  private func hasBeenAwaited(_ end: RunEnd.Ending, _ part: any RunPart) -> Bool {
    switch end {
    case .status(.success, let reason): reason.isSame(as: "timeout")
    case .signal(Signals.interrupt): part.obstacle == nil
    default: false
    }
  }

  /// Reports unwritten bytes, so that a cut recording does not look complete.
  private func tellUnwritten() {
    diagnostics.error(
      "\(output.buffer.count) bytes could not be written: the reader did not read them within "
        + "\(RunEnd.flushTime.inWords) of the time limit")
  }

  // MARK: The output

  /// Keeps the place of the run in a file, after the last event that the output or handler took.
  ///
  /// - Parameter id: The first id of the run.
  func keepPlace(in file: StateFile, startingAfter id: String) -> StateKeeper {
    let state = StateKeeper(
      file, progress: handler ?? output, startingAfter: id,
      limit: settings.printing.bufferSize, diagnostics: diagnostics, clock: { [loop] in loop.now })
    loop.add(state)
    return state
  }

  /// Ends a partial last line of an earlier run; the server sends that event again.
  func completeLine(of descriptor: OutputDescriptor) {
    let terminator = settings.printing.form.terminator
    switch IncompleteLine.end(of: descriptor.number, terminator: terminator) {
    case .whole: break
    case .torn:
      output.buffer.append(terminator)
      diagnostics.warning(
        "the file at standard output ends in the middle of a line: pusher-cli ends that line "
          + "before it adds new ones")
    case .unknown(let reason):
      diagnostics.warning(
        "cannot check whether the file at standard output ends with a complete line: \(reason)")
    }
  }

  static func start(
    _ diagnostics: Diagnostics, _ settings: FeedSettings? = nil,
    _ body: (EventLoop, OutputDescriptor) throws -> ExitStatus
  ) -> ExitStatus {
    diagnostics.outcome {
      let path = settings?.run.outputFile
      switch Result(catching: { () throws(FileFault) in try output(settings, diagnostics) }) {
      case .success(let descriptor?): return try body(EventLoop(), descriptor)
      case .success(nil): return diagnostics.cannotPrintToClosed(" events")
      // No usage error: a service manager may retry.
      case .failure(let fault) where fault.isOfDisk:
        return diagnostics.cannotPrint(fault.reason, to: path)
      case .failure(let fault):
        throw UsageError("--output-file: cannot write '\(path ?? "")': \(fault.reason)")
      }
    }
  }

  /// Opens the file of `--output-file`, or standard output; `nil` if that is closed.
  private static func output(
    _ settings: FeedSettings?, _ diagnostics: Diagnostics
  ) throws(FileFault) -> OutputDescriptor? {
    guard let settings, let path = settings.run.outputFile else { return OutputDescriptor() }
    let terminator = settings.printing.form.terminator
    guard let pattern = settings.run.filePattern else {
      return OutputDescriptor(
        try OutputFile(path, terminator: terminator, warn: diagnostics.warning))
    }
    return OutputDescriptor(
      try NamedFiles(
        pattern, terminator: terminator, isSynchronized: settings.run.syncInterval != nil,
        warn: diagnostics.warning))
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
