/// Negotiates with a proxy until the tunnel is open, without I/O.
///
/// An HTTP proxy gets a `CONNECT` (RFC 9110 section 9.3.6, RFC 7617), a SOCKS proxy the exchange of
/// RFC 1928, also with a password (RFC 1929).
package final class ProxyNegotiation {
  /// Limits of each head of an HTTP proxy, interim responses included.
  package static let limits = HTTPHeadLimits(bytes: 16_384, headers: 128)
  package static let interimLimit = 8
  private static let nameLimit = 255

  private enum State {
    /// An HTTP proxy was asked.
    case connecting(HTTPHeadParser, interimCount: Int)
    case greeted
    case authenticating
    case asked
  }

  // Methods of authentication (RFC 1928 section 3).
  private static let (noMethod, password, refused): (UInt8, UInt8, UInt8) = (0, 2, 0xFF)

  private let host: String
  private let port: UInt16
  private let address: SocketAddress?
  private let credentials: ProxyCredentials?
  private var state: State
  package let output = ByteBuffer(capacity: 512)

  /// Starts the negotiation; the proxy resolves `host` unless `address` is known.
  ///
  /// Credentials go with the first request, since a refusal would cost a connection.
  package init(
    proxy: Proxy, host: String, port: UInt16, address: SocketAddress?
  ) throws(ProxyError) {
    (self.host, self.port, self.address) = (host, port, address)
    credentials = proxy.credentials
    switch proxy.kind {
    case .http:
      state = .connecting(HTTPHeadParser(limits: Self.limits), interimCount: 0)
      var headers = HTTPHeaders([("Host", destination)])
      if let credentials { headers.append("Proxy-Authorization", credentials.basic) }
      do throws(HTTPError) {
        output.append(
          try HTTPRequestHead(method: "CONNECT", target: destination, headers: headers).encode())
      } catch { throw .invalidName("\(error)") }
    case .socks5, .socks5h:
      state = .greeted
      guard address != nil || (1...Self.nameLimit).contains(host.utf8.count) else {
        throw .invalidName("SOCKS names have 1 to \(Self.nameLimit) bytes")
      }
      output.append(
        credentials == nil ? [5, 1, Self.noMethod] : [5, 2, Self.noMethod, Self.password])
    }
  }

  private var destination: String { "\(HTTPURL.bracketed(host)):\(port)" }

  /// Parses the proxy's answers, and returns true once the tunnel is open, with only the server's
  /// bytes left in `input`.
  ///
  /// Between calls, only append to `input`.
  package func receive(from input: ByteBuffer) throws(ProxyError) -> Bool {
    while true {
      switch state {
      case .connecting(var parser, let count):
        let head: HTTPResponseHead?
        do throws(HTTPError) {
          head = try parser.response(from: input)
        } catch { throw .invalidAnswer("\(error)") }
        state = .connecting(parser, interimCount: head == nil ? count : count + 1)
        guard let head else { return false }
        // Fields for a body's length mean nothing here (RFC 9110 section 9.3.6).
        if head.isSuccess { return true }
        guard (100..<200).contains(head.status), head.status != 101 else {
          throw refusal(head)
        }
        guard count < Self.interimLimit else {
          throw .invalidAnswer("more than \(Self.interimLimit) interim answers")
        }
      case .greeted:
        guard input.count >= 1 else { return false }
        guard input.view[0] == 5 else { throw .invalidAnswer("it does not speak SOCKS 5") }
        guard input.count >= 2 else { return false }
        try choose(input.view[1])
        input.consume(2)
      case .authenticating:
        guard input.count >= 2 else { return false }
        guard input.view[0] == 1 else { throw .invalidAnswer("it does not speak RFC 1929") }
        guard input.view[1] == 0 else { throw .credentialsRefused }
        input.consume(2)
        ask()
      case .asked:
        guard let length = try replyLength(input.view), input.count >= length else { return false }
        input.consume(length)
        return true
      }
    }
  }

  private func refusal(_ head: HTTPResponseHead) -> ProxyError {
    switch head.status {
    case 407: ProxyError(wanting: head, credentials: credentials)
    // Against RFC 9110, tinyproxy answers wrong credentials with 401.
    case 401 where credentials != nil: .credentialsRefused
    default:
      .refused(
        destination: destination, status: head.status, reason: String(head.reason.prefix(100)))
    }
  }

  /// Handles the method chosen by the proxy (RFC 1928 section 3).
  private func choose(_ method: UInt8) throws(ProxyError) {
    switch (method, credentials) {
    case (Self.noMethod, _): ask()
    case (Self.password, let credentials?):
      let user = [UInt8](credentials.user.utf8.prefix(255))
      let password = [UInt8](credentials.password.utf8.prefix(255))
      output.append([1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
      state = .authenticating
    case (Self.refused, nil): throw .credentialsMissing
    case (Self.refused, _?): throw .unsupportedAuthentication(offered: "another method")
    default: throw .invalidAnswer("it chose method \(method), which was not offered")
    }
  }

  private func ask() {
    output.append([5, 1, 0])
    switch address?.family {
    case .ipv4: output.append(UInt8(1))
    case .ipv6: output.append(UInt8(4))
    case nil: output.append([3, UInt8(truncatingIfNeeded: host.utf8.count)])
    }
    output.append(address?.octets ?? [UInt8](host.utf8))
    output.append([UInt8(port >> 8), UInt8(port & 255)])
    state = .asked
  }

  /// Returns the reply's length (RFC 1928 section 6) once it is known; throws a refusal at once.
  private func replyLength(_ reply: ByteView) throws(ProxyError) -> Int? {
    guard reply.count >= 1 else { return nil }
    guard reply[0] == 5 else { throw .invalidAnswer("its reply is not SOCKS 5") }
    guard reply.count >= 2 else { return nil }
    guard reply[1] == 0 else { throw .socksRefused(destination: destination, reply: reply[1]) }
    guard reply.count >= 4 else { return nil }
    switch reply[3] {
    case 1: return 10
    case 4: return 22
    case 3: return reply.count >= 5 ? 7 + Int(reply[4]) : nil
    default: throw .invalidAnswer("its reply has an unknown address type, \(reply[3])")
    }
  }
}

/// A proxy's failure to connect to the server; the description follows the proxy's name.
package enum ProxyError: Error, Equatable, CustomStringConvertible {
  case unreachable(String)
  case refused(destination: String, status: Int, reason: String)
  case credentialsMissing
  case credentialsRefused
  case unsupportedAuthentication(offered: String)
  /// With the reply's number (RFC 1928 section 6).
  case socksRefused(destination: String, reply: UInt8)
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
    case .socksRefused(let destination, let reply):
      "refused to connect to \(destination): \(Self.words(reply)) (SOCKS reply \(reply))"
    case .invalidName(let reason): "cannot reach this server: \(reason)"
    case .invalidAnswer(let reason): "sent an invalid answer: \(reason)"
    case .endedEarly: "closed the connection before its answer was complete"
    case .lost(let reason): "dropped the connection: \(reason)"
    case .timedOut: "did not answer in time"
    }
  }

  private static func words(_ reply: UInt8) -> String {
    switch reply {
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
  }
}
