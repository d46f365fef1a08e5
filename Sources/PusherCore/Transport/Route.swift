package struct Route: Sendable, Equatable {
  /// A name, or an address without brackets.
  package var host: String
  package var port: UInt16
  package var proxy: Proxy?
  /// True if the proxy forwards requests (RFC 9112 section 3.2.2), false for a tunnel.
  package var isForwarded = false
  package var families: AddressFamilies

  package init(host: String, port: UInt16, proxy: Proxy? = nil, families: AddressFamilies = .any) {
    (self.host, self.port, self.proxy, self.families) = (host, port, proxy, families)
  }
}

package struct Routing: Sendable, Equatable {
  /// For `https` and `wss`.
  package var secureProxy: Proxy?
  /// For `http` and `ws`.
  package var plainProxy: Proxy?
  package var exceptions: ProxyExceptions
  package var families: AddressFamilies

  /// Without arguments, connects directly to all servers.
  package init(
    secureProxy: Proxy? = nil, plainProxy: Proxy? = nil,
    exceptions: ProxyExceptions = ProxyExceptions(""), families: AddressFamilies = .any
  ) {
    (self.secureProxy, self.plainProxy) = (secureProxy, plainProxy)
    (self.exceptions, self.families) = (exceptions, families)
  }

  /// Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, lower case first; skips empty
  /// ones.
  ///
  /// With `REQUEST_METHOD` set, `HTTP_PROXY` does not count: a CGI server fills it from a request's
  /// field "Proxy", which any client can set. `proxy` replaces the environment's proxies (empty for
  /// no proxy) and is called `origin` in errors. Throws ``RoutingError`` for an invalid proxy URL.
  package init(
    proxy: String? = nil, calledBy origin: String = "proxy", environment: [String: String]
  ) throws(RoutingError) {
    func variable(_ names: String...) -> (name: String, value: String)? {
      names.lazy.flatMap { [$0.lowercased(), $0] }.compactMap { name in
        environment[name].flatMap { $0.isEmpty ? nil : (name, $0) }
      }.first
    }
    func named(_ setting: (name: String, value: String)?) throws(RoutingError) -> Proxy? {
      guard let setting else { return nil }
      do throws(ProxyURLError) {
        return try Proxy(parsing: setting.value)
      } catch {
        throw RoutingError(origin: setting.name, reason: error)
      }
    }
    self.init(exceptions: ProxyExceptions(variable("NO_PROXY")?.value ?? ""))
    if let proxy {
      guard !proxy.isEmpty else { return }
      secureProxy = try named((origin, proxy))
      plainProxy = secureProxy
      return
    }
    let general = try named(variable("ALL_PROXY"))
    secureProxy = try named(variable("HTTPS_PROXY")) ?? general
    let isCGI = environment["REQUEST_METHOD"]?.isEmpty == false
    plainProxy = try named(variable(isCGI ? "http_proxy" : "HTTP_PROXY")) ?? general
  }

  package func route(to url: HTTPURL) -> Route {
    let port = UInt16(clamping: url.port)
    var proxy = url.isSecure ? secureProxy : plainProxy
    if proxy != nil && exceptions.contains(host: url.host, port: port) { proxy = nil }
    var route = Route(host: url.host, port: port, proxy: proxy, families: families)
    route.isForwarded = proxy?.kind == .http && url.scheme == .http
    return route
  }
}

/// An invalid proxy URL in an option or variable; the message repeats no part of it.
package struct RoutingError: Error, Equatable, CustomStringConvertible {
  package let origin: String
  package let reason: ProxyURLError

  package var description: String { "\(origin) is not a proxy URL: \(reason)" }
}

// Requests that an HTTP proxy forwards (RFC 9112 section 3.2.2), and the proxy's own answers.
extension Route {
  package var forwarder: Proxy? { isForwarded ? proxy : nil }

  /// Returns the error of a response that certainly comes from the proxy; 403 and 5xx may not.
  package func refusal(_ answer: HTTPResponseHead) -> TransportError? {
    guard let proxy = forwarder else { return nil }
    if answer.status == 407 {
      return .proxy(proxy.description, .init(wanting: answer, credentials: proxy.credentials))
    }
    // tinyproxy answers wrong credentials with a 401 page in HTTP/1.0, without the field `Via` of
    // forwarded responses (RFC 9110 section 7.6.3).
    let isPage = answer.headers["Content-Type"]?.hasPrefix("text/html") == true
    let isOwn = answer.headers["Via"] == nil && answer.minorVersion == 0 && isPage
    guard answer.status == 401, isOwn, proxy.credentials != nil else { return nil }
    return .proxy(proxy.description, .credentialsRefused)
  }
}

extension ProxyCredentials {
  var basic: String { "Basic \(Base64.encode([UInt8]("\(user):\(password)".utf8)))" }
}

extension ProxyError {
  /// Reads the authentication schemes of a 407 (RFC 9110 section 11.7.1).
  init(wanting answer: HTTPResponseHead, credentials: ProxyCredentials?) {
    let schemes = answer.headers.all("Proxy-Authenticate").compactMap {
      $0.split(whereSeparator: { " \t,".contains($0) }).first.map(String.init)
    }
    if !schemes.isEmpty, !schemes.contains(where: { $0.lowercased() == "basic" }) {
      self = .unsupportedAuthentication(
        offered: String(schemes.joined(separator: ", ").prefix(100)))
    } else {
      self = credentials == nil ? .credentialsMissing : .credentialsRefused
    }
  }
}
