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
  /// Percent-decodes user and password. Throws ``ProxyURLError``, which repeats no part of the
  /// text.
  package init(parsing text: String) throws(ProxyURLError) {
    let mark = text.range(ofBytes: "://")
    let scheme = mark.map { text[..<$0.lowerBound].lowercased() } ?? Kind.http.rawValue
    guard let kind = Kind(rawValue: scheme) else { throw ProxyURLError(scheme: scheme) }
    let url: HTTPURL
    let rest = mark.map { text[$0.upperBound...] } ?? text[...]
    do throws(HTTPError) {
      url = try HTTPURL(parsing: "http://\(rest)")
    } catch {
      throw ProxyURLError("\(error)")
    }
    guard url.path == "/", url.query == nil else { throw ProxyURLError("it has a path") }
    self.init(
      kind: kind, host: url.host,
      port: Self.namesPort(rest) ? UInt16(clamping: url.port) : Self.defaultPort,
      credentials: try url.userInfo.map { info throws(ProxyURLError) in
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
  package var description: String {
    "\(kind.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }
}

/// Credentials for a proxy; no description shows them.
package struct ProxyCredentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  package let user: String
  package let password: String

  package init(user: String, password: String) { (self.user, self.password) = (user, password) }

  fileprivate init(parsing text: String, for kind: Proxy.Kind) throws(ProxyURLError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let user = PercentEncoding.decode(String(parts[0])),
      let password = PercentEncoding.decode(parts.count > 1 ? String(parts[1]) : "")
    else { throw ProxyURLError("user or password is not percent-encoded UTF-8") }
    switch kind {
    case .http:
      guard !user.contains(":") else {
        throw ProxyURLError("the user name has a colon, which HTTP does not allow")
      }
    case .socks5, .socks5h:
      guard (1...255).contains(user.utf8.count), (0...255).contains(password.utf8.count) else {
        throw ProxyURLError("the user name must have 1 to 255 bytes, the password at most 255")
      }
    }
    self.init(user: user, password: password)
  }

  package var description: String { "<credentials>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

package struct ProxyURLError: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ reason: String) { description = reason }

  init(scheme: String) {
    switch scheme {
    case "https": description = "TLS to the proxy itself is not supported; use http://"
    case "socks", "socks4", "socks4a":
      description = "only version 5 of SOCKS is supported; use socks5h://"
    default: description = "its scheme is not http, socks5h or socks5"
    }
  }
}
