internal import PusherCore

/// Decides how and when a run ends.
///
/// The first cause decides, with two exceptions. A signal and a closed reader replace every ending,
/// and a failure replaces success. The driver supplies events and the time, and executes the steps
/// of ``next(_:at:)``.
struct RunEnd {
  enum Event: Equatable {
    /// The last wanted event came, by `-n`, `--until-event` or `--until`.
    case satisfied(reason: String)
    /// The feed has ended, or a time limit has passed: the answer to ``Step/judge(_:)``.
    case closed(Closing)
    /// The server or the signer refused something that the run needs, or sent an event of
    /// `--fail-event` or `--fail-where`.
    case refused(ExitStatus, reason: String)
    /// The handler, a command or a file failed.
    case failed(ExitStatus, reason: String)
    /// The output accepts no more bytes, for example because the disk is full.
    case outputFailed(ExitStatus)
    case readerGone
    case signal(Int32)
  }

  enum Ending: Equatable {
    case status(ExitStatus, reason: String)
    case signal(Int32)

    var isSuccess: Bool {
      if case .status(.success, _) = self { true } else { false }
    }
  }

  enum Limit { case timeout, idle }

  struct Waiting: OptionSet {
    let rawValue: UInt8

    static let feed = Waiting(rawValue: 1)
    static let output = Waiting(rawValue: 2)
    static let handler = Waiting(rawValue: 4)
    /// The command of `--on-ready` runs.
    static let command = Waiting(rawValue: 8)
    /// The command of `--on-gap` or a second look at the port runs.
    static let work = Waiting(rawValue: 16)
  }

  enum Step: Equatable {
    case proceed
    /// Report a passed limit, and answer with an event.
    case judge(Limit)
    /// Take no more events, and send a close frame.
    case close
    /// End the handler's work with this signal, and the second look at the port.
    case cut(passing: Int32?)
    case cutCommand, tellMissed
    case tellExit(Ending)
    /// Drop the socket: the close handshake takes too long.
    case hangUp
    case drain(until: Instant?)
    case finish(Ending)
    /// End the process now, after a second signal.
    case die(Int32)

    fileprivate var isJudgement: Bool {
      if case .judge = self { true } else { false }
    }
  }

  private struct Deadlines {
    var timeout: Instant?
    var idle: Instant?
    var goodbye: Instant?
    var flush: Instant?
  }

  /// Maximum time for the close handshake, and for the output after a signal.
  static let goodbyeTime = Duration.milliseconds(200)
  /// Maximum time for a stalled reader and for the handler after `--timeout`.
  static let flushTime = Duration.seconds(1)

  let wishes: RunWishes
  private(set) var ending: Ending?
  private let idleTime: Duration?
  private var deadlines = Deadlines()
  private var steps: [Step] = []
  /// True if a wish was met.
  private(set) var isSatisfied = false
  private var hadSignal = false
  private var isOverdue = false
  /// True if the end waits only for the handler.
  private var isForced = false
  private var hasCutCommand = false
  private var hasToldMissed = false
  private var hasToldExit = false

  init(
    _ wishes: RunWishes = RunWishes(), timeout: Duration? = nil, idleTimeout: Duration? = nil,
    at now: Instant
  ) {
    self.wishes = wishes
    idleTime = idleTimeout
    deadlines.timeout = timeout.map(now.advanced)
    deadlines.idle = idleTimeout.map(now.advanced)
  }

  var deadline: Instant? {
    Instant.earliest(
      Instant.earliest(deadlines.timeout, deadlines.idle),
      Instant.earliest(deadlines.goodbye, deadlines.flush))
  }

  /// Moves the limit of `--idle-timeout` after events came.
  mutating func noteEvents(at now: Instant) {
    if ending == nil { deadlines.idle = idleTime.map(now.advanced) }
  }

  mutating func take(_ event: Event, at now: Instant) {
    switch event {
    case .signal(let number) where hadSignal: steps.insert(.die(number), at: 0)
    case .signal(let number):
      hadSignal = true
      begin(.signal(number), at: now)
      steps.append(.cut(passing: number))
    case .readerGone:
      begin(.signal(Signals.brokenPipe), at: now)
      steps.append(.cut(passing: nil))
    case .outputFailed(let status):
      if ending == nil { steps.append(.cut(passing: nil)) }
      fail(status, "output", at: now)
    case .failed(let status, let reason): fail(status, reason, at: now)
    case .satisfied(let reason):
      guard ending == nil else { return }
      isSatisfied = true
      begin(.status(.success, reason: reason), at: now)
    case .closed(let closing):
      let status = wishes.status(at: closing)
      if ending == nil { begin(.status(status, reason: closing.reason), at: now) }
    case .refused(let status, let reason):
      if ending == nil { begin(.status(status, reason: reason), at: now) }
    }
  }

  private mutating func fail(_ status: ExitStatus, _ reason: String, at now: Instant) {
    let failure = Ending.status(status, reason: reason)
    guard let ending else { return begin(failure, at: now) }
    if ending.isSuccess { self.ending = failure }
  }

  private mutating func begin(_ ending: Ending, at now: Instant) {
    if self.ending == nil { steps = steps.filter { !$0.isJudgement } + [.close] }
    self.ending = ending
    deadlines.idle = nil
    deadlines.goodbye = now.advanced(by: Self.goodbyeTime)
  }

  /// Returns the next step; the caller repeats until the step is to go on, to drain or to finish.
  mutating func next(_ waiting: Waiting, at now: Instant) -> Step {
    tick(at: now)
    if !steps.isEmpty { return steps.removeFirst() }
    guard let ending else { return .proceed }
    if !ending.isSuccess, !hasCutCommand { return cutCommand() }
    if !waiting.contains(.handler), !hasToldMissed {
      hasToldMissed = true
      return .tellMissed
    }
    if mayPrintExit(ending, waiting), !hasToldExit {
      hasToldExit = true
      return .tellExit(ending)
    }
    return isOver(waiting) ? .finish(ending) : .drain(until: deadline)
  }

  private mutating func cutCommand() -> Step {
    hasCutCommand = true
    return .cutCommand
  }

  /// Commands of the handler print before the last line, and `--on-ready` can turn success into
  /// failure.
  private func mayPrintExit(_ ending: Ending, _ waiting: Waiting) -> Bool {
    !waiting.contains(.handler) && (isForced || !ending.isSuccess || !waiting.contains(.command))
  }

  private func isOver(_ waiting: Waiting) -> Bool {
    if waiting.contains(.handler) { return false }
    if isForced || waiting.isEmpty { return true }
    return isOverdue && waiting.isDisjoint(with: [.command, .work])
  }

  private mutating func tick(at now: Instant) {
    if Self.passes(&deadlines.timeout, at: now) {
      steps.append(cutCommand())
      deadlines.flush = now.advanced(by: Self.flushTime)
      if ending == nil { steps.append(.judge(.timeout)) }
      deadlines.idle = nil
    }
    if Self.passes(&deadlines.idle, at: now) { steps.append(.judge(.idle)) }
    if Self.passes(&deadlines.goodbye, at: now) {
      steps.append(.hangUp)
      if case .signal = ending { isOverdue = true }
    }
    if Self.passes(&deadlines.flush, at: now) {
      steps.append(.cut(passing: nil))
      // A reached count waits until every event is written, but not for commands.
      if !isSatisfied { isForced = true }
    }
  }

  /// Returns whether a deadline has passed, and clears it then.
  private static func passes(_ deadline: inout Instant?, at now: Instant) -> Bool {
    guard let due = deadline, due <= now else { return false }
    deadline = nil
    return true
  }
}
