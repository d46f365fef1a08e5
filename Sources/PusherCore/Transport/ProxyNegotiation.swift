/// The negotiation with a proxy of either kind until the server can be reached; a machine without I/O.
package final class ProxyNegotiation {
  private enum Tunnel {
    case http(HTTPTunnel)
    case socks(SOCKSTunnel)
  }

  private var tunnel: Tunnel
  /// What is to be sent.
  package let output = ByteBuffer(capacity: 512)

  /// Begins the negotiation; ``output`` holds its first bytes.
  ///
  /// - Parameters:
  ///   - host: The server, which the proxy looks up unless it gets the address.
  ///   - address: The server's address, where it is known.
  package init(
    proxy: Proxy, host: String, port: UInt16, address: SocketAddress?
  ) throws(ProxyError) {
    switch proxy.kind {
    case .http:
      let tunnel = HTTPTunnel(host: host, port: port, credentials: proxy.credentials)
      output.append(try tunnel.request())
      self.tunnel = .http(tunnel)
    case .socks5, .socks5h:
      let tunnel = SOCKSTunnel(
        host: host, port: port, address: address, credentials: proxy.credentials)
      output.append(try tunnel.greeting())
      self.tunnel = .socks(tunnel)
    }
  }

  /// Takes what has come off the front of `input`; true when the way is open and the rest is the server's.
  package func receive(from input: ByteBuffer) throws(ProxyError) -> Bool {
    switch tunnel {
    case .http(var tunnel):
      defer { self.tunnel = .http(tunnel) }
      return try tunnel.receive(from: input)
    case .socks(var tunnel):
      defer { self.tunnel = .socks(tunnel) }
      return try tunnel.receive(from: input, sending: output)
    }
  }
}
