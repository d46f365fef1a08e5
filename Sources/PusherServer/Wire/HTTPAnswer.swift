package import PusherCore

/// An answer to an HTTP request; thrown when a call fails.
package struct HTTPAnswer: Error, Sendable, Equatable {
  package let status: Int
  package let body: String
  /// JSON, or text, which gets a line end when it is sent.
  package let isJSON: Bool
  /// Media type; default: the type of JSON or of plain text.
  package var contentType: String?
  /// Encoded body, sent instead of `body` with the matching headers.
  package var encoded: [UInt8]?
  /// Allowed methods of the path, for status 405.
  package var allow: String?
  package var headers = HTTPHeaders()

  package static func json(_ value: JSONValue, status: Int = 200, allow: String? = nil)
    -> HTTPAnswer
  { HTTPAnswer(status: status, body: JSONWriter.text(value), isJSON: true, allow: allow) }

  package static func text(_ line: String) -> HTTPAnswer {
    HTTPAnswer(status: 200, body: line, isJSON: false)
  }

  package static let nothing = HTTPAnswer(status: 204, body: "", isJSON: true)

  package static func refusal(_ status: Int, _ reason: String, allow: String? = nil) -> HTTPAnswer {
    HTTPAnswer(status: status, body: reason, isJSON: false, allow: allow)
  }

  /// 302, which no browser keeps: the next server at this address may answer otherwise.
  static func redirect(to path: String) -> HTTPAnswer {
    var answer = HTTPAnswer.refusal(302, "see \(path)")
    answer.headers.append("Location", path)
    answer.headers.append("Cache-Control", "no-store")
    return answer
  }

  /// 503: the connection to the other nodes is down; the caller may retry.
  static let unavailable = busy(
    "the server cannot reach its other nodes; events may not have been published")

  /// 503: the same request may succeed after a second.
  static func busy(_ reason: String) -> HTTPAnswer {
    var answer = HTTPAnswer.refusal(503, reason)
    answer.headers.append("Retry-After", "1")
    return answer
  }

  /// 405: the path does not support the method.
  package static func refusal(_ method: String, allow: String) -> HTTPAnswer {
    .refusal(405, "\(method) is not allowed here", allow: allow)
  }
}

extension HTTPAnswer {
  /// Returns a body as text; throws status 400 if it is not UTF-8.
  static func text(ofBody body: [UInt8]) throws(HTTPAnswer) -> String {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw .refusal(400, "the body is not UTF-8")
    }
    return text
  }

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
}

extension HTTPAnswer {
  /// A HEAD request gets the head only.
  package func write(to output: ByteBuffer, keepsAlive: Bool, withoutBody: Bool = false) {
    let length = encoded?.count ?? body.utf8.count + (isJSON ? 0 : 1)
    var fields = HTTPHeaders()
    // RFC 9110 section 8.6: an answer without content has no length.
    if status != 204 {
      let usual = isJSON ? "application/json" : "text/plain; charset=utf-8"
      fields.append("Content-Type", contentType ?? usual)
      fields.append("Content-Length", "\(length)")
    }
    if let allow { fields.append("Allow", allow) }
    for field in headers.fields { fields.append(field.name, field.value) }
    if !keepsAlive { fields.append("Connection", "close") }
    output.append(
      HTTPResponseHead(status: status, reason: Self.reason(status), headers: fields))
    guard !withoutBody else { return }
    if let encoded { return output.append(encoded) }
    output.append(body)
    if !isJSON { output.append("\n" as StaticString) }
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 204: "No Content"
    case 302: "Found"
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
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    default: "Error"
    }
  }
}

extension ByteBuffer {
  /// Appends a head; a field with a character that HTTP does not allow is left out.
  package func append(_ head: HTTPResponseHead) {
    if let bytes = try? head.encode() { return append(bytes) }
    var legal = HTTPResponseHead(status: head.status, reason: "")
    for field in head.headers.fields {
      legal.headers.append(field.name, field.value)
      if (try? legal.encode()) == nil { legal.headers.remove(field.name) }
    }
    append((try? legal.encode()) ?? [])
  }
}
