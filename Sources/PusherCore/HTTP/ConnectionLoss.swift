/// The side that has to act after a failure.
public enum Fault: Sendable, Equatable {
  /// The user of this library: a wrong key, name or file.
  case you
  /// The server refused or broke a rule.
  case peer
  /// Name service, connection, TLS.
  case network
  /// A defect of this library.
  case us
}

/// The end of a WebSocket or event stream, or the failure to open one.
public enum ConnectionLoss: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server closed the socket, with the code and reason of its close frame, if any.
  case closed(code: Int?, reason: String)
  /// The server ended the event stream, as it may; the next stream continues there.
  case ended
  /// The server closed a plain connection without an end mark (RFC 9112 section 6.3): events may be
  /// missing.
  case endedUnmarked
  /// The server answered with an unexpected status, and may ask for a wait before the next attempt.
  case refused(status: Int, reason: String, retryAfter: Duration? = nil)
  /// The response is not `text/event-stream`; `nil` if it names no type.
  case notAnEventStream(contentType: String?)
  /// The server broke a protocol, or sent a redirect that must not be followed.
  case violation(String)
  /// Name service, connection or TLS failed, or the connection was lost.
  case network(String, NetworkProblem? = nil)
  /// One side rejected the other's certificate.
  case untrusted(String, TrustProblem = .certificate)
  /// No `connection_established`, or no head of an event stream, within this time.
  case handshakeTimeout(Duration, ConnectionStage? = nil)
  case noPong(Duration)
  /// An event stream was silent for this time.
  case silent(Duration)
  /// A line or event of an event stream is too large; the text names the limit.
  case limit(String)
  /// This side gave the connection up.
  case dropped(String)
  case invalidRequest(String)

  /// The side that has to act.
  public var fault: Fault {
    switch self {
    case .invalidRequest: .you
    case .closed(let code?, _) where (4000..<5000).contains(code): .peer
    case .refused, .notAnEventStream, .violation, .limit: .peer
    case .closed, .ended, .endedUnmarked, .network, .untrusted, .handshakeTimeout, .noPong, .silent,
      .dropped:
      .network
    }
  }

  /// The event in words for the user.
  public var description: String {
    switch self {
    case .closed(nil, ""): "the server closed the connection without a reason"
    case .closed(nil, let reason): "the server closed the connection: \(reason)"
    case .closed(let code?, ""): "closed by the server with code \(code)"
    case .closed(let code?, let reason): "closed by the server with code \(code): \(reason)"
    case .ended: "the server ended the stream"
    case .endedUnmarked: "the server closed the connection without marking the stream's end"
    case .refused(let status, let reason, let wait):
      "the server answered HTTP \(status)\(reason.isEmpty ? "" : " (\(reason))")"
        + (wait.map { " and asks to wait \($0.inWords)" } ?? "")
    case .notAnEventStream(nil): "the answer is not an event stream: it has no Content-Type"
    case .notAnEventStream(let type?):
      "the answer is not an event stream, but of type \(type.prefix(100))"
    case .violation(let what): "the server broke the protocol: \(what)"
    case .network(let what, _), .untrusted(let what, _), .limit(let what), .dropped(let what): what
    case .handshakeTimeout(let time, let stage):
      "\(stage?.inWords ?? "no connection") within \(time.inWords)"
    case .noPong(let time): "no pong for \(time.inWords)"
    case .silent(let time): "the server sent nothing for \(time.inWords)"
    case .invalidRequest(let what): "cannot request the stream: \(what)"
    }
  }

  var retryAfter: Duration? {
    guard case .refused(_, _, let wait) = self else { return nil }
    return wait
  }
}

/// The progress of an attempt to connect.
public enum ConnectionStage: Sendable, Equatable {
  /// The name is being resolved.
  case resolving
  case connecting
  /// The proxy of this URL is being connected to.
  case reachingProxy(String)
  /// The proxy of this URL was asked to connect.
  case tunnelling(proxy: String)
  /// The TLS handshake is in progress.
  case securing
  /// The upgrade was requested, and `received` bytes of the response came.
  case upgrading(received: Int)
  /// The socket speaks WebSocket; `connection_established` is missing.
  case greeting
  /// An event stream was requested, and `received` bytes of the response's head came.
  case asking(received: Int)

  var inWords: String {
    switch self {
    case .resolving: "the host name was not resolved"
    case .connecting: "no connection"
    case .reachingProxy(let proxy): "no connection to proxy \(proxy)"
    case .tunnelling(let proxy): "proxy \(proxy) did not answer"
    case .securing: "the server accepted the connection, but did not finish the TLS handshake"
    case .upgrading(0): "the server accepted the connection, but did not answer the upgrade"
    case .upgrading(let received):
      "the server did not finish its answer to the upgrade (\(received) bytes received)"
    case .greeting: "the server upgraded, but sent no connection_established"
    case .asking(0): "the server accepted the connection, but did not answer the request"
    case .asking(let received):
      "the server did not finish the head of its answer (\(received) bytes received)"
    }
  }
}

/// The part of the network that failed, if that helps a user.
public enum NetworkProblem: Sendable, Equatable {
  case unknownName
  /// Nobody listens on the port.
  case connectionRefused
  /// The proxy refused to connect to the server.
  case proxy
  /// The other side closed the connection during the TLS handshake.
  case handshakeClosed
  /// The other side fell silent during the TLS handshake.
  case handshakeSilent
  /// The received bytes are not a TLS handshake.
  case notTLS
  /// The received bytes are TLS, not HTTP.
  case onlyTLS
  /// The other side closed the connection before it answered.
  case noAnswer
  /// The same, and TLS had agreed on no version of HTTP.
  case noAgreedProtocol
}

/// The reason why one side did not trust the other.
public enum TrustProblem: Sendable, Equatable {
  /// The server's certificate is expired, for another host, or otherwise unfit.
  case certificate
  /// No trusted authority signed the server's certificate.
  case unknownAuthority
  /// The server's public key is not pinned.
  case publicKey
  /// The server rejected our certificate or its absence.
  case clientCertificate
}

extension Duration {
  /// The duration for people: `20 ms`, `1.2 s`, `30 s`, `5 min`.
  package var inWords: String {
    let nanoseconds = wholeNanoseconds
    if (1..<95_000_000).contains(nanoseconds) {
      return "\(max((nanoseconds + 500_000) / 1_000_000, 1)) ms"
    }
    let (tenths, rest) = wholeNanoseconds.quotientAndRemainder(dividingBy: 100_000_000)
    return Self.inWords(tenths: rest >= 50_000_000 ? tenths + 1 : tenths)
  }

  private static func inWords(tenths: Int64) -> String {
    if tenths >= 1200, tenths % 600 == 0 { return "\(tenths / 600) min" }
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}

/// An event of the connection of a session, for both protocols.
package enum ConnectionEvent: Equatable, Sendable {
  /// An event stream has begun; a channels' connection reports its socket instead.
  case opened
  /// The server agreed to the upgrade of a channels' connection; its greeting follows.
  case upgraded
  case redirected(status: Int, to: String)
  case reconnectionTime(Duration)
  /// The connection is lost; the next attempt starts after `retryIn`, `nil` for none.
  ///
  /// `code` is the 4xxx code of the Pusher protocol that explains it; `attempt` counts from 1.
  case disconnected(ConnectionLoss, code: Int?, retryIn: Duration?, attempt: Int)
  /// An event stream begins after the event `after`, not after the one that was asked for; a gap
  /// follows.
  case resumedElsewhere(after: String, insteadOf: String)
  /// Events come again; events between the two times may be lost.
  case gap(from: Instant, to: Instant)
  case ended(ConnectionEnd)
}

package enum ConnectionEnd: Equatable, Sendable {
  case asked
  /// The server answered 204: no events will come, now or later.
  case finished
  /// A retry cannot help; with the 4xxx code of the reason.
  case lost(ConnectionLoss, code: Int?)
  /// `attempts` attempts in a row failed; with the last loss.
  case retriesExhausted(ConnectionLoss, code: Int?, attempts: Int)
}
