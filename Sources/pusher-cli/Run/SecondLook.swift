internal import PusherCore

/// Finds out after a failure whether TLS and plain HTTP were mixed up, or the server speaks HTTP/2
/// only.
///
/// Commands without other work call ``find(_:on:run:)``. A run begins a look and keeps its loop
/// running.
struct SecondLook {
  let route: Route
  let isSecure: Bool
  let advice: (plain: String, secure: String)
  private let patience: Duration

  /// An explanation is not worth a longer wait.
  private static let longest = Duration.seconds(5)

  /// For commands with `--scheme`.
  init(_ connection: ConnectionSettings) {
    self.init(
      connection.apiURL, connection.network, advice: ("add --scheme http", "add --scheme https"))
  }

  init(_ url: HTTPURL, _ network: NetworkSettings, advice: (plain: String, secure: String)) {
    route = network.routing.route(to: url)
    patience = min(network.connectTimeout, Self.longest)
    isSecure = url.isSecure
    self.advice = advice
  }

  /// Returns the question that a look can answer; `nil` if a look cannot help.
  func question(_ problem: NetworkProblem?) -> PortProbe.Question? {
    switch problem {
    case .handshakeClosed where isSecure: .plainHTTP(acceptsBadRequest: false)
    case .notTLS where isSecure, .handshakeSilent where isSecure:
      .plainHTTP(acceptsBadRequest: true)
    case .noAnswer where !isSecure: .tls
    case .noAgreedProtocol where isSecure: .http2
    default: nil
    }
  }

  /// Begins a look, which the caller keeps; returns `nil`, without a completion, if it cannot help.
  func begin(
    _ problem: NetworkProblem?, on loop: EventLoop, completion: @escaping (Bool) -> Void
  ) -> PortProbe? {
    question(problem).map {
      PortProbe($0, route, within: patience, on: loop, completion: completion)
    }
  }

  /// - Parameter run: Runs the loop until it stops.
  func find(_ problem: NetworkProblem?, on loop: EventLoop, run: () -> Void) -> Bool {
    var answer: Bool?
    let probe = begin(problem, on: loop) {
      answer = $0
      loop.stop()
    }
    while probe != nil, answer == nil { run() }
    return answer ?? false
  }

  /// - Parameter isFound: True if a look found the other protocol.
  func explained(_ text: String, _ problem: NetworkProblem?, isFound: Bool) -> String {
    let plain = isFound ? "it speaks plain HTTP:" : "if it speaks plain HTTP,"
    switch problem {
    case .handshakeClosed where isSecure:
      return "\(route) closed the TLS handshake; \(plain) \(advice.plain)"
    case .notTLS where isSecure: return "\(text) (\(plain) \(advice.plain))"
    case .handshakeSilent where isSecure && isFound: return "\(text) (\(plain) \(advice.plain))"
    case .onlyTLS where !isSecure: return "\(text) (\(advice.secure))"
    case .noAnswer where isFound: return text + otherProtocol
    case .noAgreedProtocol where isFound:
      return "\(route) speaks HTTP/2 only; this program needs HTTP/1.1"
    default: return text
    }
  }

  /// Notice for a server that speaks TLS after an attempt with plain HTTP.
  var otherProtocol: String { " (it speaks TLS: \(advice.secure))" }
}

extension ConnectionSettings {
  private static let waitInterval = Duration.milliseconds(20)
  /// Time before the wait is reported.
  private static let waitSilence = Duration.seconds(1)

  /// Waits for the server of `--local`: scripts often start it one line earlier.
  ///
  /// Waits only after a refused connection to this machine, at most for the connect timeout, and at
  /// most for `limit`. Every command waits before it watches signals, so the first signal ends the
  /// program.
  ///
  /// - Parameter loop: A loop without any other work.
  func waitForLocalServer(
    atMost limit: Duration? = nil, on loop: EventLoop, _ diagnostics: Diagnostics
  ) {
    // Any other server would see the look as a connection.
    guard isLocal, Loopback.contains(host) else { return }
    let start = loop.now
    let patience = min(network.connectTimeout, limit ?? network.connectTimeout)
    var hasTold = false
    while LocalPort.isRefused(host: host, port: UInt16(clamping: port)) {
      let time = start.duration(to: loop.now)
      guard time < patience else { return }
      if !hasTold, time >= Self.waitSilence {
        hasTold = true
        diagnostics.notice(
          "nothing listens on \(host) port \(port) yet; "
            + "waiting up to \(patience.inWords) for 'pusher-cli serve'")
      }
      _ = loop.run(atMost: Self.waitInterval) { false }
    }
  }
}
