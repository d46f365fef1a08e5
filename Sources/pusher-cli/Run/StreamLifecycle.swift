internal import PusherCore

/// Tells what happens to an event stream: to people on stderr, and with `-L` as lines on stdout.
final class StreamLifecycle {
  private let settings: StreamSettings
  private let diagnostics: Diagnostics
  private let printer: StreamPrinter
  private let startedAt: Instant
  /// Where the stream stands, for whoever asks.
  private var state = "connecting"
  private var reconnects = 0
  private var wasOpen = false
  /// Whom the present request is to; a redirect changes it.
  private var place: String

  init(
    settings: StreamSettings, diagnostics: Diagnostics, printer: StreamPrinter, startedAt: Instant
  ) {
    self.settings = settings
    self.diagnostics = diagnostics
    self.printer = printer
    self.startedAt = startedAt
    place = settings.url.place
  }

  /// Says and prints one happening; `lastEventID` is where the stream stands.
  func report(_ event: EventSourceReport, lastEventID: String, at now: Instant) {
    switch event {
    case .opened:
      state = "connected"
      wasOpen = true
      let proxy = settings.network.routing.route(to: settings.url).proxy.map {
        " through proxy \($0)"
      }
      diagnostics.info("connected to \(place)\(proxy ?? "")")
      line(
        "pusher-cli:connected",
        [
          .init("url", .string(place)),
          .init("last_event_id", lastEventID.isEmpty ? .null : .string(lastEventID)),
        ])
    case .redirected(let status, let place):
      self.place = place
      diagnostics.info("redirected (\(status)) to \(place)")
    case .reconnectionTime(let time):
      diagnostics.debug("the stream asks to wait \(time.inWords) before a new attempt")
    case .disconnected(let error, let delay, let attempt): disconnected(error, delay, attempt)
    case .gap(let from, let to): gap(from, to, lastEventID, at: now)
    case .ended(let end): ended(end)
    }
  }

  private func line(_ event: String, _ data: [JSONValue.Member]) {
    guard settings.printing.printsLifecycle else { return }
    printer.printLifecycle(event: event, data: .object(data))
  }

  private func disconnected(_ error: EventSourceError, _ delay: Duration?, _ attempt: Int) {
    state = delay == nil ? "disconnected" : "reconnecting"
    place = settings.url.place
    if let delay {
      reconnects += 1
      let text = "\(error); asking again in \(delay.inWords)"
      // That a server ends a stream now and then is how the standard wants it.
      if error == .ended || error == .closed {
        diagnostics.info(text)
      } else {
        diagnostics.warning(text)
      }
    }
    line(
      "pusher-cli:disconnected",
      [
        .init("code", error.status.map(JSONValue.integer) ?? .null),
        .init("reason", .string("\(error)")),
        .init("retry_in", delay.map { .number($0.secondsText) } ?? .null),
        .init("attempt", .integer(attempt)),
      ])
  }

  private func gap(_ from: Instant, _ to: Instant, _ lastEventID: String, at now: Instant) {
    let length = from.duration(to: to)
    if lastEventID.isEmpty {
      diagnostics.warning(
        "back after \(length.inWords); events sent meanwhile are lost (they have no id to go on from)"
      )
    } else {
      diagnostics.info("back after \(length.inWords), behind event \(lastEventID)")
    }
    let wall = SystemClock.wall()
    line(
      "pusher-cli:gap",
      [
        .init("from", .string(wall.advanced(by: now.duration(to: from)).rfc3339)),
        .init("to", .string(wall.advanced(by: now.duration(to: to)).rfc3339)),
        .init("seconds", .number(length.secondsText)),
      ])
  }

  private func ended(_ end: EventSourceEnd) {
    switch end {
    case .asked: break
    case .finished: diagnostics.info("the server has nothing more (HTTP 204)")
    case .lost(.ended) where settings.reconnect == .never:
      diagnostics.info("\(EventSourceError.ended)")
    case .lost(let error): diagnostics.error(explained(error))
    case .retriesExhausted(let error, let attempts):
      diagnostics.error("gave up after \(attempts) attempts: \(explained(error))")
    }
  }

  /// Why the last stream ended, and what to do; where one was open before, the way to it is right.
  private func explained(_ error: EventSourceError) -> String {
    let look = SecondLook(
      settings.url, settings.network.routing,
      advice: ("begin the URL with http:", "begin the URL with https:"))
    let proxy = Hints.hint(
      status: error.status, on: settings.network.routing.route(to: settings.url))
    switch error {
    case .network(_, let problem?) where !wasOpen:
      return look.explained("\(error)", problem) + Hints.hint(problem, nil)
    case .refused(let status, _, _) where !wasOpen:
      return "\(error)" + (look.hint(status: status) ?? Self.hint(error)) + proxy
    default: return "\(error)\(Self.hint(error))\(proxy)"
    }
  }

  /// What a user may do about a failure: a parenthesis behind its message, or nothing.
  private static func hint(_ error: EventSourceError) -> String {
    switch error {
    case .untrusted(_, let problem): Hints.hint(problem)
    case .limit: " (--max-event SIZE raises the limit)"
    case .openingTimeout(_, .asking): " (--connect-timeout TIME waits longer)"
    case .refused(401, _, _), .refused(403, _, _):
      " (-H @FILE sends a token, --netrc-file FILE a password)"
    case .refused(404, _, _): " (nothing there: is the URL right?)"
    case .refused(405, _, _): " (-X METHOD asks in another way)"
    case .refused(429, _, _): " (too many connections or attempts; later it may work)"
    case .refused(let status, _, _) where HTTPStatus.isTemporary(status):
      " (the server's own trouble; later it may work)"
    default: ""
    }
  }

  /// Answers the question how things are, whatever the verbosity.
  func printStatus(events: Int, queued: Int, at now: Instant) {
    diagnostics.answerStatus(
      state, startedAt: startedAt, events: events, reconnects: reconnects, queued: queued, at: now)
  }

  /// The last line of a run with `-L`.
  func printExit(_ status: Int32, reason: String, events: Int) {
    line(
      "pusher-cli:exit",
      [
        .init("status", .integer(Int(status))), .init("reason", .string(reason)),
        .init("events", .integer(events)),
      ])
  }

  /// Shows a head that went out or came in, for `-vv`.
  func trace(_ head: String, isRequest: Bool) {
    diagnostics.debug("\(isRequest ? ">" : "<") \(head)")
  }
}

extension EventSourceError {
  /// The status that the server answered with, when that is what was wrong.
  fileprivate var status: Int? {
    guard case .refused(let status, _, _) = self else { return nil }
    return status
  }
}
