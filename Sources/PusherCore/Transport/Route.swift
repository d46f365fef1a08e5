/// The way to a server: its name and port, who makes the connection, and over which kinds of address.
package struct Route: Sendable, Equatable {
  /// A name, or an address without brackets.
  package var host: String
  package var port: UInt16
  /// Who connects for us; `nil` for nobody.
  package var proxy: Proxy?
  /// Whether the proxy takes the requests themselves and makes connections of its own for them, as HTTP proxies do for
  /// `http` (RFC 9112 section 3.2.2); else it is asked for a way to the server.
  package var isForwarded = false
  /// For the connection that is made from here, be it to the server or to the proxy.
  package var families: AddressFamilies

  package init(
    host: String, port: UInt16, proxy: Proxy? = nil, families: AddressFamilies = .any
  ) {
    self.host = host
    self.port = port
    self.proxy = proxy
    self.families = families
  }
}

/// Which way leads to which server: what a user or the environment says of proxies and addresses.
package struct Routing: Sendable, Equatable {
  /// For `https` and `wss`.
  package var secureProxy: Proxy?
  /// For `http` and `ws`.
  package var plainProxy: Proxy?
  /// Servers that are connected to without a proxy.
  package var exceptions: ProxyExceptions
  package var families: AddressFamilies

  /// Without arguments: directly to everywhere.
  package init(
    secureProxy: Proxy? = nil, plainProxy: Proxy? = nil,
    exceptions: ProxyExceptions = ProxyExceptions(""), families: AddressFamilies = .any
  ) {
    self.secureProxy = secureProxy
    self.plainProxy = plainProxy
    self.exceptions = exceptions
    self.families = families
  }

  /// The way to the server of `url`.
  package func route(to url: HTTPURL) -> Route {
    let port = UInt16(clamping: url.port)
    var proxy = url.isSecure ? secureProxy : plainProxy
    if proxy != nil && exceptions.contains(host: url.host, port: port) { proxy = nil }
    var route = Route(host: url.host, port: port, proxy: proxy, families: families)
    route.isForwarded = proxy?.kind == .http && url.scheme == .http
    return route
  }
}
