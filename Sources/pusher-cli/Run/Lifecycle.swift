internal import PusherCore

/// Reports changes of a feed's connection on stderr, and with `-L` as lines on stdout.
final class Lifecycle {
  private let diagnostics: Diagnostics
  /// `nil` for a run that prints no lines.
  private let printer: Printer?
  private let printsLines: Bool
  private let loop: EventLoop
  private let startedAt: Instant
  private(set) var state = "connecting"
  private var reconnects = 0
  /// True after the first connection: then the route is right.
  private(set) var hasBeenOpen = false
  private var isOpen = false
  private var probe: PortProbe?

  init(_ settings: PrintSettings, printer: Printer?, loop: EventLoop, diagnostics: Diagnostics) {
    printsLines = settings.printsLifecycle
    (self.printer, self.loop) = (printer, loop)
    self.diagnostics = diagnostics
    startedAt = loop.now
  }

  func report(_ event: ConnectionEvent, in words: any FeedWords, at now: Instant) {
    switch event {
    case .opened: opened()
    case .upgraded: break
    case .redirected(let status, let place):
      diagnostics.info("redirected (\(status)) to \(place)")
      words.redirected(to: place)
    case .reconnectionTime(let time):
      diagnostics.debug("the stream asks to wait \(time.inWords) before a new attempt")
    case .disconnected(let loss, let code, let delay, let attempt):
      disconnected(loss, code, delay, attempt, words)
    case .resumedElsewhere(let place, let asked): words.resumed(after: place, insteadOf: asked)
    case .gap(let from, let to): gap(from, to, words, at: now)
    case .ended: break
    }
  }

  /// Handles an established connection, as the protocol defines it.
  func opened() {
    state = "connected"
    (hasBeenOpen, isOpen) = (true, true)
  }

  private func disconnected(
    _ loss: ConnectionLoss, _ code: Int?, _ delay: Duration?, _ attempt: Int, _ words: any FeedWords
  ) {
    let again = hasBeenOpen ? "reconnecting" : "connecting"
    state = delay == nil ? "disconnected" : again
    words.closed()
    if let delay {
      if hasBeenOpen { reconnects += 1 }
      words.retry(loss, code, in: delay, wasOpen: isOpen)?.say(by: diagnostics)
    }
    isOpen = false
    line(
      "pusher-cli:disconnected",
      [
        "code": words.number(loss, code).map(JSONValue.integer) ?? .null,
        "reason": .string(words.cause(loss, code)),
        "retry_in": delay.map { .number($0.secondsText) } ?? .null, "attempt": .integer(attempt),
      ])
  }

  private func gap(_ from: Instant, _ to: Instant, _ words: any FeedWords, at now: Instant) {
    let length = from.duration(to: to)
    words.back(after: length).say(by: diagnostics)
    printer?.printGap(
      words.nature(of: length), words.consequenceOfGap, event: "pusher-cli:gap",
      data: .object(Self.gap(from: from, to: to, at: now) + words.membersOfGap),
      isAsked: printsLines)
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
  func explain(
    _ end: ConnectionEnd, in words: any FeedWords, say: @escaping (String) -> Void
  ) {
    switch end {
    case .asked, .finished: break
    case .lost(let loss, let code):
      explain(loss, code, words) { say($0) }
    case .retriesExhausted(let loss, let code, let attempts):
      explain(loss, code, words) { text in
        say("gave up after \(Quantities.words(attempts, of: "attempt")): \(text)")
      }
    }
  }

  private func explain(
    _ loss: ConnectionLoss, _ code: Int?, _ words: any FeedWords,
    _ say: @escaping (String) -> Void
  ) {
    let isFirst = !hasBeenOpen
    let tell = { [unowned self] (isFound: Bool) in
      probe = nil
      say(words.explanation(loss, code, isFirst: isFirst, isFound: isFound))
    }
    probe = words.look.begin(words.problem(loss, isFirst: isFirst), on: loop, completion: tell)
    if probe == nil { tell(false) }
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

  func trace(_ text: @autoclosure () -> String, isSent: Bool) {
    diagnostics.debug("\(isSent ? ">" : "<") \(Redaction.redact(text()))")
  }
}

extension Duration {
  /// Seconds with at most three decimals, as a JSON number.
  var secondsText: String {
    let milliseconds = (wholeNanoseconds + 500_000) / 1_000_000
    let fraction = String(milliseconds % 1000 + 1000).dropFirst()
    var text = "\(milliseconds / 1000).\(fraction)"
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }
}

/// A protocol's messages about its connections; makes texts and prints nothing.
protocol FeedWords: AnyObject {
  /// The second look at the address of a failed connection.
  var look: SecondLook { get }
  /// The fate of the events of a gap.
  var consequenceOfGap: String { get }
  /// Members of a gap's line besides its times.
  var membersOfGap: [JSONValue.Member] { get }

  func redirected(to place: String)
  /// Notes the event after which the stream begins, for the gap that follows.
  func resumed(after place: String, insteadOf asked: String)
  /// Resets the address after the end of a connection.
  func closed()
  /// Returns the reason for a loss; `code` explains it, if the protocol has codes.
  func cause(_ loss: ConnectionLoss, _ code: Int?) -> String
  func number(_ loss: ConnectionLoss, _ code: Int?) -> Int?
  /// Words a retry; `nil` if it needs no message.
  func retry(_ loss: ConnectionLoss, _ code: Int?, in delay: Duration, wasOpen: Bool) -> FeedNotice?
  /// Words the end of a gap.
  func back(after length: Duration) -> FeedNotice
  /// Words the gap itself.
  func nature(of length: Duration) -> String
  func problem(_ loss: ConnectionLoss, isFirst: Bool) -> NetworkProblem?
  /// Words the last loss and a remedy.
  ///
  /// - Parameters:
  ///   - isFirst: Whether there was no connection before. After a success the route is right.
  ///   - isFound: Whether a look found the other protocol.
  func explanation(_ loss: ConnectionLoss, _ code: Int?, isFirst: Bool, isFound: Bool) -> String
}

extension FeedWords {
  var membersOfGap: [JSONValue.Member] { [] }
  func resumed(after place: String, insteadOf asked: String) {}
  func nature(of length: Duration) -> String { "\(length.inWords) without a connection" }
}

enum FeedNotice {
  case warning(String)
  case info(String)

  func say(by diagnostics: Diagnostics) {
    switch self {
    case .warning(let text): diagnostics.warning(text)
    case .info(let text): diagnostics.info(text)
    }
  }
}
