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
    let name = Self.bracketed(host)
    return port == scheme.defaultPort ? name : "\(name):\(port)"
  }

  /// The host as it stands before a port: an IPv6 address in brackets.
  package static func bracketed(_ host: String) -> String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
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

/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// Encodes all bytes except letters, digits and `-._~` as `%XX`, in upper case.
  package static func encode(_ text: String) -> String {
    encode(text.utf8, where: { !isUnreserved($0) })
  }

  /// Encodes the percent sign and all bytes except visible ASCII, for use in a header field.
  package static func encodeForField(_ text: String) -> String {
    encode(text.utf8, where: { !ASCII.isVisible($0) || $0 == UInt8(ascii: "%") })
  }

  /// Encodes a dot at the beginning, and all bytes except letters, digits and `-_.,=@;:`, for a
  /// file's name.
  package static func encodeForFile(_ name: some Collection<UInt8>) -> String {
    let encoded = encode(name) { byte in
      byte == UInt8(ascii: "~") || !isUnreserved(byte) && !",=@;:".utf8.contains(byte)
    }
    return name.first == UInt8(ascii: ".") ? "%2E" + encoded.dropFirst() : encoded
  }

  private static func encode(
    _ text: some Collection<UInt8>, where isWritten: (UInt8) -> Bool
  ) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.count)
    for byte in text {
      if !isWritten(byte) {
        encoded.append(byte)
      } else {
        encoded += bytes(byte)
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  static func bytes(_ byte: UInt8) -> [UInt8] {
    [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// Decodes a text; `nil` for a `%` without two digits or for bytes that are not UTF-8.
  package static func decode(_ text: String) -> String? { decode(text, isForm: false) }

  /// Decodes a part of a form or query, in which `+` is a blank.
  package static func decodeForm(_ text: String) -> String? { decode(text, isForm: true) }

  private static func decode(_ text: String, isForm: Bool) -> String? {
    let bytes = ByteBuffer(capacity: text.utf8.count)
    bytes.append(text)
    return decode(bytes.view, isForm: isForm)
  }

  package static func decode(_ text: ByteView, isForm: Bool) -> String? {
    guard text.holds(UInt8(ascii: "%")) || isForm && text.holds(UInt8(ascii: "+")) else {
      return UTF8Validator.text(text)
    }
    let decoded = ByteBuffer(capacity: text.count)
    var index = 0
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "+") where isForm: decoded.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard index + 2 < text.count, let high = Hex.value(of: text[index + 1]),
          let low = Hex.value(of: text[index + 2])
        else { return nil }
        decoded.append(high << 4 | low)
        index += 2
      case let byte: decoded.append(byte)
      }
      index += 1
    }
    return UTF8Validator.text(decoded.view)
  }

  /// Encodes pairs for a form or query: `name=value&name=value`.
  package static func form(_ pairs: [(String, String)]) -> String {
    pairs.map { "\(encode($0.0))=\(encode($0.1))" }.joined(separator: "&")
  }

  private static let digits = [UInt8]("0123456789ABCDEF".utf8)

  /// Returns whether a byte is a letter, a digit or one of `-._~`.
  fileprivate static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

/// Follows the redirects of one request (RFC 9110 section 15.4), without I/O.
package struct RedirectTrail: Sendable, Equatable {
  package static let limit = 5
  package private(set) var url: HTTPURL
  package private(set) var count = 0
  /// True after a redirect to another scheme, host or port; credentials must not be sent any more.
  package private(set) var hasLeftOrigin = false

  package init(url: HTTPURL) { self.url = url }

  package static func isRedirect(_ status: Int) -> Bool {
    [301, 302, 303, 307, 308].contains(status)
  }

  /// Follows one redirect to the new ``url``; an error leaves the trail unchanged.
  ///
  /// Reads `http` as `ws` and `https` as `wss` for WebSocket, and the reverse. Keeps the user
  /// information inside its origin only.
  package mutating func follow(location: String) throws(RedirectError) {
    guard count < Self.limit else {
      throw .tooMany(limit: Self.limit, location: Self.shown(location))
    }
    var next: HTTPURL
    do throws(HTTPError) {
      next = try url.resolving(location)
    } catch {
      guard case .invalidURL(let reason) = error else { throw .invalid(reason: "\(error)") }
      throw .invalid(reason: reason)
    }
    let isWebSocket = url.scheme == .ws || url.scheme == .wss
    next.scheme =
      if isWebSocket { next.isSecure ? .wss : .ws } else { next.isSecure ? .https : .http }
    if url.isSecure && !next.isSecure { throw .insecure(from: url.scheme, place: next.place) }
    let isSameOrigin = next.isSameOrigin(as: url)
    if !isSameOrigin { hasLeftOrigin = true }
    if isSameOrigin && next.userInfo == nil { next.userInfo = url.userInfo }
    url = next
    count += 1
  }

  /// Returns the fields of a request to ``url``, without credentials and Host at another origin.
  package func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
    guard hasLeftOrigin else { return headers }
    let secret = ["authorization", "cookie", "proxy-authorization", "host"]
    return HTTPHeaders(
      headers.fields.filter { !secret.contains($0.name.lowercased()) }.map { ($0.name, $0.value) })
  }

  /// Returns a Location for messages: shortened, without user information and query.
  static func shown(_ location: String) -> String {
    let text = location.prefix { $0 != "?" && $0 != "#" }
    let tail = text.utf8.lastIndex(of: UInt8(ascii: "@")).map { text[$0...].dropFirst() } ?? text
    return String(tail.prefix(200))
  }
}

package enum RedirectError: Error, Equatable, CustomStringConvertible {
  case tooMany(limit: Int, location: String)
  case insecure(from: HTTPURL.Scheme, place: String)
  case invalid(reason: String)

  package var description: String {
    switch self {
    case .tooMany(let limit, let location):
      "more than \(limit) redirects; the next is to \(location)"
    case .insecure(let scheme, let place):
      "a redirect from \(scheme.rawValue) to \(place), not followed because it is not encrypted"
    case .invalid(let reason): "a redirect to an invalid URL: \(reason)"
    }
  }
}

extension HTTPURL {
  /// The URL for messages, without user information and query, which may be secret.
  package var place: String { origin + path }
  /// The server for messages about a URL whose path may be a token, as that of a webhook.
  package var origin: String { "\(scheme.rawValue)://\(authority)" }

  func isSameOrigin(as other: HTTPURL) -> Bool { origin.isSame(as: other.origin) }
}
