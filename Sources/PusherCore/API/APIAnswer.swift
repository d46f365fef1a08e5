/// A server's answer to a call of the HTTP API.
package enum APIAnswer: Sendable, Equatable {
  /// 2xx: the call was done; the answer's JSON.
  case accepted(body: String)
  /// 401, 403: the server did not accept the signature, the timestamp or the app; the server's words.
  case refused(status: Int, reason: String)
  /// 400, 404, 413 and the other 4xx: the call itself is wrong; the server's words.
  case rejected(status: Int, reason: String)
  /// 429 and 5xx: the server cannot do it now; the same call may succeed later.
  case unavailable(status: Int, reason: String)
  /// Any other status: the server does not speak this API.
  case unexpected(status: Int, reason: String)

  /// Sorts an answer by its status; bytes of `body` that are not UTF-8 become U+FFFD.
  package init(status: Int, body: [UInt8]) {
    let text = String(decoding: body, as: UTF8.self)
    switch status {
    // A web server that has a page for every path answers 200 too, but has done nothing.
    case 200...299 where Self.isPage(body):
      self = .unexpected(status: status, reason: "a web page, where the HTTP API answers JSON")
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
