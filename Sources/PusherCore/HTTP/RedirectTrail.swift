/// Follows the redirects of one request (RFC 9110 section 15.4): where to go next, and when to stop.
///
/// It does no I/O: the owner hands in each redirect's status and Location, and dials ``url``.
package struct RedirectTrail: Sendable, Equatable {
  /// How many redirects of one request are followed.
  package static let limit = 5

  /// Where the request goes now.
  package private(set) var url: HTTPURL
  /// How many redirects led there.
  package private(set) var count = 0
  /// Whether a redirect led to another scheme, host or port, so that credentials must not be sent any more.
  package private(set) var hasLeftOrigin = false

  /// The trail's beginning; its scheme decides whether the trail stays with `ws` and `wss` or `http` and `https`.
  package init(url: HTTPURL) {
    self.url = url
  }

  /// Whether an answer with this status and a Location is a redirect that may be followed: 301, 302, 303, 307 or 308.
  package static func isRedirect(_ status: Int) -> Bool {
    [301, 302, 303, 307, 308].contains(status)
  }

  /// Takes one redirect; ``url`` is then where it leads.
  ///
  /// In a Location `http` means `ws` and `https` means `wss` when WebSocket is spoken, and the other way round. The user information of ``url`` goes along inside its
  /// origin only. After an error the trail is as it was.
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
    let port = next.port
    let isWebSocket = url.scheme == .ws || url.scheme == .wss
    next.scheme =
      if isWebSocket { next.isSecure ? .wss : .ws } else { next.isSecure ? .https : .http }
    next.port = port
    if url.isSecure && !next.isSecure { throw .insecure(from: url.scheme, place: next.place) }
    let isSameOrigin = next.scheme == url.scheme && next.host == url.host && next.port == url.port
    if !isSameOrigin { hasLeftOrigin = true }
    if isSameOrigin && next.userInfo == nil { next.userInfo = url.userInfo }
    url = next
    count += 1
  }

  /// The fields of a request to ``url``: credentials and Host are left out at another origin.
  package func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
    guard hasLeftOrigin else { return headers }
    let secret = ["authorization", "cookie", "proxy-authorization", "host"]
    return HTTPHeaders(
      headers.fields.filter { !secret.contains($0.name.lowercased()) }.map { ($0.name, $0.value) })
  }

  /// A Location as a message may show it: without user information and query, and shortened.
  static func shown(_ location: String) -> String {
    let text = location.prefix { $0 != "?" && $0 != "#" }
    let tail = text.utf8.lastIndex(of: UInt8(ascii: "@")).map { text[$0...].dropFirst() } ?? text
    return String(tail.prefix(200))
  }
}

/// Why a redirect is not followed.
package enum RedirectError: Error, Equatable, CustomStringConvertible {
  /// One more than the limit.
  case tooMany(limit: Int, location: String)
  /// From an encrypted connection to one that is not.
  case insecure(from: HTTPURL.Scheme, place: String)
  /// The Location is not a URL that can be dialled.
  case invalid(reason: String)

  package var description: String {
    switch self {
    case .tooMany(let limit, let location):
      "more than \(limit) redirects, the next to \(location)"
    case .insecure(let scheme, let place):
      "a redirect from \(scheme.rawValue) to \(place), which is not encrypted and so not followed"
    case .invalid(let reason): "a redirect to an invalid URL: \(reason)"
    }
  }
}

extension HTTPURL {
  /// The URL as messages show it: without user information and query, which may be secret.
  package var place: String { "\(scheme.rawValue)://\(authority)\(path)" }
}
