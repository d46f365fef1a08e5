/// Response to a call of the HTTP API.
package enum APIAnswer: Sendable, Equatable {
  /// 2xx: the call succeeded; `body` is JSON.
  case accepted(body: String)
  /// 401, 403: the server did not accept the signature, the timestamp or the app.
  case refused(status: Int, reason: String, APIRefusal)
  /// 400, 404, 413 and other 4xx: the call itself is wrong.
  case rejected(status: Int, reason: String)
  /// 429 and 5xx: the same call may succeed later.
  case unavailable(status: Int, reason: String)
  /// Any other status: the server does not implement this API.
  case unexpected(status: Int, reason: String)

  /// Classifies a response by its status; invalid UTF-8 in its body becomes U+FFFD.
  ///
  /// - Parameter prefix: The signed prefix of the call's path.
  package init(_ response: HTTPExchange.Response, prefix: String) {
    let status = response.head.status
    // Only a refusal is searched for its reason, not each accepted call.
    var reason: String { response.reason }
    switch status {
    case 200...299 where response.problem != nil: self = .unexpected(status: status, reason: reason)
    // Web servers with a page for every path answer 200 too, but have done nothing.
    case 200...299 where RefusalReason.isPage(response.body):
      self = .unexpected(
        status: status, reason: "a web page instead of JSON from the HTTP API: \(reason)")
    case 200...299: self = .accepted(body: String(decoding: response.body, as: UTF8.self))
    case 401, 403:
      self = .refused(
        status: status, reason: reason, APIRefusal(response.body, prefix: prefix))
    case 429, 500...599: self = .unavailable(status: status, reason: reason)
    case 400...499: self = .rejected(status: status, reason: reason)
    default:
      self = .unexpected(
        status: status, reason: response.redirect.map { "a redirect to \($0)" } ?? reason)
    }
  }
}
