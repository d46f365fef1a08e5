internal import PusherCore

/// Reports the event stream of `sse`, and words the messages about it.
final class StreamLifecycle: Lifecycle {
  private let settings: StreamSettings
  /// The run keeps its feed and its lifecycle equally long.
  private unowned let feed: EventStreamFeed
  /// IDs of the event that was asked for, and of the event after which the stream begins instead.
  private var resumption: (asked: String, place: String)?

  init(
    _ settings: StreamSettings, _ feed: EventStreamFeed, printer: Printer, loop: EventLoop,
    diagnostics: Diagnostics
  ) {
    (self.settings, self.feed) = (settings, feed)
    super.init(
      settings.printing, of: "stream from \(settings.url.place)", at: settings.url.place,
      look: SecondLook(
        settings.url, settings.network,
        advice: ("begin the URL with http:", "begin the URL with https:")),
      printer: printer, loop: loop, diagnostics: diagnostics)
  }

  private var route: Route { settings.network.routing.route(to: settings.url) }

  override func opened() {
    super.opened()
    let proxy = route.proxy.map { " through proxy \($0)" } ?? ""
    let id = feed.resumeID
    diagnostics.info("connected to \(place)\(proxy)\(feed.bodyFormat.inWords)\(session)")
    line(
      "pusher-cli:connected",
      ["url": .string(place), "last_event_id": id.isEmpty ? .null : .string(id)])
  }

  private var session: String {
    guard let field = feed.sessionField, let value = field.value else { return "" }
    let advice = field.isSent ? "" : " (--session-header \(field.name) sends it back)"
    return ", \(field.name) \(value)\(advice)"
  }

  override func closed() { resumption = nil }

  /// The body without an event that a run ended with; `nil` for any other loss.
  ///
  /// A close that nothing announces explains itself, unless the body was no event stream.
  func eventlessBody(_ loss: ConnectionLoss) -> BodySample? {
    guard loss == .ended || loss == .endedUnmarked, let body = feed.eventlessBody else {
      return nil
    }
    return loss == .ended || body.isForeign ? body : nil
  }

  /// Streams may end without an event now and then, but a page of something else is news.
  private func foreignBody(_ loss: ConnectionLoss) -> BodySample? {
    eventlessBody(loss).flatMap { $0.isForeign ? $0 : nil }
  }

  override func cause(_ loss: ConnectionLoss, _ code: Int?) -> String {
    foreignBody(loss).map { "\($0)" } ?? "\(loss)"
  }

  override func number(_ loss: ConnectionLoss, _ code: Int?) -> Int? { loss.status }

  override func retry(
    _ loss: ConnectionLoss, _ code: Int?, in delay: Duration, wasOpen: Bool
  ) -> (text: String, isUsual: Bool) {
    let limit = if case .silent = loss { Self.hint(loss) } else { "" }
    let text = "\(cause(loss, code))\(limit); retrying in \(delay.inWords)"
    // The standard lets servers end a stream now and then.
    let isUsual = (loss == .ended || loss == .endedUnmarked) && foreignBody(loss) == nil
    return (text, isUsual)
  }

  override func resumed(after place: String, insteadOf asked: String) {
    resumption = (asked, place)
  }

  override func back(after length: Duration) -> (text: String, isUsual: Bool) {
    if let wrongPlace {
      return (length == .zero ? wrongPlace : "back after \(length.inWords); \(wrongPlace)", false)
    }
    let id = feed.resumeID
    let objection = feed.objectionToLastID.map { "the last event's id \($0)" }
    if id.isEmpty {
      let reason = objection ?? "no id to resume from"
      return ("back after \(length.inWords); events sent meanwhile are lost (\(reason))", false)
    }
    let place = "back after \(length.inWords), continuing after event \(id)"
    guard let objection else { return (place, true) }
    return ("\(place), because \(objection): events may come again", false)
  }

  /// The loss of a stream that does not begin where it should; `nil` for any other stream.
  private var wrongPlace: String? {
    guard let (asked, place) = resumption else { return nil }
    return place.isSame(as: Resumption.earliest)
      ? "the server does not find event \(asked): events after it may be lost"
      : "the server continues after event \(place), not after \(asked): events may be lost"
  }

  override func nature(of length: Duration) -> String {
    wrongPlace != nil && length == .zero
      ? "another place in the stream" : super.nature(of: length)
  }

  override var membersOfGap: [JSONValue.Member] {
    guard let (asked, place) = resumption else { return [] }
    return [.init("last_event_id", .string(asked)), .init("resumed_after", .string(place))]
  }

  override var consequenceOfGap: String {
    if let wrongPlace { return wrongPlace }
    let id = feed.resumeID
    return id.isEmpty ? super.consequenceOfGap : "the stream continues after event \(id)"
  }

  override func problem(_ loss: ConnectionLoss, isFirst: Bool) -> NetworkProblem? {
    if case .handshakeTimeout = loss { return nil }
    return isFirst ? super.problem(loss, isFirst: true) : nil
  }

  override func explanation(
    _ loss: ConnectionLoss, _ code: Int?, isFirst: Bool, isFound: Bool
  ) -> String {
    let proxy = Hints.hint(status: loss.status, on: route)
    if let body = eventlessBody(loss) {
      return body.isForeignJSON ? "\(body) (--lines reads each line as an event)" : "\(body)"
    }
    switch loss {
    case .network(_, let problem?) where isFirst:
      return look.explained("\(loss)", problem, isFound: isFound) + Hints.hint(problem, nil)
    case .endedUnmarked where !settings.printing.wishes.awaitEvent:
      return "\(loss) (if an event marks the end, name it with --until or --until-event)"
    case .refused where isFound: return "\(loss)\(look.otherProtocol)\(proxy)"
    case .refused where loss.asksForAnotherTry && settings.needsRetryPost:
      return "\(loss) (--retry-post sends the request again)\(proxy)"
    default: return "\(loss)\(Self.hint(loss))\(proxy)"
    }
  }

  private static func hint(_ error: ConnectionLoss) -> String {
    switch error {
    case .untrusted(_, let problem): Hints.hint(problem)
    case .limit: " (--max-event SIZE raises the limit)"
    case .notAnEventStream(let type?) where BodyFormat.isJSON(contentType: type):
      " (--accept-json takes it as one event, --lines each of its lines)"
    case .silent: " (--activity-timeout TIME sets the limit)"
    case .handshakeTimeout(_, .asking?): " (wait longer with --connect-timeout TIME)"
    case .refused(401, _, _), .refused(403, _, _):
      " (use -H @FILE for a token, or a URL in @FILE for a password)"
    case .refused(404, _, _): " (nothing there: is the URL right?)"
    case .refused(405, _, _): " (try another method with -X METHOD)"
    case .refused(406, _, _):
      " (the server sends another type: --accept-json also asks for JSON, and -H 'Accept: TYPE' for TYPE)"
    case .refused(429, _, _): " (too many connections or attempts; try again later)"
    case .refused(let status, _, _) where HTTPStatus.isTemporary(status):
      " (the server has a problem; try again later)"
    default: ""
    }
  }
}

extension BodyFormat {
  /// For a message; nothing for an event stream.
  fileprivate var inWords: String {
    switch self {
    case .eventStream: ""
    case .lines: ", each line is an event"
    case .textSequence: ", each JSON text is an event"
    case .document: ", the answer is one event"
    }
  }
}

extension ConnectionLoss {
  fileprivate var status: Int? {
    guard case .refused(let status, _, _) = self else { return nil }
    return status
  }
}
