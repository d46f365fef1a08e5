internal import PusherCore
internal import PusherLines

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

  struct Waiting: OptionSet {
    let rawValue: UInt8

    static let feed = Waiting(rawValue: 1)
    static let output = Waiting(rawValue: 2)
    static let handler = Waiting(rawValue: 4)
    /// The command of `--on-ready` runs.
    static let command = Waiting(rawValue: 8)
    /// The command of `--on-gap` or `--on-idle`, or a second look at the port runs.
    static let work = Waiting(rawValue: 16)
  }

  enum Step: Equatable {
    case proceed
    /// Run the command of `--on-idle`: nothing came for this time.
    case silence(Duration)
    /// Report a passed limit, and answer with this end.
    case judge(Closing)
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
      switch self {
      case .judge, .silence: true
      default: false
      }
    }
  }

  /// Maximum time for the close handshake, and for the output after a signal.
  static let goodbyeTime = Duration.milliseconds(200)
  /// Maximum time for a stalled reader and for the handler after `--timeout`.
  static let flushTime = Duration.seconds(1)

  let wishes: RunWishes
  private(set) var ending: Ending?
  private let timeout: Duration?
  private let idleTime: Duration?
  /// A silence does not end the run.
  private let outlastsSilence: Bool
  private var timeoutEnds: Instant?
  private var idleEnds: Instant?
  private var goodbyeEnds: Instant?
  private var flushEnds: Instant?
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
    outlastsSilence: Bool = false, at now: Instant
  ) {
    (self.wishes, self.timeout, idleTime) = (wishes, timeout, idleTimeout)
    self.outlastsSilence = outlastsSilence
    timeoutEnds = timeout.map(now.advanced)
    idleEnds = idleTimeout.map(now.advanced)
  }

  var deadline: Instant? {
    Instant.earliest(
      Instant.earliest(timeoutEnds, idleEnds), Instant.earliest(goodbyeEnds, flushEnds))
  }

  /// Moves the limit of `--idle-timeout` after events came.
  mutating func noteEvents(at now: Instant) {
    if ending == nil { idleEnds = idleTime.map(now.advanced) }
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
    idleEnds = nil
    goodbyeEnds = now.advanced(by: Self.goodbyeTime)
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
    if Self.passes(&timeoutEnds, at: now) {
      steps.append(cutCommand())
      flushEnds = now.advanced(by: Self.flushTime)
      if ending == nil { steps.append(.judge(.timeout(timeout ?? .zero))) }
      idleEnds = nil
    }
    if Self.passes(&idleEnds, at: now), let idleTime {
      steps.append(outlastsSilence ? .silence(idleTime) : .judge(.idleTimeout(idleTime)))
    }
    if Self.passes(&goodbyeEnds, at: now) {
      steps.append(.hangUp)
      if case .signal = ending { isOverdue = true }
    }
    if Self.passes(&flushEnds, at: now) {
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

/// The reason that a run gets no events.
struct Obstacle: Equatable, Sendable {
  /// The missing part, such as `no connection`.
  let what: String
  var reason: String?
  /// True for a refusal, which waiting does not change.
  var isRefusal = false

  var cause: Cause { isRefusal ? .notAllowed : .unreachable }
  /// The reason in words, after a colon; empty without one.
  var because: String { reason.map { ": \($0)" } ?? "" }
}

extension RunEnd {
  /// An end that no met wish, refusal, failure or signal explains.
  enum Closing: Equatable {
    /// The server marked the end of the stream: the last chunk, the last byte of a counted body, or
    /// the closing alert of TLS.
    case streamEnded
    /// The server answered HTTP 204.
    case noMoreEvents
    /// The connection was refused or is lost for good, in words; `wasOpen` is false if there was
    /// never a connection.
    case lost(Cause, String, wasOpen: Bool)
    case timeout(Duration, Obstacle? = nil)
    case idleTimeout(Duration)

    /// - Parameter wasOpen: True if there was a connection.
    init(_ end: ConnectionEnd, wasOpen: Bool) {
      switch end {
      case .finished: self = .noMoreEvents
      // This side closes a feed only during the end of the run.
      case .asked, .lost(.ended, _): self = .streamEnded
      case .lost(let loss, let code), .retriesExhausted(let loss, let code, _):
        self = .lost(Cause(loss, code: code), "", wasOpen: wasOpen)
      }
    }

    /// The reason in the line `pusher-cli:exit`.
    var reason: String {
      switch self {
      case .streamEnded, .noMoreEvents, .lost: "connection"
      case .timeout: "timeout"
      case .idleTimeout: "idle timeout"
      }
    }

    /// The end in words.
    var words: String {
      switch self {
      case .streamEnded: "the stream ended"
      case .noMoreEvents: "the server has no more events (HTTP 204)"
      case .lost(_, let words, _): words
      case .timeout: "timed out"
      case .idleTimeout(let time): "timed out: no event for \(time.inWords)"
      }
    }
  }
}

/// The table of ends: the only place that decides how a run ends whose wish is not met. `help
/// exit-codes` prints it.
extension RunWishes {
  /// Returns the status of a run that ends so, with none of its wishes met.
  func status(at closing: RunEnd.Closing) -> ExitStatus {
    switch closing {
    case .streamEnded, .noMoreEvents: areNone ? .success : Cause.unmet.status
    case .lost(let cause, _, _): cause.status
    case .timeout(_, let obstacle) where areNone: obstacle?.cause.status ?? .success
    case .timeout, .idleTimeout: Cause.time.status
    }
  }

  /// Words the error of a run that ends so, with none of its wishes met; `nil` for a success.
  ///
  /// - Parameters:
  ///   - events: Number of events that counted.
  ///   - hint: What came instead, or what to check; empty for nothing.
  func sentence(at closing: RunEnd.Closing, after events: Int, hint: String = "") -> String? {
    let remark = hint.isEmpty ? "" : " (\(hint))"
    let never = absence.map { "; \($0)" } ?? ""
    switch closing {
    case .streamEnded, .noMoreEvents:
      return areNone ? nil : "\(closing.words) after \(words(events))\(never)\(remark)"
    case .lost(_, let words, let wasOpen):
      return words + (wasOpen && !areNone ? "; \(shortfall(events))\(remark)" : "")
    case .idleTimeout: return "\(closing.words)\(never)\(remark)"
    case .timeout(let time, let obstacle):
      guard areNone else {
        let what = "\(closing.words): \(words(events)) within \(time.inWords)\(never)"
        return what + (obstacle.map { " (\($0.what)\($0.because))" } ?? remark)
      }
      return obstacle.map { "\(closing.words): \($0.what) within \(time.inWords)\($0.because)" }
    }
  }

  /// The events that came, such as `2 of 3 events`.
  private func words(_ events: Int) -> String {
    count.map { "\(events) of \($0) events" } ?? Quantities.words(events, of: "event")
  }

  private func shortfall(_ events: Int) -> String {
    let counted = count == nil ? nil : "\(words(events)) came"
    return [counted, absence].compactMap(\.self).joined(separator: ", ")
  }

  /// The particular event that never came, in words; `nil` if none was awaited.
  private var absence: String? {
    guard awaitEvent else { return nil }
    let names = untilEvents.map { "'\($0)'" }.joined(separator: " or ")
    let options = [
      untilData.map { "--until '\($0)'" }, names.isEmpty ? nil : "--until-event \(names)",
    ]
    return options.compactMap(\.self).joined(separator: " and ") + " never came"
  }

  /// All ends without a met wish, except signals: the table in `help exit-codes`.
  ///
  /// The statuses are those without a wish, and with a wish that is not met.
  static let rows: [(end: String, commands: String, free: ExitStatus, unmet: ExitStatus)] = {
    let streams = "subscribe, sse"
    let all = "subscribe, sse, webhook listen"
    let time = Duration.seconds(1)
    func lost(_ cause: Cause) -> RunEnd.Closing { .lost(cause, "", wasOpen: true) }
    let ends: [(String, String, RunEnd.Closing)] = [
      ("the server marks the end of the stream", "sse", .streamEnded),
      ("the server answers HTTP 204", "sse", .noMoreEvents),
      ("the answer has no event at all", "sse", lost(.brokenProtocol)),
      (
        "the connection is lost or closed, with --reconnect never or no retries left",
        streams, lost(.unreachable)
      ),
      ("unknown key, HTTP 401 or 403, channel not allowed", streams, lost(.notAllowed)),
      ("refused for another reason", streams, lost(.refused)),
      ("--timeout", all, .timeout(time)),
      (
        "--timeout, without a connection or subscription until then", streams,
        .timeout(time, Obstacle(what: ""))
      ),
      ("--idle-timeout", streams, .idleTimeout(time)),
    ]
    return ends.map { end, commands, closing in
      (
        end, commands, RunWishes().status(at: closing), RunWishes(count: 1).status(at: closing)
      )
    }
  }()
}

/// Causes of failure; this is the only table of causes and exit statuses.
enum Cause: String, CaseIterable, Codable, Sendable {
  /// An invalid option, or a file that it names.
  case settings
  /// HTTP 401 and 403, codes 4001, 4003 and 4009, a refused channel.
  case notAllowed
  /// Name lookup, connection, proxy, TLS, a loss, silence.
  case unreachable
  /// A temporary failure of the server or this machine: HTTP 408, 425, 429 and 5xx, no descriptors.
  case overloaded
  /// Any other HTTP status, and the other codes from 4000 to 4099.
  case refused
  case brokenProtocol
  /// The stream ended properly, but no event came that the run waited for.
  case unmet
  case defect, output, time

  var status: ExitStatus {
    switch self {
    case .settings: .usage
    case .notAllowed: .unauthorized
    case .unreachable, .overloaded: .network
    case .refused, .brokenProtocol, .unmet: .rejected
    case .defect: .internalError
    case .output: .output
    case .time: .timedOut
    }
  }

  init(httpStatus status: Int) {
    switch status {
    case 401, 403: self = .notAllowed
    // From a proxy on the way.
    case 407: self = .unreachable
    case _ where HTTPStatus.isTemporary(status): self = .overloaded
    default: self = .refused
    }
  }

  /// Classifies a loss, given the 4xxx code that explains it.
  init(_ loss: ConnectionLoss, code: Int?) {
    switch code {
    case 4001, 4003, 4009: self = .notAllowed
    case let code? where (4000..<4100).contains(code): self = .refused
    case _?: self = .overloaded
    case nil:
      switch loss {
      case .refused(let status, _, _): self.init(httpStatus: status)
      case .notAnEventStream, .violation, .limit: self = .brokenProtocol
      case .invalidRequest: self = .settings
      case .closed, .ended, .endedUnmarked, .network, .untrusted, .handshakeTimeout, .noPong,
        .silent, .dropped:
        self = .unreachable
      }
    }
  }

  init(_ failure: SubscriptionFailure) {
    if let status = failure.status, (400..<600).contains(status), HTTPStatus.isTemporary(status) {
      self = .overloaded
      return
    }
    switch failure.fault {
    case .you: self = .notAllowed
    case .peer: self = .brokenProtocol
    case .network: self = .unreachable
    case .us: self = .defect
    }
  }

  init(_ failure: HTTPExchange.Failure) {
    switch failure {
    case .transport(let error): self.init(error)
    case .timeout, .http(.endedEarly), .http(.foreign(.tls)): self = .unreachable
    case .http: self = .brokenProtocol
    }
  }

  /// Failures before the first connection: files, addresses and resources of this machine.
  init(starting error: any Error) {
    switch error {
    case let error as TransportError: self.init(error)
    case let error as TLSError: self.init(error)
    default: self = .settings
    }
  }

  private init(_ error: TransportError) {
    switch error {
    case .tls(let error): self.init(error)
    case .system: self = .overloaded
    case .resolve, .connect, .proxy, .timeout, .reset, .listen: self = .unreachable
    }
  }

  private init(_ error: TLSError) {
    switch error {
    case .file, .noTrustStore: self = .settings
    case .setup: self = .defect
    default: self = .unreachable
    }
  }
}

/// Thrown for a failure that was reported; the program ends with this status.
extension ExitStatus: Error {}

extension Diagnostics {
  func outcome(of body: () throws -> ExitStatus) -> ExitStatus {
    do {
      return try body()
    } catch let status as ExitStatus {
      return status
    } catch let error as UsageError {
      usage(error)
      return .usage
    } catch {
      // Nothing was sent or served yet, so files, addresses or this machine's resources failed.
      self.error("\(error)")
      return Cause(starting: error).status
    }
  }

  /// Reports a failed output; ends the program by SIGPIPE if the reader is gone.
  func outcome(of failure: OutputQueue.Failure) -> ExitStatus {
    if failure == .readerGone { Signals.die(of: Signals.brokenPipe) }
    return cannotPrint(failure.reason)
  }

  func rejectAnswer() -> ExitStatus {
    error("the server's answer does not follow the HTTP API")
    return .rejected
  }

  func cannotPrint(_ reason: String, to file: String? = nil) -> ExitStatus {
    error("cannot write to \(file.map { "'\($0)'" } ?? "standard output"): \(reason)")
    return .output
  }

  /// - Parameter what: Name of the output after a blank, such as ` events`; may be empty.
  func cannotPrintToClosed(_ what: String = "") -> ExitStatus {
    error("cannot print\(what): standard output is closed")
    return .output
  }

  /// Writes all of `text` to standard output; returns `status` unless the write failed.
  func print(_ text: String, _ status: ExitStatus = .success) -> ExitStatus {
    let bytes = StandardDescriptors.isTerminal(1) ? TerminalText.safe(text) : Array(text.utf8)
    let fault = Signals.endingAtOnce { SystemCalls.writeWhole(bytes, to: 1, waits: true) }
    guard let fault else { return status }
    if fault == .badDescriptor { return cannotPrintToClosed() }
    return outcome(of: fault == .brokenPipe ? .readerGone : .system(fault))
  }
}
