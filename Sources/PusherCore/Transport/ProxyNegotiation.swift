/// Negotiates with a proxy of any kind until the tunnel is open, without I/O.
package final class ProxyNegotiation {
  private enum Tunnel {
    case http(HTTPTunnel)
    case socks(SOCKSTunnel)
  }

  private var tunnel: Tunnel
  package let output = ByteBuffer(capacity: 512)

  /// Starts the negotiation; the proxy resolves `host` unless `address` is known.
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

  /// Parses received bytes; returns true once the tunnel is open, with only the server's bytes
  /// left.
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
