/// The way to a server: its name and port, the proxy, and the kinds of address.
package struct Route: Sendable, Equatable {
  /// A name, or an address without brackets.
  package var host: String
  package var port: UInt16
  /// The proxy; `nil` for none.
  package var proxy: Proxy?
  /// Whether the proxy takes the requests themselves and makes connections of its own for them, as HTTP proxies do for
  /// `http` (RFC 9112 section 3.2.2); else it is asked to connect to the server.
  package var isForwarded = false
  /// For our own connection, to the server or to the proxy.
  package var families: AddressFamilies

  package init(
    host: String, port: UInt16, proxy: Proxy? = nil, families: AddressFamilies = .any
  ) {
    (self.host, self.port, self.proxy, self.families) = (host, port, proxy, families)
  }
}

/// The routes to servers: the user's and the environment's proxies and kinds of address.
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
    (self.secureProxy, self.plainProxy) = (secureProxy, plainProxy)
    (self.exceptions, self.families) = (exceptions, families)
  }

  /// What an environment says: `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, else `ALL_PROXY`, and `NO_PROXY`, each
  /// in lower case first; an empty one counts as unset.
  ///
  /// Beside `REQUEST_METHOD` only `http_proxy` counts: a CGI server puts a request's field "Proxy" into `HTTP_PROXY`,
  /// which anybody can set.
  ///
  /// - Parameters:
  ///   - proxy: The proxy for every server, whatever the environment says; empty for none, `nil` to use the
  ///     environment.
  ///   - origin: What an error calls `proxy`.
  /// - Throws: ``RoutingError`` for an invalid proxy URL.
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

/// An option or variable with an invalid proxy URL; the message repeats no part of it.
package struct RoutingError: Error, Equatable, CustomStringConvertible {
  package let origin: String
  package let reason: ProxyURLError

  package var description: String { "\(origin) is not a proxy's URL: \(reason)" }
}

// Requests that an HTTP proxy forwards (RFC 9112 section 3.2.2), and the proxy's own answers.
extension Route {
  /// The proxy that takes the requests themselves; `nil` for none.
  package var forwarder: Proxy? { isForwarded ? proxy : nil }

  /// Why the proxy did not forward a request, when `answer` tells for certain that it did not.
  ///
  /// 403 and 5xx may come from the server or the proxy; the caller decides.
  package func refusal(_ answer: HTTPResponseHead) -> TransportError? {
    guard let proxy = forwarder else { return nil }
    if answer.status == 407 {
      return .proxy(proxy.description, .init(wanting: answer, credentials: proxy.credentials))
    }
    // tinyproxy answers wrong credentials with 401: a page in HTTP/1.0, without the field that a proxy adds to what it
    // forwards (RFC 9110 section 7.6.3).
    let isPage = answer.headers["Content-Type"]?.hasPrefix("text/html") == true
    let isOwn = answer.headers["Via"] == nil && answer.minorVersion == 0 && isPage
    guard answer.status == 401, isOwn, proxy.credentials != nil else { return nil }
    return .proxy(proxy.description, .credentialsRefused)
  }
}

extension ProxyCredentials {
  /// What a field with Basic credentials holds (RFC 7617).
  var basic: String { "Basic \(Base64.encode([UInt8]("\(user):\(password)".utf8)))" }
}

extension ProxyError {
  /// What a 407 asks for (RFC 9110 section 11.7.1).
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
