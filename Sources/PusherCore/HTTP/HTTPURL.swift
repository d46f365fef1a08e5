/// A URL with one of the four supported schemes (RFC 3986, RFC 6455 section 3).
package struct HTTPURL: Sendable, Equatable {
  package enum Scheme: String, Sendable {
    case http
    case https
    case ws
    case wss

    package var isSecure: Bool { self == .https || self == .wss }
    package var defaultPort: Int { isSecure ? 443 : 80 }
  }

  package var scheme: Scheme
  /// A name in lower case, or an address; IPv6 without brackets.
  package var host: String
  package var port: Int
  package var path: String
  /// The part after `?`, still encoded.
  package var query: String?
  /// The part before `@`, still encoded; a secret.
  package var userInfo: String?

  package init(
    scheme: Scheme, host: String, port: Int? = nil, path: String = "/", query: String? = nil,
    userInfo: String? = nil
  ) {
    (self.scheme, self.host) = (scheme, host)
    self.port = port ?? scheme.defaultPort
    (self.path, self.query, self.userInfo) = (path, query, userInfo)
  }

  package var isSecure: Bool { scheme.isSecure }

  /// Returns a prefix for a server's paths: with a slash at its beginning and none at its end, or
  /// empty.
  ///
  /// `nil` for characters that a path cannot have, and for a whole URL, which may hold a password.
  package static func prefix(_ text: String) -> String? {
    guard text.utf8.allSatisfy({ ASCII.isVisible($0) && !"?#".utf8.contains($0) }),
      text.range(ofBytes: "://") == nil
    else { return nil }
    let parts = text.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
    let path = String(decoding: parts.reversed(), as: UTF8.self)
    return path.isEmpty || path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
  }

  package var target: String { query.map { "\(path)?\($0)" } ?? path }

  /// The value of a Host field: the host, and the port unless it is the scheme's default.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == scheme.defaultPort ? name : "\(name):\(port)"
  }

  /// Parses an absolute URL and drops a fragment.
  ///
  /// Throws ``HTTPError/invalidURL(_:)``, which never repeats the user information.
  package init(parsing text: String) throws(HTTPError) {
    guard text.utf8.allSatisfy(ASCII.isVisible) else {
      throw .invalidURL("spaces, control and non-ASCII characters must be percent-encoded")
    }
    guard let mark = text.firstIndex(of: ":"), text[mark...].hasPrefix("://") else {
      throw .invalidURL("it does not begin with http://, https://, ws:// or wss://")
    }
    guard let scheme = Scheme(rawValue: text[..<mark].lowercased()) else {
      throw .invalidURL("its scheme is not http, https, ws or wss")
    }
    let rest = text[mark...].dropFirst(3).prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let target = rest[authority.endIndex...]
    let queryMark = target.firstIndex(of: "?")
    let path = target[..<(queryMark ?? target.endIndex)]
    let at = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
    let place = at.map { authority[$0...].dropFirst() } ?? authority
    let (host, port) = try Self.hostAndPort(place)
    self.init(
      scheme: scheme, host: host, port: port, path: path.isEmpty ? "/" : String(path),
      query: queryMark.map { String(target[$0...].dropFirst()) },
      userInfo: at.map { String(authority[..<$0]) })
  }

  package static func isAuthority(_ text: String) -> Bool { (try? hostAndPort(text[...])) != nil }

  /// Parses a host, into lower case and without brackets, with an optional port.
  package static func hostAndPort(
    _ text: Substring
  ) throws(HTTPError) -> (host: String, port: Int?) {
    let host: Substring
    let rest: Substring
    let bytes = text.utf8
    if bytes.first == UInt8(ascii: "[") {
      guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else {
        throw .invalidURL("a bracket is not closed")
      }
      host = Substring(bytes[..<close].dropFirst())
      rest = Substring(bytes[close...].dropFirst())
      guard host.utf8.contains(UInt8(ascii: ":")), host.utf8.allSatisfy(isAddressByte) else {
        throw .invalidURL("the text in brackets is not an IPv6 address")
      }
    } else {
      host = text[..<(bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex)]
      rest = text[host.endIndex...]
      guard !host.isEmpty, host.utf8.allSatisfy(isNameByte) else {
        throw .invalidURL("the host name is missing or has an invalid character")
      }
    }
    guard !rest.isEmpty else { return (host.lowercased(), nil) }
    guard rest.utf8.first == UInt8(ascii: ":") else {
      throw .invalidURL("only a port or a path can follow the host")
    }
    let digits = Substring(rest.utf8.dropFirst())
    guard !digits.isEmpty else { return (host.lowercased(), nil) }
    guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }),
      let port = Int(digits), (1...65_535).contains(port)
    else { throw .invalidURL("the port is not a number from 1 to 65535") }
    return (host.lowercased(), port)
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    // An address may have a zone: `fe80::1%25eth0`.
    Hex.value(of: byte) != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "%")
      || isNameByte(byte)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
  }
}

extension HTTPURL {
  /// Resolves `reference`: absolute, or relative to this URL's scheme, host or path.
  ///
  /// Percent-encodes blanks and bytes beyond ASCII, as browsers and curl do. Drops a fragment.
  /// Keeps this URL's user information for a reference without an authority. Throws
  /// ``HTTPError/invalidURL(_:)``.
  package func resolving(_ reference: String) throws(HTTPError) -> HTTPURL {
    let text = Self.encoded(reference.prefix { $0 != "#" })[...]
    if Self.hasScheme(text) { return try HTTPURL(parsing: String(text)).normalised }
    if text.hasPrefix("//") { return try HTTPURL(parsing: "\(scheme.rawValue):\(text)").normalised }
    guard text.utf8.allSatisfy(ASCII.isVisible) else {
      throw .invalidURL("spaces, control and non-ASCII characters must be percent-encoded")
    }
    let mark = text.firstIndex(of: "?")
    let path = text[..<(mark ?? text.endIndex)]
    var result = self
    result.query = mark.map { String(text[$0...].dropFirst()) }
    if path.hasPrefix("/") {
      result.path = String(path)
    } else if !path.isEmpty {
      let last = self.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? self.path.startIndex
      result.path = String(self.path[...last] + path)
    } else if mark == nil {
      result.query = query
    }
    return result.normalised
  }

  private static func encoded(_ reference: Substring) -> String {
    let text = ASCII.trimmed(reference)
    guard text.utf8.contains(where: { $0 == 0x20 || $0 >= 0x80 }) else { return text }
    return String(
      decoding: text.utf8.flatMap { byte -> [UInt8] in
        byte == 0x20 || byte >= 0x80 ? PercentEncoding.bytes(byte) : [byte]
      }, as: UTF8.self)
  }

  /// Returns whether the text begins with a scheme and a colon.
  private static func hasScheme(_ text: Substring) -> Bool {
    guard let colon = text.firstIndex(of: ":"), text.first?.isLetter == true else { return false }
    return text[..<colon].utf8.allSatisfy {
      (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0)
    }
  }

  /// The URL without `.` and `..` in its path (RFC 3986 section 5.2.4).
  private var normalised: HTTPURL {
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for segment in segments {
      switch segment {
      case ".": break
      case "..": _ = kept.popLast()
      default: kept.append(segment)
      }
    }
    if segments.last == "." || segments.last == ".." { kept.append("") }
    var result = self
    result.path = "/" + kept.joined(separator: "/")
    return result
  }
}
