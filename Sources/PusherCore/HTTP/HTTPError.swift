/// An invalid HTTP message or URL: the peer's fault when parsing, the caller's when writing.
package enum HTTPError: Error, Equatable, CustomStringConvertible {
  case headTooLarge(limit: Int)
  case tooManyHeaders(limit: Int)
  case invalidStatusLine
  case foreign(ForeignProtocol)
  case invalidRequestLine
  /// The version is neither HTTP/1.0 nor HTTP/1.1.
  case unsupportedVersion
  case invalidHeader
  /// A field continued on the next line (RFC 9112 section 5.2).
  case obsoleteLineFolding
  case bareLineFeed
  /// A request of HTTP/1.1 without a Host field (RFC 9112 section 3.2).
  case hostMissing
  case hostRepeated
  case invalidHost
  case invalidContentLength
  case conflictingContentLength
  /// Both Content-Length and Transfer-Encoding (RFC 9112 section 6.3).
  case ambiguousBodyLength
  case unsupportedTransferEncoding
  case invalidChunk
  case chunkLineTooLong(limit: Int)
  case trailersTooLarge(limit: Int)
  case bodyTooLarge(limit: Int)
  case endedEarly
  /// The body has a content coding other than gzip and deflate; names it.
  case unknownCoding(String)
  case invalidCoding
  /// An invalid method, target, name or value to write; names the part, never its value.
  case invalidPart(String)
  /// A field that the handshake sets itself.
  case reservedField(String)
  case invalidURL(String)

  package var description: String {
    switch self {
    case .headTooLarge(let limit): "the HTTP head is longer than \(limit) bytes"
    case .tooManyHeaders(let limit): "the HTTP head has more than \(limit) fields"
    case .invalidStatusLine: "the answer does not begin with an HTTP status line"
    case .foreign(let what): "\(what)"
    case .invalidRequestLine: "the request does not begin with an HTTP request line"
    case .unsupportedVersion: "the peer does not speak HTTP/1.1"
    case .invalidHeader: "the HTTP head has an invalid field"
    case .obsoleteLineFolding: "the HTTP head has a field folded over two lines"
    case .bareLineFeed: "the HTTP head has a line that does not end with CR LF"
    case .hostMissing: "the request has no Host field"
    case .hostRepeated: "the request has more than one Host field"
    case .invalidHost: "the Host field is not HOST or HOST:PORT"
    case .invalidContentLength: "Content-Length is not a number"
    case .conflictingContentLength: "Content-Length has two different values"
    case .ambiguousBodyLength: "both Content-Length and Transfer-Encoding are given"
    case .unsupportedTransferEncoding: "Transfer-Encoding has a coding other than chunked"
    case .invalidChunk: "the chunked HTTP body is malformed"
    case .chunkLineTooLong(let limit): "a chunk's size line is longer than \(limit) bytes"
    case .trailersTooLarge(let limit): "the HTTP trailers are longer than \(limit) bytes"
    case .bodyTooLarge(let limit): "the HTTP body is longer than \(limit) bytes"
    case .endedEarly: "the connection ended inside an HTTP message"
    case .unknownCoding(let name):
      "its content coding is neither gzip nor deflate: \(ErrorText.shown(name, limit: 100))"
    case .invalidCoding: "the body does not match its content coding"
    case .invalidPart(let part): "the \(part) has a character that HTTP does not allow"
    case .reservedField(let name): "the WebSocket handshake sets the header \(name) itself"
    case .invalidURL(let reason): "invalid URL: \(reason)"
    }
  }
}

package enum ForeignProtocol: Equatable, Sendable, CustomStringConvertible {
  case tls
  case ssh
  case http2
  /// Another protocol, with the beginning of its first line.
  case unknown(String)

  /// Returns the protocol of `answer` if it is not HTTP/1; `nil` while it may still be.
  package init?(_ answer: ByteView) {
    let status = Array("HTTP/".utf8)
    let common = min(answer.count, status.count)
    guard (0..<common).contains(where: { answer[$0] != status[$0] }) else { return nil }
    // A TLS record: alert (21) or handshake (22), then version 3.x.
    if answer[0] == 21 || answer[0] == 22 {
      guard answer.count > 1 else { return nil }
      if answer[1] == 3 {
        self = .tls
        return
      }
    }
    guard answer.count >= 4 || (0..<answer.count).contains(where: { answer[$0] == 0x0A }) else {
      return nil
    }
    if answer.begins(with: "SSH-") {
      self = .ssh
    } else if answer.count >= 5, answer[0] == 0, answer[3] == 4 || answer[3] == 7, answer[4] == 0 {
      // The first frame of an HTTP/2 server is SETTINGS, or GOAWAY after a request that it does not
      // understand (RFC 9113 sections 3.4, 4.1 and 6.8).
      self = .http2
    } else {
      self = .unknown(Self.beginning(of: answer))
    }
  }

  package var description: String {
    switch self {
    case .tls: "the other side speaks TLS on this port, not plain HTTP"
    case .ssh: "the other side is an SSH server"
    case .http2: "the other side speaks HTTP/2 only"
    case .unknown(let beginning): "the answer is not HTTP; it begins with '\(beginning)'"
    }
  }

  /// Returns up to 32 characters of the first line, with `.` for unprintable ones.
  private static func beginning(of answer: ByteView) -> String {
    var text = ""
    for index in 0..<min(answer.count, 32) {
      let byte = answer[index]
      if byte == 0x0A || byte == 0x0D { break }
      text.unicodeScalars.append(
        (0x20..<0x7F).contains(byte) ? Unicode.Scalar(byte) : Unicode.Scalar(0x2E))
    }
    return text
  }
}
