internal import PusherCore

/// The parts that every command that prints events has, on one loop.
///
/// A command's own part uses them; ``RunDriver`` makes the rounds.
final class PrintingRun {
  let loop: EventLoop
  let output: OutputQueue
  /// Announces that the run is ready.
  let readiness: Readiness
  /// Handles each event in place of the output, or besides it.
  let handler: (any EventHandling)?
  /// Gets every event, printed or not.
  let record: EventRecord?
  /// What happened to the connections.
  let counts = ConnectionCounts()
  let diagnostics: Diagnostics
  private(set) var feed: (any Feed)?
  private(set) var printer: Printer?
  /// Decides how the run ends.
  var ending: RunEnd
  /// Makes the loop go round when ``ending`` has something to do.
  let alarm = LoopTimer(deadline: nil) {}
  private var countAtLastRound = 0
  private(set) var lastEventAt: Instant?

  /// - Throws: What keeps events from being handled at all.
  init(
    _ feed: FeedSettings, network: NetworkSettings, descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) throws {
    let settings = feed.run
    let limit = feed.printing.bufferSize
    self.diagnostics = diagnostics
    self.loop = loop
    ending = RunEnd(timeout: settings.timeout, idleTimeout: settings.idleTimeout, at: loop.now)
    output = OutputQueue(descriptor: descriptor, limit: limit)
    record = try settings.recordFile.map {
      try EventRecord($0, loop: loop, diagnostics: diagnostics)
    }
    readiness = Readiness(
      command: settings.onReady, descriptor: settings.readyDescriptor, loop: loop,
      diagnostics: diagnostics)
    handler = try settings.handler?.handler(
      in: HandlerSurroundings(
        output: output, limit: limit, loop: loop, diagnostics: diagnostics),
      feed: feed, network: network)
    loop.add(alarm)
  }

  /// Where events come from, and what prints them.
  func begin(_ feed: any Feed, _ printer: Printer) {
    self.feed = feed
    self.printer = printer
  }

  /// Goes on with another feed, which is connected.
  func goOn(with feed: any Feed) {
    feed.isPaused = self.feed?.isPaused == true
    self.feed = feed
  }

  /// Whether the end has begun, after which nothing more is printed.
  var isEnding: Bool { ending.ending != nil }

  /// Takes a cause to end the run; the first decides.
  func end(_ event: RunEnd.Event) {
    ending.take(event, at: loop.now)
    printer?.stop()
    alarm.deadline = LoopInterest.immediately
  }

  /// Says how the run ends whose time is up.
  func timedOut(_ what: String, _ status: ExitStatus, reason: String) {
    diagnostics.error("timed out: \(what)")
    end(.timedOut(status, reason: reason))
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
    if isHeldUp || handler?.isFull == true { feed?.isPaused = true }
  }

  // MARK: How far it has come

  var count: Int { printer?.count ?? 0 }

  /// Notes when events have come, also for a limit that runs out in the same round.
  func noteEvents() {
    guard count != countAtLastRound else { return }
    countAtLastRound = count
    lastEventAt = loop.now
    readiness.manager.progressed(at: loop.now)
    ending.noteEvents(at: loop.now)
    alarm.deadline = ending.deadline
  }

  /// How many events came and when the last did, for people; empty before the first.
  var progress: String {
    EventProgress(events: count, lastAt: lastEventAt).words(at: loop.now) ?? ""
  }
}
