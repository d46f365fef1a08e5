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
