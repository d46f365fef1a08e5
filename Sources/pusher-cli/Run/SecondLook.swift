internal import PusherCore

/// Probes the port after a failure, and says if TLS and plain HTTP were mixed up.
struct SecondLook {
  /// The route of the failed attempt.
  let route: Route
  let isSecure: Bool
  /// The option for the other protocol.
  let advice: (plain: String, secure: String)

  private static let patience = Duration.seconds(1)

  /// For commands with `--scheme`.
  init(_ connection: ConnectionSettings) {
    self.init(
      connection.apiURL, connection.routing, advice: ("add --scheme http", "add --scheme https"))
  }

  init(_ url: HTTPURL, _ routing: Routing, advice: (plain: String, secure: String)) {
    route = routing.route(to: url)
    isSecure = url.isSecure
    self.advice = advice
  }

  private var place: String {
    "\(route.host.contains(":") ? "[\(route.host)]" : route.host):\(route.port)"
  }

  /// The message `text` about a failed connection, with the result of the look.
  func explained(_ text: String, _ problem: NetworkProblem?) -> String {
    switch problem {
    case .handshakeClosed where isSecure:
      if speaksPlainHTTP() {
        return "\(place) closed the TLS handshake; it speaks plain HTTP: \(advice.plain)"
      }
      return "\(place) closed the TLS handshake; if it speaks plain HTTP, \(advice.plain)"
    case .notTLS where isSecure:
      let words =
        speaksPlainHTTP(acceptsBadRequest: true)
        ? "it speaks plain HTTP:" : "if it speaks plain HTTP,"
      return "\(text) (\(words) \(advice.plain))"
    case .handshakeSilent where isSecure && speaksPlainHTTP(acceptsBadRequest: true):
      return "\(text) (it speaks plain HTTP: \(advice.plain))"
    case .onlyTLS where !isSecure: return "\(text) (\(advice.secure))"
    case .noAnswer where !isSecure && speaksTLS:
      return "\(text) (it speaks TLS: \(advice.secure))"
    default: return text
    }
  }

  /// The same for HTTP 400, as many servers answer plain HTTP where they speak TLS; nil for every other answer.
  func hint(status: Int) -> String? {
    status == 400 && !isSecure && speaksTLS ? " (it speaks TLS: \(advice.secure))" : nil
  }

  private func speaksPlainHTTP(acceptsBadRequest: Bool = false) -> Bool {
    Signals.interrupting {
      PortProbe.speaksPlainHTTP(
        route, within: Self.patience, acceptsBadRequest: acceptsBadRequest, interruption: $0)
    } ?? false
  }

  private var speaksTLS: Bool {
    Signals.interrupting {
      PortProbe.speaksTLS(route, within: Self.patience, interruption: $0)
    } ?? false
  }
}

/// Waits for the server of `--local`, which a script has often started a line above.
///
/// Only a refused connection to this machine is waited out, and no longer than one attempt to connect may take. The last
/// attempt tells what is wrong.
struct LocalServerWait {
  /// The time between two attempts.
  static let interval = Duration.milliseconds(20)
  /// The wait that needs no word.
  private static let silence = Duration.seconds(1)

  private let connection: ConnectionSettings
  private let start: Instant
  private let patience: Duration
  private var hasTold = false

  /// A wait that begins now, for at most `limit`.
  init(_ connection: ConnectionSettings, from start: Instant, atMost limit: Duration? = nil) {
    (self.connection, self.start) = (connection, start)
    patience = min(connection.connectTimeout, limit ?? connection.connectTimeout)
  }

  /// Whether to try again after a refused connection; says after a second what is waited for.
  mutating func goesOn(at now: Instant, _ diagnostics: Diagnostics) -> Bool {
    let time = start.duration(to: now)
    guard connection.isLocal, Loopback.contains(connection.host), time < patience else {
      return false
    }
    if !hasTold, time >= Self.silence {
      hasTold = true
      diagnostics.notice(
        "nothing listens on \(connection.host) port \(connection.port) yet; "
          + "waiting \(patience.inWords) at most for 'pusher-cli serve'")
    }
    return true
  }

  /// Waits on a loop that does nothing else yet, until a server listens.
  static func run(
    _ connection: ConnectionSettings, atMost limit: Duration?, on loop: EventLoop,
    _ diagnostics: Diagnostics
  ) {
    // Any other server would see the look as a connection.
    guard connection.isLocal else { return }
    let port = UInt16(clamping: connection.port)
    var wait = LocalServerWait(connection, from: loop.now, atMost: limit)
    while LocalPort.isRefused(host: connection.host, port: port),
      wait.goesOn(at: loop.now, diagnostics)
    {
      _ = loop.run(atMost: interval) { false }
    }
  }
}
