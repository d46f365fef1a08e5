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
