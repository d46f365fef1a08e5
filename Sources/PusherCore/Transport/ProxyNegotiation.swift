/// Negotiates with a proxy of any kind until the tunnel is open, without I/O.
package final class ProxyNegotiation {
  private var tunnel: any ProxyTunnel
  package let output = ByteBuffer(capacity: 512)

  /// Starts the negotiation; the proxy resolves `host` unless `address` is known.
  package init(
    proxy: Proxy, host: String, port: UInt16, address: SocketAddress?
  ) throws(ProxyError) {
    switch proxy.kind {
    case .http:
      let tunnel = HTTPTunnel(host: host, port: port, credentials: proxy.credentials)
      output.append(try tunnel.request())
      self.tunnel = tunnel
    case .socks5, .socks5h:
      let tunnel = SOCKSTunnel(
        host: host, port: port, address: address, credentials: proxy.credentials)
      output.append(try tunnel.greeting())
      self.tunnel = tunnel
    }
  }

  /// Parses received bytes; returns true once the tunnel is open.
  package func receive(from input: ByteBuffer) throws(ProxyError) -> Bool {
    try tunnel.receive(from: input, sending: output)
  }
}

protocol ProxyTunnel {
  /// Parses the proxy's answers in `input`, and appends the bytes to send to `output`.
  ///
  /// Returns true once the tunnel is open, with only the server's bytes left in `input`. Between
  /// calls, only append to `input`.
  mutating func receive(from input: ByteBuffer, sending output: ByteBuffer) throws(ProxyError)
    -> Bool
}

/// Asks an HTTP proxy to connect to a server: `CONNECT` (RFC 9110 section 9.3.6, RFC 7617).
///
/// Does no I/O: send ``request()``, then pass received bytes to ``receive(from:sending:)``.
package struct HTTPTunnel: ProxyTunnel {
  /// Limits of each head, interim responses included.
  package static let limits = HTTPHeadLimits(bytes: 16_384, headers: 128)
  package static let interimLimit = 8
  private let destination: String
  private let credentials: ProxyCredentials?
  private var parser = HTTPHeadParser(limits: limits)
  private var interimCount = 0

  /// - Parameter credentials: Sent with the first request, since a refusal would cost a connection.
  package init(host: String, port: UInt16, credentials: ProxyCredentials?) {
    destination = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    self.credentials = credentials
  }

  package func request() throws(ProxyError) -> [UInt8] {
    var headers = HTTPHeaders([("Host", destination)])
    if let credentials { headers.append("Proxy-Authorization", credentials.basic) }
    do throws(HTTPError) {
      return try HTTPRequestHead(method: "CONNECT", target: destination, headers: headers).encode()
    } catch { throw .invalidName("\(error)") }
  }

  mutating func receive(from input: ByteBuffer, sending _: ByteBuffer) throws(ProxyError) -> Bool {
    while let head = try nextHead(from: input) {
      switch head.status {
      // Fields for a body's length mean nothing here (RFC 9110 section 9.3.6).
      case 200..<300: return true
      case 100..<200 where head.status != 101:
        interimCount += 1
        guard interimCount <= Self.interimLimit else {
          throw .invalidAnswer("more than \(Self.interimLimit) interim answers")
        }
      case 407: throw ProxyError(wanting: head, credentials: credentials)
      // Against RFC 9110, tinyproxy answers wrong credentials with 401.
      case 401 where credentials != nil: throw .credentialsRefused
      default:
        throw .refused(
          destination: destination, status: head.status, reason: String(head.reason.prefix(100)))
      }
    }
    return false
  }

  private mutating func nextHead(from input: ByteBuffer) throws(ProxyError) -> HTTPResponseHead? {
    do throws(HTTPError) {
      return try parser.response(from: input)
    } catch { throw .invalidAnswer("\(error)") }
  }
}

/// Asks a SOCKS 5 proxy to connect to a server (RFC 1928), also with a password (RFC 1929).
///
/// Does no I/O: send ``greeting()``, then call ``receive(from:sending:)`` and send its output.
package struct SOCKSTunnel: ProxyTunnel {
  package static let nameLimit = 255

  private enum State {
    case greeted
    case authenticating
    case asked
  }

  private enum Method {
    static let none: UInt8 = 0
    static let password: UInt8 = 2
    static let refused: UInt8 = 0xFF
  }

  private let host: String
  private let port: UInt16
  private let address: SocketAddress?
  private let credentials: ProxyCredentials?
  private var state = State.greeted

  package init(
    host: String, port: UInt16, address: SocketAddress?, credentials: ProxyCredentials?
  ) {
    (self.host, self.port) = (host, port)
    (self.address, self.credentials) = (address, credentials)
  }

  package func greeting() throws(ProxyError) -> [UInt8] {
    guard address != nil || (1...Self.nameLimit).contains(host.utf8.count) else {
      throw .invalidName("SOCKS names have 1 to \(Self.nameLimit) bytes")
    }
    return credentials == nil ? [5, 1, Method.none] : [5, 2, Method.none, Method.password]
  }

  mutating func receive(
    from input: ByteBuffer, sending output: ByteBuffer
  ) throws(ProxyError) -> Bool {
    while true {
      switch state {
      case .greeted:
        guard input.count >= 1 else { return false }
        guard input.view[0] == 5 else { throw .invalidAnswer("it does not speak SOCKS 5") }
        guard input.count >= 2 else { return false }
        try choose(input.view[1], sending: output)
        input.consume(2)
      case .authenticating:
        guard input.count >= 2 else { return false }
        guard input.view[0] == 1 else { throw .invalidAnswer("it does not speak RFC 1929") }
        guard input.view[1] == 0 else { throw .credentialsRefused }
        input.consume(2)
        ask(sending: output)
      case .asked:
        guard let length = try replyLength(input.view), input.count >= length else { return false }
        input.consume(length)
        return true
      }
    }
  }

  /// Handles the method chosen by the proxy (RFC 1928 section 3).
  private mutating func choose(_ method: UInt8, sending output: ByteBuffer) throws(ProxyError) {
    switch (method, credentials) {
    case (Method.none, _): ask(sending: output)
    case (Method.password, let credentials?):
      let user = [UInt8](credentials.user.utf8.prefix(255))
      let password = [UInt8](credentials.password.utf8.prefix(255))
      output.append([1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
      state = .authenticating
    case (Method.refused, nil): throw .credentialsMissing
    case (Method.refused, _?): throw .unsupportedAuthentication(offered: "another method")
    default: throw .invalidAnswer("it chose method \(method), which was not offered")
    }
  }

  private mutating func ask(sending output: ByteBuffer) {
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
    let verdict = SOCKSReply(rawValue: reply[1])
    guard verdict == .succeeded else {
      let name = host.contains(":") ? "[\(host)]" : host
      throw .socksRefused(destination: "\(name):\(port)", verdict)
    }
    guard reply.count >= 4 else { return nil }
    switch reply[3] {
    case 1: return 10
    case 4: return 22
    case 3: return reply.count >= 5 ? 7 + Int(reply[4]) : nil
    default: throw .invalidAnswer("its reply has an unknown address type, \(reply[3])")
    }
  }
}
