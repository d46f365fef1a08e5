package struct Route: Sendable, Equatable, CustomStringConvertible {
  /// A name, or an address without brackets.
  package var host: String
  package var port: UInt16
  package var proxy: Proxy?
  /// True if the proxy forwards requests (RFC 9112 section 3.2.2), false for a tunnel.
  package var isForwarded = false
  package var families: [SocketAddress.Family]

  package init(
    host: String, port: UInt16, proxy: Proxy? = nil,
    families: [SocketAddress.Family] = SocketAddress.Family.both
  ) {
    (self.host, self.port, self.proxy, self.families) = (host, port, proxy, families)
  }

  package var description: String { "\(HTTPURL.bracketed(host)):\(port)" }
}

package struct Routing: Sendable, Equatable {
  /// For `https` and `wss`.
  package var secureProxy: Proxy?
  /// For `http` and `ws`.
  package var plainProxy: Proxy?
  package var exceptions: ProxyExceptions
  package var families: [SocketAddress.Family]

  /// Without arguments, connects directly to all servers.
  package init(
    secureProxy: Proxy? = nil, plainProxy: Proxy? = nil,
    exceptions: ProxyExceptions = ProxyExceptions(""),
    families: [SocketAddress.Family] = SocketAddress.Family.both
  ) {
    (self.secureProxy, self.plainProxy) = (secureProxy, plainProxy)
    (self.exceptions, self.families) = (exceptions, families)
  }

  /// Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, lower case first; skips empty
  /// ones.
  ///
  /// With `REQUEST_METHOD` set, `HTTP_PROXY` does not count: a CGI server fills it from a request's
  /// field "Proxy", which any client can set. `proxy` replaces the environment's proxies (empty for
  /// no proxy) and is called `origin` in errors. Throws ``ExplainedError`` for an invalid URL.
  package init(
    proxy: String? = nil, calledBy origin: String = "proxy", environment: [String: String]
  ) throws(ExplainedError) {
    func variable(_ names: String...) -> (name: String, value: String)? {
      names.lazy.flatMap { [$0.lowercased(), $0] }.compactMap { name in
        environment[name].flatMap { $0.isEmpty ? nil : (name, $0) }
      }.first
    }
    func named(_ setting: (name: String, value: String)?) throws(ExplainedError) -> Proxy? {
      guard let setting else { return nil }
      do throws(ExplainedError) {
        return try Proxy(parsing: setting.value)
      } catch { throw ExplainedError("\(setting.name) is not a proxy URL: \(error)") }
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
    if !schemes.isEmpty, !schemes.contains(where: { ASCII.equalIgnoringCase($0, "basic") }) {
      self = .unsupportedAuthentication(
        offered: String(schemes.joined(separator: ", ").prefix(100)))
    } else {
      self = credentials == nil ? .credentialsMissing : .credentialsRefused
    }
  }
}

package struct Proxy: Sendable, Equatable {
  package enum Kind: String, Sendable {
    /// `CONNECT` of HTTP/1.1 (RFC 9110 section 9.3.6).
    case http
    /// SOCKS 5 (RFC 1928) with names resolved here.
    case socks5
    /// SOCKS 5 with names resolved by the proxy.
    case socks5h
  }

  /// Port for a URL without one, as in curl.
  package static let defaultPort: UInt16 = 1080
  package let kind: Kind
  /// A name, or an address without brackets.
  package let host: String
  package let port: UInt16
  package let credentials: ProxyCredentials?

  package init(
    kind: Kind, host: String, port: UInt16 = defaultPort, credentials: ProxyCredentials? = nil
  ) { (self.kind, self.host, self.port, self.credentials) = (kind, host, port, credentials) }

  /// Parses `[SCHEME://][USER[:PASSWORD]@]HOST[:PORT][/]`; default scheme: `http`.
  ///
  /// Percent-decodes user and password. Throws ``ExplainedError``, which repeats no part of the
  /// text.
  package init(parsing text: String) throws(ExplainedError) {
    let mark = text.range(ofBytes: "://")
    let scheme = mark.map { text[..<$0.lowerBound].lowercased() } ?? Kind.http.rawValue
    guard let kind = Kind(rawValue: scheme) else {
      throw switch scheme {
      case "https": ExplainedError("TLS to the proxy itself is not supported; use http://")
      case "socks", "socks4", "socks4a":
        ExplainedError("only version 5 of SOCKS is supported; use socks5h://")
      default: ExplainedError("its scheme is not http, socks5h or socks5")
      }
    }
    let url: HTTPURL
    let rest = mark.map { text[$0.upperBound...] } ?? text[...]
    do throws(HTTPError) {
      url = try HTTPURL(parsing: "http://\(rest)")
    } catch {
      throw ExplainedError("\(error)")
    }
    guard url.path == "/", url.query == nil else { throw ExplainedError("it has a path") }
    self.init(
      kind: kind, host: url.host,
      port: Self.namesPort(rest) ? UInt16(clamping: url.port) : Self.defaultPort,
      credentials: try url.userInfo.map { info throws(ExplainedError) in
        try ProxyCredentials(parsing: info, for: kind)
      })
  }

  /// Returns whether the authority at the front of a well-formed `text` ends with a port.
  private static func namesPort(_ text: Substring) -> Bool {
    let authority = text.prefix { $0 != "/" && $0 != "#" }
    let name =
      authority.utf8.lastIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "]") }
      ?? authority.startIndex
    return authority[name...].contains(":") && authority.last != ":"
  }
}

extension Proxy: CustomStringConvertible {
  package var description: String { "\(kind.rawValue)://\(HTTPURL.bracketed(host)):\(port)" }
}

/// Credentials for a proxy; no description shows them.
package struct ProxyCredentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  package let user: String
  package let password: String

  package init(user: String, password: String) { (self.user, self.password) = (user, password) }

  fileprivate init(parsing text: String, for kind: Proxy.Kind) throws(ExplainedError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let user = PercentEncoding.decode(String(parts[0])),
      let password = PercentEncoding.decode(parts.count > 1 ? String(parts[1]) : "")
    else { throw ExplainedError("user or password is not percent-encoded UTF-8") }
    switch kind {
    case .http:
      guard !user.contains(":") else {
        throw ExplainedError("the user name has a colon, which HTTP does not allow")
      }
    case .socks5, .socks5h:
      guard (1...255).contains(user.utf8.count), (0...255).contains(password.utf8.count) else {
        throw ExplainedError("the user name must have 1 to 255 bytes, the password at most 255")
      }
    }
    self.init(user: user, password: password)
  }

  package var description: String { "<credentials>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Servers to reach without a proxy, as in `NO_PROXY`.
///
/// Entries are separated by commas or blanks:
/// - A name matches itself and its subdomains, with or without `.` or `*.` in front.
/// - An address matches itself, `ADDRESS/BITS` a network, `*` everything.
/// - `:PORT` after an entry limits it to that port.
/// - Any other entry matches nothing.
///
/// Loopback addresses are not exceptions by default.
package struct ProxyExceptions: Sendable, Equatable {
  private typealias Entry = (place: Place, port: UInt16?)

  private enum Place {
    case everything
    /// In lower case, without dots at its ends.
    case domain(String)
    case network(SocketAddress, bits: Int)
  }

  private let text: String

  package init(_ text: String) { self.text = text }

  package func contains(host: String, port: UInt16) -> Bool {
    guard !text.isEmpty else { return false }
    let address = Resolver.literal(host, port: 0)
    let name = Self.trimmed(host)
    let entries = text.split { $0 == "," || $0.isWhitespace }.compactMap(Self.entry)
    return entries.contains { entry in
      guard entry.port == nil || entry.port == port else { return false }
      switch entry.place {
      case .everything: return true
      case .domain(let domain):
        return address == nil && (name == domain || name.hasSuffix("." + domain))
      case .network(let network, let bits):
        return address.map { Self.isInside($0, network, bits: bits) } ?? false
      }
    }
  }

  private static func entry(_ text: Substring) -> Entry? {
    if text.first == "[" {
      let place = text.dropFirst().prefix { $0 != "]" }
      let rest = text[place.endIndex...].dropFirst()
      if rest.first == ":" { return entry(place, port: rest.dropFirst()) }
      return place.endIndex < text.endIndex ? entry(place + rest, port: nil) : nil
    }
    if let colon = text.firstIndex(of: ":"), colon == text.utf8.lastIndex(of: UInt8(ascii: ":")) {
      return entry(text[..<colon], port: text[colon...].dropFirst())
    }
    return entry(text, port: nil)
  }

  private static func entry(_ text: Substring, port: Substring?) -> Entry? {
    guard let place = place(text) else { return nil }
    guard let port else { return (place, nil) }
    guard let number = UInt16(port), number > 0 else { return nil }
    return (place, number)
  }

  private static func place(_ text: Substring) -> Place? {
    if text == "*" { return .everything }
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    if let address = Resolver.literal(String(parts[0]), port: 0) {
      let length = address.octets.count * 8
      guard parts.count > 1 else { return .network(address, bits: length) }
      guard let bits = Int(parts[1]), (0...length).contains(bits) else { return nil }
      return .network(address, bits: bits)
    }
    let domain = trimmed(text.hasPrefix("*.") ? text.dropFirst() : text)
    return domain.isEmpty || parts.count > 1 ? nil : .domain(domain)
  }

  private static func isInside(_ address: SocketAddress, _ network: SocketAddress, bits: Int)
    -> Bool
  {
    guard address.family == network.family else { return false }
    return zip(address.octets, network.octets).enumerated().allSatisfy { index, pair in
      let count = min(max(bits - index * 8, 0), 8)
      return (pair.0 ^ pair.1) & ~(UInt8.max >> UInt8(count)) == 0
    }
  }

  private static func trimmed(_ name: some StringProtocol) -> String {
    var name = name.lowercased()[...]
    while name.first == "." { name.removeFirst() }
    while name.last == "." { name.removeLast() }
    return String(name)
  }
}
