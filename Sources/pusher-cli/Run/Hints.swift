internal import PusherCore

/// What a user may do about a failure: a parenthesis behind its message, or nothing.
struct Hints {
  let connection: ConnectionSettings
  /// What was offered with the upgrade, as the user typed it.
  let subprotocols: [String]

  private var key: String { Diagnostics.shortened(key: connection.key) }

  /// For a connection that is not tried again, with the 4xxx code that explains it.
  func hint(_ loss: ConnectionLoss, code: Int?) -> String {
    switch code {
    case 4000: return " (the server wants TLS: use --scheme https)"
    case 4001: return " (is key \(key) right, and does it belong to this \(whereabouts)?)"
    case 4003: return " (the app of key \(key) is disabled)"
    default: break
    }
    switch loss {
    case .untrusted(_, let problem): return Self.hint(problem)
    case .refused(let status, _, _): return hint(status: status)
    default: return ""
    }
  }

  /// For an exchange with the HTTP API that came to nothing.
  static func hint(_ failure: HTTPExchange.Failure) -> String {
    guard case .transport(let error) = failure,
      case .untrusted(_, let problem) = ConnectionLoss(error)
    else { return "" }
    return hint(problem)
  }

  static func hint(_ problem: TrustProblem) -> String {
    switch problem {
    case .unknownAuthority: " (--cacert FILE trusts another authority)"
    case .clientCertificate: " (--tls-cert FILE and --tls-key FILE give one)"
    case .certificate, .publicKey: ""
    }
  }

  /// For a status that a proxy which forwards requests may have given in its own name.
  static func hint(status: Int?, on route: Route) -> String {
    guard let proxy = route.forwarder, status == 403 || status ?? 0 >= 500 else { return "" }
    return " (proxy \(proxy) is on the way, and may have said so itself)"
  }

  private func hint(status: Int) -> String {
    switch status {
    case 200..<300:
      " (a web server, but no WebSocket at this address: are --port and --path right?)"
    case 400: " (does this server speak the Pusher protocol? see --host, --port and --path)"
    case 401: " (the server, or whoever stands before it, wants credentials)"
    case 403: " (the server, or whoever stands before it, does not let this client in)"
    case 404: " (nothing there: are --path and key \(key) right?)"
    case 407: " (a proxy on the way wants a user name and a password)"
    case 426: upgradeRequired
    case 429: " (too many connections or attempts)"
    case 500..<600: " (the server's own trouble; later it may work)"
    default: ""
    }
  }

  /// 426 is how servers refuse a sub-protocol, some because they want one, others because they want none.
  private var upgradeRequired: String {
    subprotocols.isEmpty
      ? " (some servers want a WebSocket sub-protocol: try --subprotocol pusher-channels-protocol-7)"
      : " (some servers want no WebSocket sub-protocol: try without --subprotocol)"
  }

  private var whereabouts: String {
    connection.host.hasSuffix(".pusher.com") ? "cluster" : "server"
  }
}
