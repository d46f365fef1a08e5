/// Who has to act when something went wrong.
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

/// Why a connection ended or could not be made: a WebSocket's or an event stream's.
public enum ConnectionLoss: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server closed the socket, with the code and reason of its close frame; no code when it sent none.
  case closed(code: Int?, reason: String)
  /// The server ended the event stream, as it may; the next stream continues there.
  case ended
  /// The server closed the connection of an event stream without an end mark: it may be incomplete.
  ///
  /// That is so where an answer has neither chunks nor a length, and the connection no TLS (RFC 9112 section 6.3).
  case endedUnmarked
  /// The server answered with an unexpected status, and may ask to wait before the next attempt.
  case refused(status: Int, reason: String, retryAfter: Duration? = nil)
  /// The answer is of another type than `text/event-stream`; `nil` when it names none.
  case notAnEventStream(contentType: String?)
  /// The server broke a rule of a protocol, or sent a redirect that must not be followed.
  case violation(String)
  /// Name service, connection or TLS failed, or the connection was lost; the text names the failure and the peer.
  case network(String, NetworkProblem? = nil)
  /// One side did not accept the other's certificate.
  case untrusted(String, TrustProblem = .certificate)
  /// No `connection_established`, or no head of an event stream, within this time; with the stage, if it is known.
  case handshakeTimeout(Duration, ConnectionStage? = nil)
  /// No answer to a ping within this time.
  case noPong(Duration)
  /// Nothing came on an event stream for this time.
  case silent(Duration)
  /// A line or an event of an event stream is larger than is allowed; the text names the limit.
  case limit(String)
  /// The connection was given up from this side.
  case dropped(String)
  /// The request cannot be made.
  case invalidRequest(String)

  /// Who has to act.
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

  /// What happened, in the words of a message to the user.
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
    case .notAnEventStream(nil): "the answer is not an event stream: it names no type"
    case .notAnEventStream(let type?):
      "the answer is not an event stream, but of type \(type.prefix(100))"
    case .violation(let what): "the server broke the protocol: \(what)"
    case .network(let what, _), .untrusted(let what, _), .limit(let what), .dropped(let what): what
    case .handshakeTimeout(let time, let stage):
      "\(stage?.inWords ?? "no connection") within \(time.inWords)"
    case .noPong(let time): "no pong for \(time.inWords)"
    case .silent(let time): "nothing came for \(time.inWords)"
    case .invalidRequest(let what): "cannot ask for the stream: \(what)"
    }
  }

  /// The wait that the server asks for.
  var retryAfter: Duration? {
    guard case .refused(_, _, let wait) = self else { return nil }
    return wait
  }
}

/// How far an attempt to connect has come.
public enum ConnectionStage: Sendable, Equatable {
  /// The name is being looked up.
  case resolving
  case connecting
  /// The proxy of this URL is being dialled.
  case reachingProxy(String)
  /// The proxy of this URL was asked to connect.
  case tunnelling(proxy: String)
  /// The TLS handshake goes on.
  case securing
  /// The upgrade was asked for, and so many bytes of the answer have come.
  case upgrading(received: Int)
  /// The socket speaks WebSocket; `connection_established` is missing.
  case greeting
  /// An event stream was asked for, and so many bytes of the answer's head have come.
  case asking(received: Int)

  /// The beginning of the message; the time follows.
  var inWords: String {
    switch self {
    case .resolving: "the host name was not resolved"
    case .connecting: "no connection"
    case .reachingProxy(let proxy): "no connection to proxy \(proxy)"
    case .tunnelling(let proxy): "proxy \(proxy) gave no answer"
    case .securing: "the server accepted the connection, but the TLS handshake was not done"
    case .upgrading(0): "the server accepted the connection, but did not answer the upgrade"
    case .upgrading(let received):
      "the server did not finish its answer to the upgrade (\(received) bytes came)"
    case .greeting: "the server upgraded, but sent no connection_established"
    case .asking(0): "the server accepted the connection, but did not answer the request"
    case .asking(let received):
      "the server did not finish the head of its answer (\(received) bytes came)"
    }
  }
}

/// The part of the network that failed, if that helps a user.
public enum NetworkProblem: Sendable, Equatable {
  /// The server's name has no address.
  case unknownName
  /// The proxy refused to connect to the server.
  case proxy
  /// The other side ended the connection inside the TLS handshake.
  case handshakeClosed
  /// The other side fell silent inside the TLS handshake.
  case handshakeSilent
  /// The bytes that came are not a TLS handshake.
  case notTLS
  /// The bytes that came belong to TLS, not HTTP.
  case onlyTLS
  /// The other side ended the connection before it answered.
  case noAnswer
}

/// Why one side did not trust the other.
public enum TrustProblem: Sendable, Equatable {
  /// The server's certificate is expired, for another host, or otherwise not fit.
  case certificate
  /// No trusted authority signed the server's certificate.
  case unknownAuthority
  /// The server's public key is not one of the pinned keys.
  case publicKey
  /// The server wants a certificate of ours, or did not accept the one it got.
  case clientCertificate
}

extension Duration {
  /// The time as people write it: `20 ms`, `1.2 s`, `30 s`, `5 min`.
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

/// What happens to the connection of a session of either protocol.
package enum ConnectionEvent: Equatable, Sendable {
  /// An event stream has begun; a channels' connection reports its socket instead.
  case opened
  /// The server has agreed to the upgrade of a channels' connection; its greeting follows.
  case upgraded
  /// The server redirected the request, which is sent there now; the URL has no query.
  case redirected(status: Int, to: String)
  /// An event stream named the wait before a new attempt.
  case reconnectionTime(Duration)
  /// The connection is gone; a new one is dialled after `retryIn`, or none when that is `nil`.
  ///
  /// `code` is the 4xxx code of the Pusher protocol that explains it, `attempt` counts from 1.
  case disconnected(ConnectionLoss, code: Int?, retryIn: Duration?, attempt: Int)
  /// Events come again; events between the two times may be lost.
  case gap(from: Instant, to: Instant)
  /// The session is over.
  case ended(ConnectionEnd)
}

/// How a session ended.
package enum ConnectionEnd: Equatable, Sendable {
  /// This side ended it.
  case asked
  /// The server answered 204: there is nothing more to come, now or later.
  case finished
  /// Trying again cannot help; with the 4xxx code that says why.
  case lost(ConnectionLoss, code: Int?)
  /// This many attempts in a row failed; with the last loss.
  case retriesExhausted(ConnectionLoss, code: Int?, attempts: Int)
}
