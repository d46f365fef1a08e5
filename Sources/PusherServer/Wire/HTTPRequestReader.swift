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
      if head.headers.has("close", in: "Connection") { return false }
      return head.minorVersion >= 1 || head.headers.has("keep-alive", in: "Connection")
    }
  }

  private let bodyLimit: Int
  private var heads: HTTPHeadParser
  private var pending: (head: HTTPRequestHead, reader: HTTPBodyReader)?
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
      pending = (head, reader)
      owesContinue =
        !reader.isComplete && head.headers.has("100-continue", in: "Expect")
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
  package mutating func takeContinue() -> HTTPResponseHead? {
    guard owesContinue else { return nil }
    owesContinue = false
    return HTTPResponseHead(status: 100, reason: "Continue")
  }
}
