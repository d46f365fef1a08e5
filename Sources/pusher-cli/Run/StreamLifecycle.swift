internal import PusherCore

/// Reports what happens to the event stream of `sse`.
final class StreamLifecycle: Lifecycle {
  private let settings: StreamSettings
  /// The URL of the present request; a redirect changes it.
  private var place: String
  /// Where the stream stands: the ID of the last event that came.
  private let lastEventID: () -> String

  init(
    settings: StreamSettings, diagnostics: Diagnostics, printer: StreamPrinter, startedAt: Instant,
    lastEventID: @escaping () -> String
  ) {
    self.settings = settings
    self.lastEventID = lastEventID
    place = settings.url.place
    super.init(
      settings.printing, diagnostics: diagnostics, printer: printer, startedAt: startedAt)
  }

  override func opened() {
    let proxy = settings.network.routing.route(to: settings.url).proxy.map {
      " through proxy \($0)"
    }
    diagnostics.info("connected to \(place)\(proxy ?? "")")
    let id = lastEventID()
    line(
      "pusher-cli:connected",
      ["url": .string(place), "last_event_id": id.isEmpty ? .null : .string(id)])
  }

  override func redirected(to place: String) {
    self.place = place
  }

  override func retrying(_ loss: ConnectionLoss, _ code: Int?, in delay: Duration) {
    let text = "\(loss); asking again in \(delay.inWords)"
    // That a server ends a stream now and then is how the standard wants it.
    if loss == .ended || loss == .endedUnmarked {
      diagnostics.info(text)
    } else {
      diagnostics.warning(text)
    }
  }

  override func closed() {
    place = settings.url.place
  }

  override func number(_ loss: ConnectionLoss, _ code: Int?) -> Int? { loss.status }

  override func back(after length: Duration) {
    let id = lastEventID()
    if id.isEmpty {
      diagnostics.warning(
        "back after \(length.inWords); events sent meanwhile are lost (they have no id to go on from)"
      )
    } else {
      diagnostics.info("back after \(length.inWords), after event \(id)")
    }
  }

  override var consequenceOfGap: String {
    let id = lastEventID()
    return id.isEmpty ? super.consequenceOfGap : "the stream goes on after event \(id)"
  }

  override func isGoodEnd(_ loss: ConnectionLoss) -> Bool {
    loss == .ended && settings.feed.reconnect == .never
  }

  /// Why the last stream ended, and what to do; after an earlier success the route is right.
  override func explained(_ error: ConnectionLoss, _ code: Int?) -> String {
    let look = SecondLook(
      settings.url, settings.network.routing,
      advice: ("begin the URL with http:", "begin the URL with https:"))
    let proxy = Hints.hint(
      status: error.status, on: settings.network.routing.route(to: settings.url))
    switch error {
    case .network(_, let problem?) where !hasBeenOpen:
      return look.explained("\(error)", problem) + Hints.hint(problem, nil)
    case .refused(let status, _, _) where !hasBeenOpen:
      return "\(error)" + (look.hint(status: status) ?? Self.hint(error)) + proxy
    default: return "\(error)\(Self.hint(error))\(proxy)"
    }
  }

  /// What a user may do about a failure: a parenthesis after its message, or nothing.
  private static func hint(_ error: ConnectionLoss) -> String {
    switch error {
    case .untrusted(_, let problem): Hints.hint(problem)
    case .limit: " (--max-event SIZE raises the limit)"
    case .handshakeTimeout(_, .asking?): " (--connect-timeout TIME waits longer)"
    case .refused(401, _, _), .refused(403, _, _):
      " (-H @FILE sends a token, --netrc-file FILE a password)"
    case .refused(404, _, _): " (nothing there: is the URL right?)"
    case .refused(405, _, _): " (-X METHOD asks in another way)"
    case .refused(429, _, _): " (too many connections or attempts; try again later)"
    case .refused(let status, _, _) where HTTPStatus.isTemporary(status):
      " (the server has a problem; try again later)"
    default: ""
    }
  }
}

extension ConnectionLoss {
  /// The status of the server's answer, if it was the mistake.
  fileprivate var status: Int? {
    guard case .refused(let status, _, _) = self else { return nil }
    return status
  }
}
