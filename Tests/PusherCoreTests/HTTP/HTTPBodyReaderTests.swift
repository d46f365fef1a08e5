import PusherCore
import TestSupport
import Testing

struct `HTTP bodies (RFC 9112 sections 6 and 7)` {
  private func head(_ fields: [(String, String)], status: Int = 200) -> HTTPResponseHead {
    HTTPResponseHead(status: status, reason: "", headers: HTTPHeaders(fields))
  }

  /// A reader of an answer's body.
  private func reader(
    _ fields: [(String, String)] = chunked, limit: Int = 16 << 20, minorVersion: Int = 1
  ) throws(HTTPError) -> HTTPBodyReader {
    var head = head(fields)
    head.minorVersion = minorVersion
    return try HTTPBodyReader(head, requestMethod: "GET", limit: limit)
  }

  private static let chunked = [("Transfer-Encoding", "chunked")]
  private static let sample =
    "4;name=\"v\"\r\nWiki\r\nA \r\npedia in c\r\n0\r\nT: x\r\nU: y\r\n\r\nnext"

  @Test func `a counted body ends at its count`() throws {
    var reader = try reader([("Content-Length", "4")])
    let (source, body) = (buffer("ab"), ByteBuffer())
    #expect(try !reader.read(from: source, into: body))
    source.append("cdef")
    #expect(try reader.read(from: source, into: body))
    #expect(body.view.text == "abcd" && source.view.text == "ef")
    try reader.inputEnded()
  }

  @Test func `a chunked body with extensions and trailers is read at every split point`() throws {
    let bytes = [UInt8](Self.sample.utf8)
    for split in 0...bytes.count {
      var reader = try reader()
      let (source, body) = (buffer([UInt8](bytes[..<split])), ByteBuffer())
      let early = try reader.read(from: source, into: body)
      #expect(early == (split >= bytes.count - 4))
      source.append([UInt8](bytes[split...]))
      #expect(try reader.read(from: source, into: body))
      #expect(body.view.text == "Wikipedia in c" && source.view.text == "next")
    }
  }

  @Test func `an answer of HTTP/1.0 may come in chunks, a request may not`() throws {
    var reader = try reader(minorVersion: 0)
    let body = ByteBuffer()
    #expect(try reader.read(from: buffer(Self.sample), into: body))
    #expect(body.view.text == "Wikipedia in c")
    let request = HTTPRequestHead(
      method: "POST", target: "/", headers: HTTPHeaders(Self.chunked), minorVersion: 0)
    #expect(throws: HTTPError.unsupportedTransferEncoding) { try HTTPBodyReader(request) }
  }

  @Test func `an answer without a length ends with the connection`() throws {
    var reader = try reader([])
    #expect(reader.endsWithConnection)
    let body = ByteBuffer()
    #expect(try !reader.read(from: buffer("abc"), into: body))
    try reader.inputEnded()
    #expect(try reader.read(from: ByteBuffer(), into: body))
    #expect(body.view.text == "abc")
  }

  @Test func `some answers have no body whatever their fields say`() throws {
    for (status, length, method) in [
      (100, "9", "GET"), (101, "9", "GET"), (204, "9", "GET"), (304, "9", "GET"),
      (200, "9", "HEAD"), (200, "0", "GET"),
    ] {
      let head = head([("Content-Length", length)], status: status)
      #expect(try HTTPBodyReader(head, requestMethod: method).isComplete)
    }
    #expect(try HTTPBodyReader(HTTPRequestHead(method: "GET", target: "/")).isComplete)
  }

  @Test(arguments: [
    ([("Content-Length", "3"), ("Content-Length", "4")], HTTPError.conflictingContentLength),
    ([("Content-Length", "3, 4")], .conflictingContentLength),
    ([("Content-Length", "+3")], .invalidContentLength),
    ([("Content-Length", "")], .invalidContentLength),
    ([("Content-Length", "99999999999999999999")], .invalidContentLength),
    ([("Content-Length", "3"), ("Transfer-Encoding", "chunked")], .ambiguousBodyLength),
    ([("Transfer-Encoding", "gzip, chunked")], .unsupportedTransferEncoding),
    ([("Transfer-Encoding", "identity")], .unsupportedTransferEncoding),
    ([("Content-Length", "101")], .bodyTooLarge(limit: 100)),
  ])
  func `a doubtful length is refused`(fields: [(String, String)], error: HTTPError) {
    #expect(throws: error) { try reader(fields, limit: 100) }
  }

  @Test func `equal lengths given twice are one length`() throws {
    var reader = try reader([("Content-Length", "2"), ("Content-Length", "2, 2")])
    #expect(try reader.read(from: buffer("ab"), into: ByteBuffer()))
  }

  private static let endlessLine = "1;" + String(repeating: "x", count: 5000)
  private static let endlessTrailers =
    "0\r\n" + String(repeating: "A: \(String(repeating: "x", count: 1000))\r\n", count: 70)

  @Test(
    arguments: [
      ("x\r\n", .invalidChunk), ("\r\n", .invalidChunk), ("3\nabc", .invalidChunk),
      ("3 x\r\nabc", .invalidChunk), ("-1\r\n", .invalidChunk), ("3\r\nabcd\r\n", .invalidChunk),
      ("ffffffffffffffffff\r\n", .bodyTooLarge(limit: 100)), ("65\r\n", .bodyTooLarge(limit: 100)),
      ("64\r\n", nil), (endlessLine, .chunkLineTooLong(limit: 4096)),
      (endlessTrailers, .trailersTooLarge(limit: 65_536)),
    ] as [(String, HTTPError?)])
  func `a wrong, large or endless chunked body is refused`(text: String, error: HTTPError?) throws {
    var reader = try reader(limit: 100)
    let outcome = Result { () throws(HTTPError) in
      try reader.read(from: buffer(text), into: ByteBuffer())
    }
    let expected: Result<Bool, HTTPError> = error.map { .failure($0) } ?? .success(false)
    #expect(outcome == expected)
  }

  @Test func `the limit may be reached and not passed`() throws {
    var reader = try reader([], limit: 3)
    #expect(try !reader.read(from: buffer("abc"), into: ByteBuffer()))
    #expect(throws: HTTPError.bodyTooLarge(limit: 3)) {
      try reader.read(from: buffer("d"), into: ByteBuffer())
    }
  }

  @Test func `an end inside a body is noticed`() throws {
    for (fields, text) in [([("Content-Length", "4")], "abc"), (Self.chunked, "4\r\nabcd\r\n")] {
      var reader = try reader(fields)
      #expect(try !reader.read(from: buffer(text), into: ByteBuffer()))
      #expect(throws: HTTPError.endedEarly) { try reader.inputEnded() }
    }
  }
}
