/// Cookies set by servers, in memory only (RFC 6265).
///
/// Rejects a `Domain` without a dot, so that no top-level domain gets a cookie; public suffixes are
/// not known.
package final class CookieJar {
  private struct Cookie {
    var name: String
    var value: String
    /// Lower case, without a leading dot.
    var domain: String
    var isHostOnly: Bool
    var path: String
    var isSecure = false
    /// `nil` for a cookie of this run.
    var expires: WallTime?
  }

  /// Maximum number of cookies; the oldest is dropped.
  package static let limit = 100
  /// Maximum size of a cookie's name and value, in bytes; a larger cookie is ignored.
  package static let sizeLimit = 4096
  private var cookies: [Cookie] = []

  package init() {}

  package var count: Int { cookies.count }

  package func store(_ headers: HTTPHeaders, from url: HTTPURL, at now: WallTime) {
    for text in headers.all("Set-Cookie") {
      guard let cookie = Self.cookie(text, from: url, at: now) else { continue }
      let place = cookies.firstIndex {
        $0.name.isSame(as: cookie.name) && $0.domain == cookie.domain && $0.path == cookie.path
      }
      let isOver = cookie.expires.map { $0.millisecondsSince1970 <= now.millisecondsSince1970 }
      switch (place, isOver ?? false) {
      case (let place?, true): cookies.remove(at: place)
      case (let place?, false): cookies[place] = cookie
      case (nil, false): cookies.append(cookie)
      case (nil, true): break
      }
      if cookies.count > Self.limit { cookies.removeFirst() }
    }
  }

  /// Returns the value of `Cookie` for a request to `url`, longer paths first.
  package func field(for url: HTTPURL, at now: WallTime) -> String? {
    let host = url.host.lowercased()
    let path = Self.path(of: url)
    let sent = cookies.enumerated().filter { _, cookie in
      (cookie.isHostOnly ? host == cookie.domain : Self.matches(host, domain: cookie.domain))
        && Self.matches(path, cookiePath: cookie.path) && (url.isSecure || !cookie.isSecure)
        && cookie.expires.map { $0.millisecondsSince1970 > now.millisecondsSince1970 } ?? true
    }
    let ordered = sent.sorted {
      ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
    }
    let pairs = ordered.map { "\($0.element.name)=\($0.element.value)" }
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }

  // MARK: One cookie (section 5.2)

  private static func cookie(_ text: String, from url: HTTPURL, at now: WallTime) -> Cookie? {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false)
    guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
    let name = ASCII.trimmed(pair[..<equals])
    let value = ASCII.trimmed(pair[pair.index(after: equals)...])
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= sizeLimit,
      (name + value).utf8.allSatisfy(ASCII.isFieldValue)
    else { return nil }
    var cookie = Cookie(
      name: name, value: value, domain: url.host.lowercased(), isHostOnly: true,
      path: defaultPath(of: url))
    var maxAge: WallTime?
    for part in parts.dropFirst() {
      let word = part.prefix { $0 != "=" }
      let content = ASCII.trimmed(part.dropFirst(word.count + 1))
      switch ASCII.trimmed(word).lowercased() {
      case "expires": cookie.expires = HTTPDate.parse(content, now: now) ?? cookie.expires
      case "max-age": maxAge = time(after: content, now) ?? maxAge
      case "domain": guard limit(&cookie, to: content) else { return nil }
      case "path": if content.utf8.first == UInt8(ascii: "/") { cookie.path = content }
      case "secure": cookie.isSecure = true
      default: break
      }
    }
    cookie.expires = maxAge ?? cookie.expires
    // A server without TLS could otherwise overwrite a cookie of one with TLS.
    if cookie.isSecure, !url.isSecure { return nil }
    return cookie
  }

  /// Extends a cookie to a domain and its subdomains; returns false if that is not allowed.
  private static func limit(_ cookie: inout Cookie, to text: String) -> Bool {
    let domain = (text.utf8.first == UInt8(ascii: ".") ? String(text.dropFirst()) : text)
      .lowercased()
    if domain.isEmpty || domain == cookie.domain { return true }
    guard matches(cookie.domain, domain: domain), domain.utf8.contains(UInt8(ascii: ".")) else {
      return false
    }
    cookie.domain = domain
    cookie.isHostOnly = false
    return true
  }

  /// Returns the time after `seconds`, which may be too large for a number.
  private static func time(after seconds: String, _ now: WallTime) -> WallTime? {
    let isNegative = seconds.utf8.first == UInt8(ascii: "-")
    let digits = isNegative ? seconds.dropFirst() : seconds[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    if isNegative { return now }
    let century: Int64 = 100 * 365 * 86_400
    return now.advanced(by: .seconds(min(Int64(digits) ?? century, century)))
  }

  // MARK: Where it goes (sections 5.1.3 and 5.1.4)

  private static func matches(_ host: String, domain: String) -> Bool {
    if host == domain { return true }
    let isAddress =
      host.utf8.contains(UInt8(ascii: ":"))
      || host.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
    return !isAddress && host.hasSuffix("." + domain)
  }

  private static func matches(_ path: String, cookiePath: String) -> Bool {
    guard path.begins(with: cookiePath) else { return false }
    let rest = path.utf8.dropFirst(cookiePath.utf8.count)
    return rest.isEmpty || cookiePath.utf8.last == UInt8(ascii: "/")
      || rest.first == UInt8(ascii: "/")
  }

  private static func path(of url: HTTPURL) -> String { url.path.isEmpty ? "/" : url.path }

  private static func defaultPath(of url: HTTPURL) -> String {
    let path = path(of: url)
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else {
      return "/"
    }
    return String(path[..<slash])
  }
}

/// The field of an answer that names a session, such as `Mcp-Session-Id`.
///
/// Its value goes back only to the scheme, host and port that gave it, as credentials do.
package final class SessionField {
  package let name: String
  /// False if the value is only shown.
  package let isSent: Bool
  private var given: (value: String, url: HTTPURL)?

  package init(_ name: String, isSent: Bool) { (self.name, self.isSent) = (name, isSent) }

  /// The value of the last answer with the field.
  package var value: String? { given?.value }

  /// Takes the value from the fields of an answer from `url`.
  func store(_ headers: HTTPHeaders, from url: HTTPURL) {
    if let value = headers[name], !value.isEmpty { given = (value, url) }
  }

  /// Returns the value to send to `url`.
  func field(for url: HTTPURL) -> String? {
    guard isSent, let given, given.url.isSameOrigin(as: url) else { return nil }
    return given.value
  }
}
