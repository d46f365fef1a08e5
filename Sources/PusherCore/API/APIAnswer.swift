/// Response to a call of the HTTP API.
package enum APIAnswer: Sendable, Equatable {
  /// 2xx: the call succeeded; `body` is JSON.
  case accepted(body: String)
  /// 401, 403: the server did not accept the signature, the timestamp or the app.
  case refused(status: Int, reason: String)
  /// 400, 404, 413 and other 4xx: the call itself is wrong.
  case rejected(status: Int, reason: String)
  /// 429 and 5xx: the same call may succeed later.
  case unavailable(status: Int, reason: String)
  /// Any other status: the server does not implement this API.
  case unexpected(status: Int, reason: String)

  /// Classifies a response by its status; invalid UTF-8 in `body` becomes U+FFFD.
  package init(status: Int, body: [UInt8]) {
    let text = String(decoding: body, as: UTF8.self)
    switch status {
    // Web servers with a page for every path answer 200 too, but have done nothing.
    case 200...299 where Self.isPage(body):
      self = .unexpected(status: status, reason: "a web page instead of JSON from the HTTP API")
    case 200...299: self = .accepted(body: text)
    case 401, 403: self = .refused(status: status, reason: ErrorText.line(of: text))
    case 429, 500...599: self = .unavailable(status: status, reason: ErrorText.line(of: text))
    case 400...499: self = .rejected(status: status, reason: ErrorText.line(of: text))
    default: self = .unexpected(status: status, reason: ErrorText.line(of: text))
    }
  }

  private static func isPage(_ body: [UInt8]) -> Bool {
    body.first { $0 > 0x20 } == UInt8(ascii: "<")
  }
}
