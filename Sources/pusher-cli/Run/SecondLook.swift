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
/// Only a refused connection to an address of this machine is waited out, and no longer than one attempt to connect may
/// take; whatever stands then is told by the attempt that follows.
enum LocalServerWait {
  /// Waits until a server listens at the address of `connection`, for at most `limit`.
  static func run(
    _ connection: ConnectionSettings, atMost limit: Duration?, _ diagnostics: Diagnostics
  ) {
    let port = UInt16(clamping: connection.port)
    guard connection.isLocal, LocalPort.isRefused(host: connection.host, port: port) else { return }
    let patience = min(connection.connectTimeout, limit ?? connection.connectTimeout)
    diagnostics.info(
      "nothing listens on \(connection.host) port \(port) yet; "
        + "waiting \(patience.inWords) at most for 'pusher-cli serve'")
    LocalPort.wait(host: connection.host, port: port, atMost: patience)
  }
}
