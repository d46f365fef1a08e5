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
