internal import PusherCore

/// Handles events instead of the output, or besides it: a command or a receiver over HTTP.
///
/// Waiting events are limited: above the limit, the run stops reading the socket.
protocol EventHandling: EventReceiver, Progress {
  /// Name of the handler in messages.
  var name: String { get }
  var isIdle: Bool { get }
  var waitingBytes: Int { get }
  var metrics: [MetricFamily] { get }
  /// Called when an unhandled event must end the run.
  var onFailure: (() -> Void)? { get set }
  /// The end of the run after an event was not handled.
  var failure: (status: ExitStatus, reason: String) { get }

  /// Starts a stream after the event `id`; empty for none.
  func begin(_ stream: HTTPURL, after id: String)
  func startWaiting()
  /// - Parameter signal: The received signal, to pass on.
  func cut(passing signal: Int32?)
  /// Reports unhandled events at the end of the run; returns whether there were any.
  func tellMissed() -> Bool
}

extension EventHandling { func begin(_ stream: HTTPURL, after id: String) {} }

extension HandedEvent {
  var subject: String { "event \(name)" + (channel.map { " on \($0)" } ?? "") }

  var cost: Int {
    [name, channel ?? "", userID ?? "", id ?? ""].reduce(line.count + 512) { $0 + $1.utf8.count }
  }
}

/// Runs the command of `--exec` for each event, with the JSON line as input.
///
/// Starts commands before the loop waits, after the event's own line is written.
final class EventHook: LoopSource {
  /// An event, and the end of its printed line in the output.
  private typealias Item = (event: HandedEvent, printedEnd: Int)
  private typealias Entry = LaneQueue<Item>.Entry

  private let settings: HookSettings
  /// Maximum size of waiting events, in bytes.
  private let limit: Int
  private let output: OutputQueue
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var queue: LaneQueue<Item>
  private var processes: [Int: ChildProcess] = [:]
  /// Set while the system cannot start a command.
  private var pauseEnds: Instant?
  private static let pause = Duration.seconds(1)
  private var hasSaidBusy = false
  private var isCut = false
  /// True after a failed command has stopped the hook.
  private var hasStopped = false
  private var missed = 0
  private var cutOff = 0
  private(set) var handled = 0
  private var counts = HookCounts()
  var onFailure: (() -> Void)?
  let name = "the command of --exec"
  let failure = (status: ExitStatus.command, reason: "exec")

  init(
    _ settings: HookSettings, _ feed: FeedSettings, _ output: OutputQueue, _ loop: EventLoop,
    _ diagnostics: Diagnostics
  ) {
    (self.settings, limit) = (settings, feed.printing.bufferSize)
    (self.output, self.loop, self.diagnostics) = (output, loop, diagnostics)
    queue = LaneQueue(jobs: settings.jobs)
    loop.add(self)
  }

  var isFull: Bool { queue.cost >= limit }
  var isIdle: Bool { queue.isEmpty }
  var waitingBytes: Int { queue.cost }

  func startWaiting() {
    while mayStart, let entry = queue.start() { start(entry) }
  }

  func cut(passing signal: Int32?) {
    guard !isCut else { return }
    isCut = true
    missed += queue.drop()
    for process in processes.values { process.end(at: loop.now, by: signal) }
  }

  func tellMissed() -> Bool {
    if missed > 0 {
      let events = missed == 1 ? "1 event was" : "\(missed) events were"
      diagnostics.error("\(events) not handed to --exec")
    }
    if cutOff > 0 {
      let commands = cutOff == 1 ? "1 command was" : "\(cutOff) commands were"
      diagnostics.error("--exec: \(commands) stopped before completion, because the run ended")
    }
    defer { (missed, cutOff) = (0, 0) }
    return missed + cutOff > 0
  }

  private var mayStart: Bool {
    pauseEnds == nil && queue.first.map { $0.item.printedEnd <= output.written } ?? false
  }

  private func start(_ entry: Entry) {
    let event = entry.item.event
    let command = ChildProcess.Command(
      line: settings.command, environment: Self.environment(of: event, number: entry.number),
      input: event.line, outlet: .ourOutput, timeout: settings.timeout)
    processes[entry.number] = ChildProcess.start(command, on: loop) { [unowned self] in
      ended(entry, $0)
    }
  }

  private func startLater(_ entry: Entry, because reason: String) {
    queue.putBack(entry)
    pauseEnds = loop.now.advanced(by: Self.pause)
    guard !hasSaidBusy else { return }
    hasSaidBusy = true
    diagnostics.warning("--exec: cannot start the command now: \(reason); retrying")
  }

  private func ended(_ entry: Entry, _ result: ChildProcess.Outcome) {
    processes[entry.number] = nil
    switch result {
    case .failure where isCut:
      cutOff += 1
      counts.noteCutOff()
      queue.end(entry)
    case .failure(.busy(let reason)) where !hasStopped: startLater(entry, because: reason)
    default: finish(entry, result)
    }
  }

  private func finish(_ entry: Entry, _ result: ChildProcess.Outcome) {
    counts.note(result)
    queue.end(entry)
    guard let problem = result.problem else {
      handled += 1
      return
    }
    let text = "--exec: \(problem) (\(entry.item.event.subject))"
    guard settings.stopsOnFailure else {
      handled += 1
      return diagnostics.warning(text)
    }
    diagnostics.error(text)
    guard !hasStopped else { return }
    hasStopped = true
    missed += queue.drop()
    // Called from the loop, like every other end.
    loop.schedule(after: .zero) { [unowned self] in onFailure?() }
  }

  private static func environment(
    of event: HandedEvent, number: Int
  ) -> [(name: String, value: String)] {
    [
      ("PUSHER_CLI_EVENT", variable(event.name)), ("PUSHER_CLI_CHANNEL", variable(event.channel)),
      ("PUSHER_CLI_USER_ID", variable(event.userID)), ("PUSHER_CLI_ID", variable(event.id)),
      ("PUSHER_CLI_SEQ", String(number)), ("PUSHER_CLI_RECEIVED_AT", event.receivedAt),
    ]
  }

  /// Maximum size of one variable, in bytes.
  private static let longestVariable = 4096

  /// Cuts a peer's text to the limit, at a character.
  ///
  /// Returns nothing for a text with a NUL, which would end it early.
  static func variable(_ text: String?) -> String {
    guard let text, !text.utf8.contains(0) else { return "" }
    guard text.utf8.count > longestVariable else { return text }
    return String(text.beginning(bytes: longestVariable))
  }

  var interest: LoopInterest {
    LoopInterest(deadline: pauseEnds ?? (mayStart ? LoopInterest.immediately : nil))
  }

  func expired(at now: Instant) {
    // Commands start before the next wait.
    if let ends = pauseEnds, ends <= now { pauseEnds = nil }
  }
}

extension EventHook: EventHandling {
  var metrics: [MetricFamily] { [counts.family(of: "exec")] }

  func take(_ event: HandedEvent) {
    guard !hasStopped, !isCut else {
      missed += 1
      queue.pass()
      return
    }
    let printedEnd = settings.prints ? output.end : 0
    queue.add((event, printedEnd), lane: event.lane, cost: event.cost)
  }

  var written: Int { handled }
  var end: Int { queue.count }
  var hasFailed: Bool { false }
  func synchronize() { output.synchronize() }
}
