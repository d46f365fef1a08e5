package import PusherCore

/// What an HTTP request is answered with.
package struct HTTPAnswer: Sendable, Equatable {
  package let status: Int
  package let body: String
  /// Whether the body is JSON; else it is a line of text.
  package let isJSON: Bool
  /// The methods that the path knows, with status 405.
  package var allow: String?
  /// Fields beside those that every answer has.
  package var headers = HTTPHeaders()

  private init(status: Int, body: String, isJSON: Bool, allow: String? = nil) {
    self.status = status
    self.body = body
    self.isJSON = isJSON
    self.allow = allow
  }

  /// JSON, with 200 unless told.
  package static func json(
    _ value: JSONValue, status: Int = 200, allow: String? = nil
  ) -> HTTPAnswer {
    HTTPAnswer(status: status, body: JSONWriter.text(value), isJSON: true, allow: allow)
  }

  /// 200 with one line of text.
  static func text(_ line: String) -> HTTPAnswer {
    HTTPAnswer(status: 200, body: line, isJSON: false)
  }

  /// 204.
  package static let nothing = HTTPAnswer(status: 204, body: "", isJSON: true)

  /// A refusal with one line of text.
  package static func refusal(_ status: Int, _ reason: String, allow: String? = nil) -> HTTPAnswer {
    HTTPAnswer(status: status, body: reason, isJSON: false, allow: allow)
  }

  /// The answer to what is no request, or one that is too long.
  package init(_ error: HTTPError) {
    let status =
      switch error {
      case .bodyTooLarge: 413
      case .headTooLarge, .tooManyHeaders: 431
      case .unsupportedTransferEncoding: 501
      case .unsupportedVersion: 505
      default: 400
      }
    self = .refusal(status, error.description)
  }

  /// Appends the answer's bytes; a HEAD request gets the head only.
  package func write(to output: ByteBuffer, keepsAlive: Bool, withoutBody: Bool = false) {
    let length = body.utf8.count + (isJSON ? 0 : 1)
    var lines = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
    // RFC 9110 section 8.6: an answer without content tells no length of it.
    if status != 204 {
      lines += "Content-Type: \(isJSON ? "application/json" : "text/plain; charset=utf-8")\r\n"
      lines += "Content-Length: \(length)\r\n"
    }
    if let allow { lines += "Allow: \(allow)\r\n" }
    for field in headers.fields { lines += "\(field.name): \(field.value)\r\n" }
    lines += keepsAlive ? "\r\n" : "Connection: close\r\n\r\n"
    output.append(lines)
    guard !withoutBody else { return }
    output.append(body)
    if !isJSON { output.append("\n" as StaticString) }
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 204: "No Content"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 413: "Content Too Large"
    case 422: "Unprocessable Content"
    case 431: "Request Header Fields Too Large"
    case 501: "Not Implemented"
    case 505: "HTTP Version Not Supported"
    default: "Error"
    }
  }
}
