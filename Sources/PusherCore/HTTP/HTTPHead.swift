/// A request's line and fields (RFC 9112 section 3).
package struct HTTPRequestHead: Sendable, Equatable {
  package var method: String
  /// A path with query, a whole URI, or `*`.
  package var target: String
  package var headers: HTTPHeaders
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  package var minorVersion: Int

  package init(
    method: String, target: String, headers: HTTPHeaders = HTTPHeaders(), minorVersion: Int = 1
  ) {
    (self.method, self.target) = (method, target)
    (self.headers, self.minorVersion) = (headers, minorVersion)
  }

  /// Returns the head's bytes, with the empty line.
  ///
  /// Throws ``HTTPError/invalidPart(_:)`` for a part that could begin another field or request.
  package func encode() throws(HTTPError) -> [UInt8] {
    guard ASCII.isToken(method) else { throw .invalidPart("request method") }
    guard !target.isEmpty, target.utf8.allSatisfy(ASCII.isVisible) else {
      throw .invalidPart("request target")
    }
    return try headers.encode(after: "\(method) \(target) HTTP/1.\(minorVersion)\r\n")
  }
}

/// A response's status line and fields (RFC 9112 section 4).
package struct HTTPResponseHead: Sendable, Equatable {
  package var status: Int
  package var reason: String
  package var headers: HTTPHeaders
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  package var minorVersion = 1

  package init(status: Int, reason: String, headers: HTTPHeaders = HTTPHeaders()) {
    (self.status, self.reason, self.headers) = (status, reason, headers)
  }

  package var isSuccess: Bool { 200..<300 ~= status }

  package func retryAfter(at now: WallTime) -> Duration? {
    headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
  }

  /// Returns the head's bytes, with the empty line; throws like ``HTTPRequestHead/encode()``.
  package func encode() throws(HTTPError) -> [UInt8] {
    guard (100...999).contains(status) else { throw .invalidPart("status") }
    guard reason.utf8.allSatisfy(ASCII.isFieldValue) else { throw .invalidPart("reason") }
    return try headers.encode(after: "HTTP/1.\(minorVersion) \(status) \(reason)\r\n")
  }
}

extension HTTPHeaders {
  fileprivate func encode(after startLine: String) throws(HTTPError) -> [UInt8] {
    var text = startLine
    for field in fields {
      guard ASCII.isToken(field.name) else { throw .invalidPart("header name") }
      guard field.value.utf8.allSatisfy(ASCII.isFieldValue) else {
        throw .invalidPart("value of header \(field.name)")
      }
      text += "\(field.name): \(field.value)\r\n"
    }
    text += "\r\n"
    return [UInt8](text.utf8)
  }
}

package enum HTTPStatus {
  /// Returns whether a later retry may succeed (RFC 9110 section 15.6); 501 and 505 are permanent.
  package static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505: false
    default: status >= 500
    }
  }
}
