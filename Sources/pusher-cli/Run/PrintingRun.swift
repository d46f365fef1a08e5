internal import PusherCore
internal import PusherLines

/// Parts of every command that prints events, or hands them on.
///
/// The command uses them, and ``RunDriver`` drives the loop.
final class PrintingRun {
  let loop: EventLoop
  let output: OutputQueue
  let readiness: Readiness
  let handler: (any EventHandling)?
  /// The file of `--record`: every event as a JSON line with its time, printed or not.
  let record: OutputQueue?
  let counts = ConnectionCounts()
  let diagnostics: Diagnostics
  private(set) var feed: (any Feed)?
  private(set) var printer: Printer?
  private let printing: PrintSettings
  var ending: RunEnd
  /// True after a message that told which events were left out.
  private(set) var hasToldShortfall = false
  /// Wakes the loop at the deadline of ``ending``.
  let alarm = LoopTimer(deadline: nil) {}
  private var countAtLastRound = 0
  private(set) var lastEventAt: Instant?

  init(
    _ feed: FeedSettings, network: NetworkSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    let settings = feed.run
    let limit = feed.printing.bufferSize
    (self.diagnostics, self.loop, printing) = (diagnostics, loop, feed.printing)
    ending = RunEnd(
      feed.printing.wishes, timeout: settings.timeout, idleTimeout: settings.idleTimeout,
      at: loop.now)
    output = OutputQueue(descriptor: descriptor, limit: limit)
    record = try settings.recordFile.map { try Self.record($0, diagnostics) }
    readiness = Readiness(
      command: settings.onReady, descriptor: settings.readyDescriptor, loop: loop,
      diagnostics: diagnostics)
    handler = try settings.handler?.handler(
      in: HandlerSurroundings(output: output, limit: limit, loop: loop, diagnostics: diagnostics),
      feed: feed, network: network)
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

  func begin(_ feed: any Feed, _ printer: Printer?) { (self.feed, self.printer) = (feed, printer) }

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
    let rejection = printer.rejected > 0 ? Hints.rejection(printer, printing) : nil
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

  /// Number of events and time of the last, in words; empty before the first.
  var progress: String { loop.progress(count, lastAt: lastEventAt) ?? "" }
}
