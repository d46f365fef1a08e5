/// Asks an HTTP proxy to connect to a server: `CONNECT` (RFC 9110 section 9.3.6), with Basic credentials (RFC 7617).
///
/// A machine without I/O: send ``request()``, then offer received bytes until ``receive(from:)`` is true.
package struct HTTPTunnel {
  /// How much head a proxy may send, interim answers included one by one.
  package static let limits = HTTPHeadLimits(bytes: 16_384, headers: 128)
  /// How many interim answers may come before the real one.
  package static let interimLimit = 8

  private let destination: String
  private let credentials: ProxyCredentials?
  private var parser = HTTPHeadParser(limits: limits)
  private var interimCount = 0

  /// - Parameters:
  ///   - host: The server's name, or its address without brackets.
  ///   - credentials: Sent with the first request, since a refusal would cost a connection.
  package init(host: String, port: UInt16, credentials: ProxyCredentials?) {
    destination = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    self.credentials = credentials
  }

  /// The bytes to send.
  package func request() throws(ProxyError) -> [UInt8] {
    var headers = HTTPHeaders([("Host", destination)])
    if let credentials { headers.append("Proxy-Authorization", credentials.basic) }
    do throws(HTTPError) {
      return try HTTPRequestHead(method: "CONNECT", target: destination, headers: headers).encode()
    } catch {
      throw .invalidName("\(error)")
    }
  }

  /// Takes the answer off the front of `input`; true when the way is open, and what is left comes from the server.
  ///
  /// Between calls, bytes may only be added to `input`.
  package mutating func receive(from input: ByteBuffer) throws(ProxyError) -> Bool {
    while let head = try nextHead(from: input) {
      switch head.status {
      // The fields that tell a body's length mean nothing here (RFC 9110 section 9.3.6).
      case 200..<300: return true
      case 100..<200 where head.status != 101:
        interimCount += 1
        guard interimCount <= Self.interimLimit else {
          throw .invalidAnswer("more than \(Self.interimLimit) interim answers")
        }
      case 407: throw ProxyError(wanting: head, credentials: credentials)
      // Not what RFC 9110 says, but tinyproxy answers wrong credentials so.
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
    } catch {
      throw .invalidAnswer("\(error)")
    }
  }
}
