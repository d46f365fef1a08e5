/// A proxy's failure to connect to the server; the description follows the proxy's name.
package enum ProxyError: Error, Equatable, CustomStringConvertible {
  case unreachable(String)
  case refused(destination: String, status: Int, reason: String)
  case credentialsMissing
  case credentialsRefused
  case unsupportedAuthentication(offered: String)
  case socksRefused(destination: String, SOCKSReply)
  /// The proxy's protocol cannot express the server's name.
  case invalidName(String)
  case invalidAnswer(String)
  /// The connection ended before the complete answer.
  case endedEarly
  /// The connection broke before the complete answer.
  case lost(String)
  case timedOut

  /// True if the server may not be a proxy.
  package var isDoubtful: Bool {
    switch self {
    case .unreachable, .invalidAnswer, .endedEarly, .lost, .timedOut: true
    // Web servers answer CONNECT with these.
    case .refused(_, let status, _): [400, 404, 405, 501].contains(status)
    default: false
    }
  }

  package var description: String {
    switch self {
    case .unreachable(let reason): "cannot be reached: \(reason)"
    case .refused(let destination, let status, let reason):
      "refused to connect to \(destination): HTTP \(status)" + (reason.isEmpty ? "" : " \(reason)")
    case .credentialsMissing: "wants a user name and password"
    case .credentialsRefused: "rejected the user name and password"
    case .unsupportedAuthentication(let offered):
      "wants authentication by \(offered), which is not supported"
    case .socksRefused(let destination, let reply): "refused to connect to \(destination): \(reply)"
    case .invalidName(let reason): "cannot reach this server: \(reason)"
    case .invalidAnswer(let reason): "sent an invalid answer: \(reason)"
    case .endedEarly: "closed the connection before its answer was complete"
    case .lost(let reason): "dropped the connection: \(reason)"
    case .timedOut: "did not answer in time"
    }
  }
}

/// A SOCKS proxy's reply (RFC 1928 section 6); an open set.
package struct SOCKSReply: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let succeeded = SOCKSReply(rawValue: 0)

  package var description: String {
    let words =
      switch rawValue {
      case 0: "succeeded"
      case 1: "general failure"
      case 2: "not allowed by its rules"
      case 3: "network unreachable"
      case 4: "host unreachable"
      case 5: "connection refused"
      case 6: "time to live expired"
      case 7: "command not supported"
      case 8: "address type not supported"
      default: "unknown reason"
      }
    return "\(words) (SOCKS reply \(rawValue))"
  }
}
