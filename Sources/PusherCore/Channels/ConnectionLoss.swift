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

/// Why a connection ended, or never came to be.
public enum ConnectionLoss: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server closed the socket, with the code and reason of its close frame; no code when it sent none.
  case closed(code: Int?, reason: String)
  /// The server answered the upgrade with something other than 101.
  case refused(status: Int, reason: String)
  /// The server broke a rule of a protocol.
  case violation(String)
  /// Name service, connection or TLS failed; the text says what, to whom.
  case network(String)
  /// The certificate or its host name was not accepted.
  case untrusted(String)
  /// No `connection_established` within this time.
  case handshakeTimeout(Duration)
  /// No answer to a ping within this time.
  case noPong(Duration)
  /// The connection was given up from this side.
  case dropped(String)

  /// Who has to act.
  public var fault: Fault {
    switch self {
    case .closed(let code?, _) where (4000..<5000).contains(code): .peer
    case .refused, .violation: .peer
    case .closed, .network, .untrusted, .handshakeTimeout, .noPong, .dropped: .network
    }
  }

  /// What happened, in the words of a message to the user.
  public var description: String {
    switch self {
    case .closed(nil, ""): "the server closed the connection without a reason"
    case .closed(nil, let reason): "the server closed the connection: \(reason)"
    case .closed(let code?, ""): "closed by the server with code \(code)"
    case .closed(let code?, let reason): "closed by the server with code \(code): \(reason)"
    case .refused(let status, let reason):
      "the server answered HTTP \(status)\(reason.isEmpty ? "" : " (\(reason))")"
    case .violation(let what): "the server broke the protocol: \(what)"
    case .network(let what), .untrusted(let what), .dropped(let what): what
    case .handshakeTimeout(let time): "no connection within \(time.inWords)"
    case .noPong(let time): "no pong for \(time.inWords)"
    }
  }
}

extension Duration {
  /// The time as people write it: `1.2 s`, `30 s`, `5 min`.
  package var inWords: String {
    let (tenths, rest) = wholeNanoseconds.quotientAndRemainder(dividingBy: 100_000_000)
    return Self.inWords(tenths: rest >= 50_000_000 ? tenths + 1 : tenths)
  }

  private static func inWords(tenths: Int64) -> String {
    if tenths >= 1200, tenths % 600 == 0 { return "\(tenths / 600) min" }
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}
