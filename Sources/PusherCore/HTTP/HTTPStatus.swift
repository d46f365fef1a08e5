/// Whether an HTTP status allows another try.
package enum HTTPStatus {
  /// Whether the same request may succeed later: 408, 425, 429, and 5xx except 501 and 505, which will not change by
  /// themselves (RFC 9110 section 15.6).
  package static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505: false
    default: status >= 500
    }
  }
}
