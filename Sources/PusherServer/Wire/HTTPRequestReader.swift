package import PusherCore

/// Reads requests from a connection, one at a time, head and body.
package struct HTTPRequestReader {
  package struct Request: Equatable {
    package let head: HTTPRequestHead
    package let body: [UInt8]

    package init(head: HTTPRequestHead, body: [UInt8] = []) {
      self.head = head
      self.body = body
    }

    /// RFC 9112 section 9.3.
    package var keepsAlive: Bool {
      let options = head.headers.tokens("Connection")
      if options.contains(where: { $0 == "close" }) { return false }
      return head.minorVersion >= 1 || options.contains(where: { $0 == "keep-alive" })
    }
  }

  private struct Pending {
    let head: HTTPRequestHead
    var reader: HTTPBodyReader
  }

  private let bodyLimit: Int
  private var heads: HTTPHeadParser
  private var pending: Pending?
  private let body = ByteBuffer(capacity: 1024)
  /// True if the client waits for an interim answer before the body (RFC 9110 section 10.1.1).
  private var owesContinue = false

  package init(bodyLimit: Int) {
    self.bodyLimit = bodyLimit
    heads = HTTPHeadParser()
  }

  package func isInside(_ input: ByteBuffer) -> Bool { pending != nil || !input.isEmpty }
  package var isInsideBody: Bool { pending != nil }

  /// Returns the next request; `nil` if more input is needed.
  ///
  /// The input after the head of an upgrade stays untouched. An overlong body throws
  /// ``HTTPError/bodyTooLarge(limit:)`` before it is read. A missing, repeated or invalid Host
  /// throws too.
  package mutating func next(from input: ByteBuffer) throws(HTTPError) -> Request? {
    if pending == nil {
      guard let head = try heads.request(from: input) else { return nil }
      try Self.checkHost(head)
      let reader = try HTTPBodyReader(head, limit: bodyLimit)
      pending = Pending(head: head, reader: reader)
      owesContinue =
        !reader.isComplete
        && head.headers.tokens("Expect").contains(where: { $0 == "100-continue" })
    }
    guard try pending?.reader.read(from: input, into: body) == true, let head = pending?.head
    else { return nil }
    pending = nil
    owesContinue = false
    defer { body.removeAll() }
    return Request(head: head, body: body.array)
  }

  /// RFC 9112 section 3.2: readers that see different hosts see different requests.
  private static func checkHost(_ head: HTTPRequestHead) throws(HTTPError) {
    let hosts = head.headers.all("Host")
    guard hosts.count <= 1 else { throw .hostRepeated }
    guard let host = hosts.first else {
      guard head.minorVersion == 0 else { throw .hostMissing }
      return
    }
    guard HTTPURL.isAuthority(host) else { throw .invalidHost }
  }

  /// Returns the interim answer that the client waits for, once.
  package mutating func takeContinue() -> String? {
    guard owesContinue else { return nil }
    owesContinue = false
    return "HTTP/1.1 100 Continue\r\n\r\n"
  }
}

extension HTTPAnswer {
  /// A HEAD request gets the head only.
  package func write(to output: ByteBuffer, keepsAlive: Bool, withoutBody: Bool = false) {
    let length = encoded?.count ?? body.utf8.count + (isJSON ? 0 : 1)
    var lines = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
    // RFC 9110 section 8.6: an answer without content has no length.
    if status != 204 {
      let usual = isJSON ? "application/json" : "text/plain; charset=utf-8"
      lines += "Content-Type: \(contentType ?? usual)\r\n"
      lines += "Content-Length: \(length)\r\n"
    }
    if let allow { lines += "Allow: \(allow)\r\n" }
    for field in headers.fields { lines += "\(field.name): \(field.value)\r\n" }
    lines += keepsAlive ? "\r\n" : "Connection: close\r\n\r\n"
    output.append(lines)
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
