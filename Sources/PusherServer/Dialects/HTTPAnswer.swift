package import PusherCore

/// An answer to an HTTP request; thrown when a call fails.
package struct HTTPAnswer: Error, Sendable, Equatable {
  package let status: Int
  package let body: String
  /// Whether the body is JSON; else it is text, whose last line end is added.
  package let isJSON: Bool
  /// The media type; `nil` for that of JSON or of plain text.
  package var contentType: String?
  /// What is sent in place of the body, where it is encoded as the headers say.
  package var encoded: [UInt8]?
  /// The allowed methods of the path, with status 405.
  package var allow: String?
  /// Fields besides those of every answer.
  package var headers = HTTPHeaders()

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

  /// 503: what connects the nodes is not there; the caller may try again.
  static let unavailable = busy(
    "the server cannot reach its other nodes; nothing is certain to have been published")

  /// 503: the same request may succeed in a second.
  static func busy(_ reason: String) -> HTTPAnswer {
    var answer = HTTPAnswer.refusal(503, reason)
    answer.headers.append("Retry-After", "1")
    return answer
  }

  /// 405 for a method that the path does not know.
  static func refusal(_ method: String, allow: String) -> HTTPAnswer {
    .refusal(405, "\(method) is not allowed here", allow: allow)
  }
}

extension HTTPAnswer {
  /// A request's body as text; throws the answer to one that is none.
  static func text(ofBody body: [UInt8]) throws(HTTPAnswer) -> String {
    guard let text = String(validating: body, as: UTF8.self) else {
      throw .refusal(400, "the body is not UTF-8")
    }
    return text
  }

  /// The answer to a malformed or too long request.
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
