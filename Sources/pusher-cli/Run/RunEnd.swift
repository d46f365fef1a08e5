internal import PusherCore

/// Decides how and when a run ends.
///
/// The first cause decides. A signal and a reader that has gone replace every other ending, and a failure replaces
/// success. The driver feeds events and the time, and does the steps that ``next(_:at:)`` gives.
struct RunEnd {
  /// A cause to end the run.
  enum Event: Equatable {
    /// The last wanted event has come, by `-n`, `--until-event` or `--until`.
    case satisfied(reason: String)
    /// A time limit has passed: the answer to ``Step/judge(_:)``.
    case timedOut(ExitStatus, reason: String)
    /// The server or the signer refused something that the run needs.
    case refused(ExitStatus, reason: String)
    /// The feed ended by itself.
    case feedEnded(ExitStatus)
    /// The handler, a command or a file failed.
    case failed(ExitStatus, reason: String)
    /// The output takes no more bytes, because the disk is full, for example.
    case outputFailed(ExitStatus)
    /// The reader of the output has gone.
    case readerGone
    case signal(Int32)
  }

  /// How the process ends.
  enum Ending: Equatable {
    case status(ExitStatus, reason: String)
    case signal(Int32)

    var isSuccess: Bool {
      if case .status(.success, _) = self { true } else { false }
    }
  }

  /// A time limit that the user has set.
  enum Limit {
    case timeout
    case idle
  }

  /// The parts of the run that are not over.
  struct Waiting: OptionSet {
    let rawValue: UInt8

    /// The feed has a socket.
    static let feed = Waiting(rawValue: 1)
    /// Printed bytes are not written.
    static let output = Waiting(rawValue: 2)
    /// Events are not handled.
    static let handler = Waiting(rawValue: 4)
    /// The command of `--on-ready` runs.
    static let command = Waiting(rawValue: 8)
    /// The command of `--on-gap` or a second look at the port runs.
    static let work = Waiting(rawValue: 16)
  }

  /// What the driver does next.
  enum Step: Equatable {
    /// The run has no reason to end.
    case goOn
    /// Report that a limit has passed, and answer with an event.
    case judge(Limit)
    /// Take no more events, and say goodbye to the server.
    case close
    /// End the handler's work, which gets the signal, and a second look at the port.
    case cut(passing: Int32?)
    /// End the command of `--on-ready`.
    case cutCommand
    /// Report the events that were not handled.
    case tellMissed
    /// Print the last line.
    case tellExit(Ending)
    /// Drop the socket: the goodbye takes too long.
    case hangUp
    /// Wait for the rest, until this deadline.
    case drain(until: Instant?)
    /// End the run now.
    case finish(Ending)
    /// End the process now, by a second signal.
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

  /// Time for the goodbye to the server, and for the output after a signal.
  static let goodbyeTime = Duration.milliseconds(200)
  /// Time for a stalled reader and for the handler after `--timeout`.
  static let flushTime = Duration.seconds(1)

  private(set) var ending: Ending?
  private let idleTime: Duration?
  private var deadlines = Deadlines()
  private var steps: [Step] = []
  private var isSatisfied = false
  private var hadSignal = false
  /// Whether the time for the output is over.
  private var isOverdue = false
  /// Whether only the handler can hold up the end.
  private var isForced = false
  private var hasCutCommand = false
  private var hasToldMissed = false
  private var hasToldExit = false

  init(timeout: Duration? = nil, idleTimeout: Duration? = nil, at now: Instant) {
    idleTime = idleTimeout
    deadlines.timeout = timeout.map(now.advanced)
    deadlines.idle = idleTimeout.map(now.advanced)
  }

  /// The next time to ask for a step; `nil` for none.
  var deadline: Instant? {
    Instant.earliest(
      Instant.earliest(deadlines.timeout, deadlines.idle),
      Instant.earliest(deadlines.goodbye, deadlines.flush))
  }

  /// Notes that events have come, which moves the limit of `--idle-timeout`.
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
    case .timedOut(let status, let reason), .refused(let status, let reason):
      if ending == nil { begin(.status(status, reason: reason), at: now) }
    case .feedEnded(let status):
      if ending == nil { begin(.status(status, reason: "connection"), at: now) }
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

  /// The next step; the caller does it, and asks again until the answer is to go on, to drain or to end.
  mutating func next(_ waiting: Waiting, at now: Instant) -> Step {
    tick(at: now)
    if !steps.isEmpty { return steps.removeFirst() }
    guard let ending else { return .goOn }
    if !ending.isSuccess, !hasCutCommand { return cutCommand() }
    if !waiting.contains(.handler), !hasToldMissed {
      hasToldMissed = true
      return .tellMissed
    }
    if mayTellExit(ending, waiting), !hasToldExit {
      hasToldExit = true
      return .tellExit(ending)
    }
    return isOver(waiting) ? .finish(ending) : .drain(until: deadline)
  }

  private mutating func cutCommand() -> Step {
    hasCutCommand = true
    return .cutCommand
  }

  /// Commands of the handler print before the last line, and the command of `--on-ready` can change a success.
  private func mayTellExit(_ ending: Ending, _ waiting: Waiting) -> Bool {
    !waiting.contains(.handler)
      && (isForced || !ending.isSuccess || !waiting.contains(.command))
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

  /// Whether a deadline has passed, which then is none any more.
  private static func passes(_ deadline: inout Instant?, at now: Instant) -> Bool {
    guard let due = deadline, due <= now else { return false }
    deadline = nil
    return true
  }
}
