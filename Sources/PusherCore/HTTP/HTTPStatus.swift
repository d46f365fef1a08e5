/// What the status of an HTTP answer says about asking again.
package enum HTTPStatus {
  /// Whether the server cannot now, so that the same request may succeed later: 408, 425, 429, and 5xx but for the two
  /// that name something which will not change by itself (RFC 9110 section 15.6).
  package static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505: false
    default: status >= 500
    }
  }
}
