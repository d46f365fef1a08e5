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
