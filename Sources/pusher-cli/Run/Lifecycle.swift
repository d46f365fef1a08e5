internal import PusherCore

/// How far a run has come.
struct RunStatus {
  /// Events printed.
  var events: Int
  /// Those of the period.
  var recent: Int
  /// `nil` for the whole run.
  var period: Duration?
  /// Bytes that wait for the reader.
  var queued: Int
  var lastEventAt: Instant?
}

/// Tells what happens to a feed's connection: to people on stderr, and with `-L` as lines on stdout.
///
/// The common part is here; each protocol adds its words.
class Lifecycle {
  let diagnostics: Diagnostics
  private let printer: Printer
  private let printsLines: Bool
  private let startedAt: Instant
  /// The state of the connection, for the answer to a question.
  final var state = "connecting"
  private var reconnects = 0
  /// Whether there was a connection before, so that the route is right.
  final var hasBeenOpen = false
  /// Whether the present connection was established.
  final var isOpen = false

  init(
    _ settings: PrintSettings, diagnostics: Diagnostics, printer: Printer, startedAt: Instant
  ) {
    printsLines = settings.printsLifecycle
    self.diagnostics = diagnostics
    self.printer = printer
    self.startedAt = startedAt
  }

  // MARK: The words of a protocol

  /// There is a connection.
  func opened() {}

  /// The server sent the request elsewhere.
  func redirected(to place: String) {}

  /// The connection is gone; a new one begins at the first place again.
  func closed() {}

  /// Why a connection ended; `code` explains it where the protocol has codes.
  func words(_ loss: ConnectionLoss, _ code: Int?) -> String { "\(loss)" }

  /// Says that a new attempt follows.
  func retrying(_ loss: ConnectionLoss, _ code: Int?, in delay: Duration) {}

  /// The number that explains a loss.
  func number(_ loss: ConnectionLoss, _ code: Int?) -> Int? { code }

  /// Says that events come again after so long.
  func back(after length: Duration) {}

  /// What has become of the events of that time.
  var consequenceOfGap: String { "events of that time are lost" }

  /// Why the last connection ended, and what to do.
  func explained(_ loss: ConnectionLoss, _ code: Int?) -> String { "\(loss)" }

  /// Says what to do after a first connection that did not come about.
  func advise() {}

  /// Whether the end of the connection is the end that was wanted.
  func isGoodEnd(_ loss: ConnectionLoss) -> Bool { false }

  // MARK: Every connection

  /// Says and prints one happening.
  final func report(_ event: ConnectionEvent, at now: Instant) {
    switch event {
    case .opened:
      state = "connected"
      hasBeenOpen = true
      isOpen = true
      opened()
    case .redirected(let status, let place):
      diagnostics.info("redirected (\(status)) to \(place)")
      redirected(to: place)
    case .reconnectionTime(let time):
      diagnostics.debug("the stream asks to wait \(time.inWords) before a new attempt")
    case .disconnected(let loss, let code, let delay, let attempt):
      disconnected(loss, code, delay, attempt)
    case .gap(let from, let to): gap(from, to, at: now)
    case .ended(let end): ended(end)
    }
  }

  private func disconnected(
    _ loss: ConnectionLoss, _ code: Int?, _ delay: Duration?, _ attempt: Int
  ) {
    let again = hasBeenOpen ? "reconnecting" : "connecting"
    state = delay == nil ? "disconnected" : again
    closed()
    if let delay {
      if hasBeenOpen { reconnects += 1 }
      retrying(loss, code, in: delay)
    }
    isOpen = false
    line(
      "pusher-cli:disconnected",
      [
        "code": number(loss, code).map(JSONValue.integer) ?? .null,
        "reason": .string(words(loss, code)),
        "retry_in": delay.map { .number($0.secondsText) } ?? .null, "attempt": .integer(attempt),
      ])
  }

  private func gap(_ from: Instant, _ to: Instant, at now: Instant) {
    let length = from.duration(to: to)
    back(after: length)
    printer.printGap(
      GapWords(
        length: "\(length.inWords) without a connection", consequence: consequenceOfGap),
      event: "pusher-cli:gap", data: .object(Self.gap(from: from, to: to, at: now)),
      isAsked: printsLines)
  }

  /// What is told of a gap.
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

  private func ended(_ end: ConnectionEnd) {
    switch end {
    case .asked: break
    case .finished: diagnostics.info("the server has nothing more (HTTP 204)")
    case .lost(let loss, _) where isGoodEnd(loss): diagnostics.info("\(loss)")
    case .lost(let loss, let code):
      diagnostics.error(explained(loss, code))
      if !hasBeenOpen { advise() }
    case .retriesExhausted(let loss, let code, let attempts):
      diagnostics.error("gave up after \(attempts) attempts: \(explained(loss, code))")
    }
  }

  /// Prints a line of `-L`.
  final func line(_ event: String, of channel: String? = nil, _ data: JSONValue) {
    guard printsLines else { return }
    printer.printLifecycle(event: event, channel: channel, data: data)
  }

  /// Reports the state of the run, at any verbosity.
  final func printStatus(_ status: RunStatus, at now: Instant) {
    let up = startedAt.duration(to: now)
    let period = max(Int((status.period ?? up).wholeNanoseconds / 1_000_000), 1)
    let tenths = status.recent * 10_000 / period
    let last = status.lastEventAt.map { ", last \($0.duration(to: now).inWords) ago" } ?? ""
    diagnostics.answer(
      "\(state), up \(up.inWords), \(status.events) events (\(tenths / 10).\(tenths % 10)/s)\(last), "
        + "\(reconnects) reconnects, \(status.queued) bytes queued")
  }

  /// The last line of a run with `-L`.
  final func printExit(_ status: Int32, reason: String, events: Int) {
    line(
      "pusher-cli:exit",
      [
        "status": .integer(Int(status)), "reason": .string(reason), "events": .integer(events),
      ])
  }

  /// Shows what goes out or comes in, for `-vv`.
  final func trace(_ text: @autoclosure () -> String, isSent: Bool) {
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
