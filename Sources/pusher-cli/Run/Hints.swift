internal import PusherCore

/// Remedies for failures: a parenthesis after the message, or nothing.
struct Hints {
  let connection: ConnectionSettings

  private var key: String { Diagnostics.shortened(key: connection.key) }

  /// - Parameter isFirst: True if there was no connection before.
  static func problem(_ loss: ConnectionLoss, isFirst: Bool = true) -> NetworkProblem? {
    switch loss {
    case .network(_, let problem?) where isFirst: problem
    case .handshakeTimeout(_, .securing?) where isFirst: .handshakeSilent
    case .refused(let status, _, _): problem(status: status)
    default: nil
    }
  }

  /// Many TLS servers answer plain HTTP with status 400.
  static func problem(status: Int) -> NetworkProblem? { status == 400 ? .noAnswer : nil }

  /// Words a failed first connection: `words`, or the result of a second look, with a remedy.
  func explained(_ words: String, _ loss: ConnectionLoss, code: Int?, isFound: Bool) -> String {
    let hint = hint(loss, code: code, isFound: isFound)
    if case .refused = loss { return words + hint }
    return SecondLook(connection).explained(words, Self.problem(loss), isFound: isFound) + hint
  }

  /// Returns the remedy for a final loss, given the 4xxx code that explains it.
  ///
  /// - Parameter isFound: True if a look found the other protocol.
  func hint(_ loss: ConnectionLoss, code: Int?, isFound: Bool = false) -> String {
    switch code {
    case 4000 where connection.isSecure:
      return
        " (the server wants TLS, and this connection uses it: does a proxy on the way remove it?)"
    case 4000: return " (the server wants TLS: use --scheme https)"
    case 4001: return " (is key \(key) right, and does it belong to this \(whereabouts)?)"
    case 4003: return " (the app of key \(key) is disabled)"
    case 4005: return " (is --path right?)"
    case 4009 where loss.isAboutOrigin:
      return " (the app accepts only some origins: name one with -H 'Origin: https://…')"
    case RateLimit.code where ErrorSubject(loss) == .rateLimit:
      return " (the server's rate limit: use fewer channels and client events, or raise the limit)"
    default: break
    }
    switch loss {
    case .untrusted(_, let problem): return Self.hint(problem)
    case .refused(let status, let reason, _):
      if reason.holds("permessage-deflate") { return " (try --no-compression)" }
      return isFound ? SecondLook(connection).otherProtocol : hint(status: status)
    case .network(_, let problem?): return Self.hint(problem, connection)
    case .handshakeTimeout(_, .reachingProxy?), .handshakeTimeout(_, .tunnelling?):
      return Self.hint(.proxy, connection)
    default: return ""
    }
  }

  static func hint(_ problem: NetworkProblem, _ connection: ConnectionSettings?) -> String {
    switch problem {
    case .proxy:
      return " (is that a proxy? check --proxy, HTTPS_PROXY, HTTP_PROXY and ALL_PROXY)"
    case .unknownName:
      guard let cluster = connection?.cluster else {
        return " (is the name right, and the network up?)"
      }
      return " (is there a cluster '\(cluster)', and is the network up? see --cluster)"
    case .connectionRefused, .handshakeClosed, .handshakeSilent, .notTLS, .onlyTLS, .noAnswer,
      .noAgreedProtocol:
      return ""
    }
  }

  /// Returns the next step if nobody listens on the port, which check looks into.
  static func tryCheck(_ loss: ConnectionLoss) -> String {
    guard case .network(_, .connectionRefused) = loss else { return "" }
    return " (try 'pusher-cli check' with the same options)"
  }

  static func problem(_ failure: HTTPExchange.Failure) -> NetworkProblem? {
    switch failure {
    case .transport(.reset), .http(.endedEarly): .noAnswer
    case .http(.foreign(.tls)): .onlyTLS
    case .transport(let error): problem(ConnectionLoss(error))
    case .timeout: .handshakeSilent
    case .http: nil
    }
  }

  static func explained(
    _ failure: HTTPExchange.Failure, _ connection: ConnectionSettings, isFound: Bool
  ) -> String {
    let text = SecondLook(connection).explained("\(failure)", problem(failure), isFound: isFound)
    guard case .transport(let error) = failure else { return text }
    switch ConnectionLoss(error) {
    case .untrusted(_, let problem): return text + hint(problem)
    case .network(_, let problem?): return text + hint(problem, connection)
    default: return text
    }
  }

  /// Returns a remedy for an answer of the HTTP API that accepts nothing.
  ///
  /// - Parameter look: Takes the second look at the port.
  static func hint(
    _ answer: APIAnswer, of client: APIClient, _ connection: ConnectionSettings,
    look: (NetworkProblem?) -> Bool = { _ in false }
  ) -> String {
    if case .refused(_, _, let refusal) = answer { return " (\(advice(refusal, of: client)))" }
    if look(problem(status: answer.status)) { return SecondLook(connection).otherProtocol }
    switch answer.status {
    case 300..<400 where !connection.isSecure && answer.reason.holds("https://"):
      return " (the server wants TLS: use --scheme https)"
    case 300..<400: return " (call that address: see --host, --path and --api-url)"
    case 404: return " (nothing there: are --host, --port, --path and the app id right?)"
    case 407: return " (a proxy on the way wants a user name and a password)"
    case 429: return " (too many calls; try again later)"
    case let status where HTTPStatus.isTemporary(status):
      return " (the server has a problem; try again later)"
    default: return ""
    }
  }

  static func advice(_ refusal: APIRefusal, of client: APIClient) -> String {
    let key = Diagnostics.shortened(key: client.key)
    let own = client.prefix
    let question = "do the secret and the app id belong to key \(key)?"
    switch refusal {
    case .signature:
      guard !own.isEmpty else { return question }
      return "\(question) does a proxy strip \(own)? then give \(apiURL(of: client))"
    case .prefix(let seen):
      let path = seen.isEmpty ? "/apps" : ErrorText.shown(seen, limit: 100) + "/apps"
      guard seen.isEmpty else {
        return "the server sees \(path), not \(own)/apps: give --path as the server sees it"
          + (client.url.path.isEmpty ? "" : ", and --api-url without a path")
      }
      return "the server sees \(path), not \(own)/apps: a proxy strips \(own), "
        + "so give \(apiURL(of: client))"
    case .page:
      return "a page, not the HTTP API: does a proxy or web server before it refuse the call?"
    }
  }

  /// Returns the option for a proxy that strips the signed prefix.
  private static func apiURL(of client: APIClient) -> String {
    "--api-url \(client.url.origin)\(client.prefix)"
  }

  static func hint(_ problem: TrustProblem) -> String {
    switch problem {
    case .unknownAuthority: "; trust it with --cacert FILE"
    case .clientCertificate: " (give one with --tls-cert FILE and --tls-key FILE)"
    case .certificate, .publicKey: ""
    }
  }

  /// Returns a remark for a status that may come from a forwarding proxy.
  static func hint(status: Int?, on route: Route) -> String {
    guard let proxy = route.forwarder, status == 403 || status ?? 0 >= 500 else { return "" }
    return " (the answer may come from proxy \(proxy))"
  }

  private func hint(status: Int) -> String {
    switch status {
    case 200..<300:
      " (a web server, but no WebSocket at this address: are --port and --path right?)"
    case 400, 426: " (does this server speak the Pusher protocol? see --host, --port and --path)"
    case 401: " (the server, or a proxy before it, wants credentials)"
    case 403: " (the server, or a proxy before it, does not let this client in)"
    case 404: " (nothing there: are --path and key \(key) right?)"
    case 407: " (a proxy on the way wants a user name and a password)"
    case 429: " (too many connections or attempts)"
    case _ where HTTPStatus.isTemporary(status): " (the server has a problem; try again later)"
    default: ""
    }
  }

  private var whereabouts: String {
    connection.host.hasSuffix(".pusher.com") ? "cluster" : "server"
  }
}

extension APIAnswer {
  private var rejection: (status: Int, reason: String) {
    switch self {
    case .accepted: (200, "")
    case .refused(let status, let reason, _), .rejected(let status, let reason),
      .unavailable(let status, let reason), .unexpected(let status, let reason):
      (status, reason)
    }
  }

  var status: Int { rejection.status }
  /// The reason that the server gave; empty for none, and for an accepted call.
  var reason: String { rejection.reason }
  /// The answer in words, such as `HTTP 404 unknown app`.
  var words: String { "HTTP \(status)" + (reason.isEmpty ? "" : " " + reason) }
}

extension ConnectionLoss {
  /// True for Reverb's `allowed_origins`: 4009 also means a wrong signature.
  fileprivate var isAboutOrigin: Bool {
    if case .closed(_, let reason) = self { reason.holds("rigin") } else { false }
  }
}

extension ConnectionSettings {
  /// The cluster in the host name, for services with clusters.
  var cluster: String? {
    for pattern in [service.clusterHost, service.clusterAPIHost] {
      let parts = pattern.pieces(separatedBy: "CLUSTER")
      guard parts.count == 2, let rest = host.dropping(prefix: parts[0]),
        rest.utf8.count > parts[1].utf8.count, rest.hasSuffix(parts[1])
      else { continue }
      return String(rest.dropLast(parts[1].count))
    }
    return nil
  }
}

/// Remedies for a run without wanted events.
extension Hints {
  private static let mostNames = 3

  /// Counts the events that only `--where` left out.
  static func rejection(unmet: Int) -> String {
    "\(Quantities.words(unmet, of: "other event")) came, --where left out \(unmet)"
  }

  /// Counts the events that were left out and names those that the patterns excluded.
  static func rejection(_ printer: Printer, _ settings: PrintSettings) -> String {
    guard printer.rejected > printer.unmet else { return rejection(unmet: printer.unmet) }
    let events = Quantities.words(printer.rejected, of: "other event")
    let conditions = printer.unmet > 0 ? "--where left out \(printer.unmet), of the rest " : ""
    let verdict =
      switch (settings.includedEvents.isEmpty, settings.excludedEvents.isEmpty) {
      case (_, true): "none matches -e"
      case (true, _): "all match -x"
      case (false, false): "-e and -x exclude all"
      }
    let names = sortedByNearness(printer.filter?.refusedNames ?? [], to: settings.includedEvents)
    let more = names.count > mostNames ? " and others" : ""
    let shown = names.prefix(mostNames).map { "'\($0)'" }.joined(separator: ", ")
    return "\(events) came, \(conditions)\(verdict)\(shown.isEmpty ? "" : ": ")\(shown)\(more)"
  }

  /// Sorts names with the letters of a pattern first: `App\Events\OrderShipped` for `OrderShipped`.
  private static func sortedByNearness(_ names: [String], to patterns: [String]) -> [String] {
    let wanted = patterns.map { letters(of: $0) }.filter { !$0.isEmpty }
    func isNear(_ name: String) -> Bool {
      let plain = String(decoding: letters(of: name), as: UTF8.self)
      return wanted.contains { plain.holds($0) }
    }
    return names.filter(isNear) + names.filter { !isNear($0) }
  }

  /// Returns lowercase ASCII letters and digits, the part of a name that all frameworks keep.
  private static func letters(of text: String) -> [UInt8] {
    text.utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
      .filter { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }
  }

  /// Returns what to check after silence: a channel's other names, a public channel's first.
  ///
  /// Members of presence channels see each other, so silence there needs no hint.
  static func silence(_ channels: [String]) -> String {
    let open = channels.first { ChannelKind(channelName: $0) == .public }
    let hidden = channels.first { ChannelKind(channelName: $0) != .presence }
    guard let channel = open ?? hidden else { return "" }
    let name = Self.prefixes.lazy.compactMap { channel.dropping(prefix: $0) }.first ?? channel
    let others = ["", "private-", "presence-"].map { $0 + name }.filter { other in
      !other.isEmpty && !channels.contains { $0.isSame(as: other) }
    }
    let are = others.count == 1 ? "is a different channel" : "are different channels"
    let question = others.count == 1 ? "it" : "one of them"
    guard !others.isEmpty else { return "" }
    return "nothing came; \(others.joined(separator: " and ")) \(are): does the app send to "
      + "\(question)?"
  }

  /// A longer prefix stands before its beginning.
  private static let prefixes = ["private-encrypted-", "private-"]
}
