internal import PusherCore

/// Reports changes of a feed's connection on stderr, and with `-L` as lines on stdout.
///
/// A subclass for each protocol words the messages; the words here are those of a protocol without
/// replay. Counts the changes for `--metrics`.
class Lifecycle {
  let diagnostics: Diagnostics
  /// `nil` for a run that prints no lines.
  let printer: Printer?
  private let printsLines: Bool
  let loop: EventLoop
  private let startedAt: Instant
  /// The feed in words, such as `connection to example.com`.
  private let feedName: String
  private let ownPlace: String
  /// URL of the present connection; a redirect changes it.
  private(set) var place: String
  private(set) var state = "connecting"
  /// True after the first connection: then the route is right.
  private(set) var hasBeenOpen = false
  private var isOpen = false
  /// The last loss, and the 4xxx code that explains it.
  private(set) var lastLoss: (loss: ConnectionLoss, code: Int?)?
  /// The second look at the address of a failed connection.
  let look: SecondLook
  private var probe: PortProbe?
  private var reconnects = 0
  private(set) var connections = 0
  private(set) var retries: [LossReason: Int] = [:]
  private(set) var gaps = 0
  private(set) var gapTime = Duration.zero
  /// Number of messages that could not be read or decrypted.
  var unreadable = 0

  init(
    _ settings: PrintSettings, of feedName: String, at place: String, look: SecondLook,
    printer: Printer?, loop: EventLoop, diagnostics: Diagnostics
  ) {
    (printsLines, self.feedName) = (settings.printsLifecycle, feedName)
    (ownPlace, self.place, self.look) = (place, place, look)
    (self.printer, self.loop, self.diagnostics) = (printer, loop, diagnostics)
    startedAt = loop.now
  }

  // MARK: The words of a protocol

  /// Notes the event after which the stream begins, for the gap that follows.
  func resumed(after place: String, insteadOf asked: String) {}
  /// Forgets the state of a connection that has ended.
  func closed() {}
  /// Returns the reason for a loss; `code` explains it, if the protocol has codes.
  func cause(_ loss: ConnectionLoss, _ code: Int?) -> String { "\(loss)" }
  func number(_ loss: ConnectionLoss, _ code: Int?) -> Int? { code }

  /// Words a retry; a usual one needs no warning.
  func retry(
    _ loss: ConnectionLoss, _ code: Int?, in delay: Duration, wasOpen: Bool
  ) -> (text: String, isUsual: Bool) {
    let when = delay == .zero ? "now" : "in \(delay.inWords)"
    let what = wasOpen ? "connection lost" : "cannot connect"
    return ("\(what) (\(cause(loss, code))); retrying \(when)", false)
  }

  /// Words the end of a gap; a usual one needs no warning.
  func back(after length: Duration) -> (text: String, isUsual: Bool) {
    (
      "back after \(length.inWords); events sent meanwhile are lost (the protocol has no replay)",
      false
    )
  }

  /// Words the gap itself.
  func nature(of length: Duration) -> String { "\(length.inWords) without a connection" }
  /// The fate of the events of a gap.
  var consequenceOfGap: String { "events sent meanwhile are lost" }
  /// Members of a gap's line besides its times.
  var membersOfGap: [JSONValue.Member] { [] }

  func problem(_ loss: ConnectionLoss, isFirst: Bool) -> NetworkProblem? {
    Hints.problem(loss, isFirst: isFirst)
  }

  /// Words the last loss and a remedy.
  ///
  /// - Parameters:
  ///   - isFirst: Whether there was no connection before. After a success the route is right.
  ///   - isFound: Whether a look found the other protocol.
  func explanation(_ loss: ConnectionLoss, _ code: Int?, isFirst: Bool, isFound: Bool) -> String {
    cause(loss, code)
  }

  // MARK: Changes of the connection

  func report(_ event: ConnectionEvent, at now: Instant) {
    switch event {
    case .opened: opened()
    case .upgraded: break
    case .redirected(let status, let place):
      diagnostics.info("redirected (\(status)) to \(place)")
      self.place = place
    case .reconnectionTime(let time):
      diagnostics.debug("the stream asks to wait \(time.inWords) before a new attempt")
    case .disconnected(let loss, let code, let delay, let attempt):
      disconnected(loss, code, delay, attempt)
    case .resumedElsewhere(let place, let asked): resumed(after: place, insteadOf: asked)
    case .gap(let from, let to): gap(from, to, at: now)
    case .ended: break
    }
  }

  /// Handles an established connection, as the protocol defines it.
  func opened() {
    connections += 1
    state = "connected"
    (hasBeenOpen, isOpen) = (true, true)
  }

  private func disconnected(
    _ loss: ConnectionLoss, _ code: Int?, _ delay: Duration?, _ attempt: Int
  ) {
    lastLoss = (loss, code)
    let again = hasBeenOpen ? "reconnecting" : "connecting"
    state = delay == nil ? "disconnected" : again
    place = ownPlace
    closed()
    if let delay {
      retries[LossReason(loss), default: 0] += 1
      if hasBeenOpen { reconnects += 1 }
      say(retry(loss, code, in: delay, wasOpen: isOpen))
    }
    isOpen = false
    line(
      "pusher-cli:disconnected",
      [
        "code": number(loss, code).map(JSONValue.integer) ?? .null,
        "reason": .string(cause(loss, code)),
        "retry_in": delay.map { .number($0.secondsText) } ?? .null, "attempt": .integer(attempt),
      ])
  }

  private func gap(_ from: Instant, _ to: Instant, at now: Instant) {
    let length = from.duration(to: to)
    say(back(after: length))
    printGap(
      from, to, at: now, nature: nature(of: length), consequence: consequenceOfGap, membersOfGap)
  }

  /// Counts and prints a gap of one channel, or of the connection.
  func printGap(
    _ from: Instant, _ to: Instant, at now: Instant, of channel: String? = nil, nature: String,
    consequence: String, _ members: [JSONValue.Member]
  ) {
    gaps += 1
    gapTime += from.duration(to: to)
    printer?.printGap(
      nature, consequence, event: "pusher-cli:gap", channel: channel,
      data: .object(Self.gap(from: from, to: to, at: now) + members), isAsked: printsLines)
  }

  private func say(_ message: (text: String, isUsual: Bool)) {
    message.isUsual ? diagnostics.info(message.text) : diagnostics.warning(message.text)
  }

  /// Returns the members of a gap's line.
  static func gap(from: Instant, to: Instant, at now: Instant) -> [JSONValue.Member] {
    let wall = SystemClock.wall()
    func time(_ instant: Instant) -> JSONValue {
      .string(wall.advanced(by: now.duration(to: instant)).rfc3339)
    }
    return [
      .init("from", time(from)), .init("to", time(to)),
      .init("seconds", .number(from.duration(to: to).secondsText)),
    ]
  }

  /// Words the loss with which a feed ended, maybe after a second look.
  func explain(_ end: ConnectionEnd, say: @escaping (String) -> Void) {
    let (loss, code, prefix): (ConnectionLoss, Int?, String)
    switch end {
    case .asked, .finished: return
    case .lost(let cause, let number): (loss, code, prefix) = (cause, number, "")
    case .retriesExhausted(let cause, let number, let attempts):
      let tries = Quantities.words(attempts, of: "attempt")
      (loss, code, prefix) = (cause, number, "gave up after \(tries): ")
    }
    let isFirst = !hasBeenOpen
    let tell = { [unowned self] (isFound: Bool) in
      probe = nil
      say(prefix + explanation(loss, code, isFirst: isFirst, isFound: isFound))
    }
    probe = look.begin(problem(loss, isFirst: isFirst), on: loop, completion: tell)
    if probe == nil { tell(false) }
  }

  /// The status of a run whose feed is disconnected, for users of the service manager.
  var lossInWords: String { hasBeenOpen ? "\(feedName) lost" : "no \(feedName) yet" }

  /// The reason that no event came: this missing part, and the last loss.
  func obstacle(_ what: String) -> Obstacle {
    Obstacle(
      what: what, reason: lastLoss.map { "\($0.loss)" },
      isRefusal: lastLoss.map { Cause($0.loss, code: $0.code) == .notAllowed } ?? false)
  }

  var isLooking: Bool { probe != nil }

  /// Ends the second look; its message is printed without a result.
  func cutLook() { probe?.cancel() }

  func line(_ event: String, of channel: String? = nil, _ data: JSONValue) {
    guard printsLines else { return }
    printer?.printLifecycle(event: event, channel: channel, data: data)
  }

  /// Reports the state of the run, at any verbosity.
  ///
  /// - Parameters:
  ///   - earlier: Number of events before the period.
  ///   - period: Time over which events are counted; `nil` for the whole run.
  func printStatus(of run: PrintingRun, since earlier: Int = 0, over period: Duration? = nil) {
    run.noteEvents()
    let now = loop.now
    let up = startedAt.duration(to: now)
    let milliseconds = max(Int((period ?? up).wholeNanoseconds / 1_000_000), 1)
    let tenths = (run.count - earlier) * 10_000 / milliseconds
    let last = run.lastEventAt.map { ", last \($0.duration(to: now).inWords) ago" } ?? ""
    let queued = run.output.buffer.count + (run.handler?.waitingBytes ?? 0)
    diagnostics.answer(
      "\(state), up \(up.inWords), \(run.count) events (\(tenths / 10).\(tenths % 10)/s)\(last), "
        + "\(reconnects) reconnects, \(queued) bytes queued")
  }

  func printExit(_ ending: RunEnd.Ending, events: Int) {
    let (status, reason) =
      switch ending {
      case .status(let status, let reason): (status.rawValue, reason)
      case .signal(let number): (128 + number, Signals.name(number))
      }
    line(
      "pusher-cli:exit",
      [
        "status": .integer(Int(status)), "reason": .string(reason), "events": .integer(events),
      ])
  }
}

extension Duration {
  /// Seconds with at most three decimals, as a JSON number.
  var secondsText: String { Quantities.text(inSeconds) }
}
