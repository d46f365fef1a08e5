import PusherCore
import TestSupport
import Testing

struct `HTTP heads (RFC 9112 sections 2 to 5)` {
  @Test func `a response head is taken off and the rest stays`() throws {
    let input = buffer("HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\nX: \r\n\r\nbody")
    let head = HTTPResponseHead(
      status: 200, reason: "OK", headers: HTTPHeaders([("Content-Type", "text/plain"), ("X", "")]))
    #expect(try HTTPHeadParser.response(from: input) == head)
    #expect(input.view.text == "body")
  }

  @Test func `a request head is taken off, with empty lines before it`() throws {
    let input = buffer("\r\n\r\nPOST /a?b=c HTTP/1.0\r\nHost: x\r\n\r\nrest")
    let head = HTTPRequestHead(
      method: "POST", target: "/a?b=c", headers: HTTPHeaders([("Host", "x")]), minorVersion: 0)
    #expect(try HTTPHeadParser.request(from: input) == head)
    #expect(input.view.text == "rest")
  }

  @Test func `a head without a reason or without fields is a head`() throws {
    #expect(try HTTPHeadParser.response(from: buffer("HTTP/1.1 101\r\n\r\n"))?.reason == "")
    #expect(try HTTPHeadParser.response(from: buffer("HTTP/1.1 101 \r\n\r\n"))?.status == 101)
    #expect(try HTTPHeadParser.response(from: buffer("HTTP/1.1 404 Not Found\r\n\r\n")) != nil)
  }

  /// An answer's lines may end with LF alone, and its fields may be folded.
  @Test(arguments: [
    (
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nA: b\r\n\r\nrest",
      ["websocket", "b"]
    ),
    ("HTTP/1.1 200 OK\nA: b\nC:d\n\nrest", ["b", "d"]),
    ("HTTP/1.1 200 OK\r\nA: b\nC: d\n\r\nrest", ["b", "d"]),
    ("HTTP/1.1 200 OK\nA: b\r\nC: d\r\n\nrest", ["b", "d"]),
    ("HTTP/1.1 200 OK\r\nA: b\r\n \tc\r\nC:\r\n d\r\n\r\nrest", ["b c", "d"]),
    ("HTTP/1.1 200 OK\r\nA: b\r\n \r\n c\r\nC: d\r\n\r\nrest", ["b c", "d"]),
  ])
  func `every split gives the same head, anew and resumed`(text: String, values: [String]) throws {
    let bytes = [UInt8](text.utf8)
    for split in 0...bytes.count {
      let input = buffer([UInt8](bytes[..<split]))
      var parser = HTTPHeadParser()
      var head = try parser.response(from: input)
      #expect((head != nil) == (split >= bytes.count - 4))
      let anew = buffer([UInt8](bytes[..<split]))
      #expect(try HTTPHeadParser.response(from: anew) == head)
      input.append([UInt8](bytes[split...]))
      if head == nil { head = try parser.response(from: input) }
      #expect(head?.headers.fields.map(\.value) == values)
      #expect(input.view.text == "rest")
    }
  }

  @Test func `a request that comes byte by byte is parsed at its last byte`() throws {
    let bytes = [UInt8]("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    let input = ByteBuffer()
    var parser = HTTPHeadParser()
    for byte in bytes.dropLast() {
      input.append(byte)
      #expect(try parser.request(from: input) == nil)
    }
    input.append(bytes[bytes.count - 1])
    #expect(try parser.request(from: input)?.target == "/")
    #expect(input.isEmpty)
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", HTTPError.invalidHeader),
    ("HTTP/1.1 200 OK\r\n folded\r\n\r\n", .obsoleteLineFolding),
    ("HTTP/1.1 200 OK\nA\n\n", .invalidHeader),
    ("HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n", .invalidHeader),
    ("HTTP/1.1 200 OK\r\nA: b\r\n c\u{0}\r\n\r\n", .invalidHeader),
    ("\n\n", .invalidStatusLine), ("\r\n\r\n", .invalidStatusLine),
    ("HTTP/1.1 200 OK\r\n: b\r\n\r\n", .invalidHeader),
    ("HTTP/1.1 200 OK\r\nA\r\n\r\n", .invalidHeader),
    ("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", .invalidHeader),
    ("HTTP/1.1 200 OK\r\nA: b\u{0}\r\n\r\n", .invalidHeader),
    ("HTTP/2.0 200 OK\r\n\r\n", .unsupportedVersion),
    ("HTTP/1.1 20 OK\r\n\r\n", .invalidStatusLine),
    ("HTTP/1.1 2000 OK\r\n\r\n", .invalidStatusLine),
    ("HTTP/1.1 099 OK\r\n\r\n", .invalidStatusLine),
    ("ICY 200 OK\r\n\r\n", .invalidStatusLine),
  ])
  func `a malformed response head is refused`(text: String, error: HTTPError) {
    #expect(throws: error) { try HTTPHeadParser.response(from: buffer(text)) }
  }

  @Test(arguments: [
    ("GET /\r\n", HTTPError.invalidRequestLine), ("GET  / HTTP/1.1\r\n", .invalidRequestLine),
    ("GET / x HTTP/1.1\r\n", .invalidRequestLine), ("G@T / HTTP/1.1\r\n", .invalidRequestLine),
    (" / HTTP/1.1\r\n", .invalidRequestLine), ("GET / HTTP/3.1\r\n", .unsupportedVersion),
    ("GET / http/1.1\r\n", .invalidRequestLine),
    // Requests that other readers may understand differently (RFC 9112 section 11.2).
    ("GET / HTTP/1.1\nHost: h\n\n", .bareLineFeed),
    ("GET / HTTP/1.1\r\nHost: h\n", .bareLineFeed),
    ("GET / HTTP/1.1\r\nHost: h\r\n\n", .bareLineFeed),
    ("GET / HTTP/1.1\r\nHost: h\r\n i\r\n", .obsoleteLineFolding),
  ])
  func `a malformed request head is refused`(text: String, error: HTTPError) {
    #expect(throws: error) { try HTTPHeadParser.request(from: buffer(text + "\r\n")) }
  }

  @Test(
    arguments: [
      (HTTPHeadLimits(bytes: 31), nil), (HTTPHeadLimits(bytes: 30), .headTooLarge(limit: 30)),
      (HTTPHeadLimits(headers: 2), nil), (HTTPHeadLimits(headers: 1), .tooManyHeaders(limit: 1)),
    ] as [(HTTPHeadLimits, HTTPError?)])
  func `the limits may be reached and not passed`(limits: HTTPHeadLimits, error: HTTPError?) {
    let head = buffer("HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n")
    let outcome = Result { () throws(HTTPError) in
      try HTTPHeadParser.response(from: head, limits: limits) != nil
    }
    let expected: Result<Bool, HTTPError> = error.map { .failure($0) } ?? .success(true)
    #expect(outcome == expected)
  }

  @Test func `an endless head is refused`() {
    #expect(throws: HTTPError.headTooLarge(limit: 65_536)) {
      try HTTPHeadParser.response(from: buffer(String(repeating: "a", count: 65_536)))
    }
  }

  @Test func `parts that would break the head are not written`() {
    for (method, target, field) in [
      ("GET /\r\n", "/", ("A", "b")), ("GET", "/ HTTP/1.1\r\nX: y", ("A", "b")),
      ("GET", "", ("A", "b")), ("GET", "/", ("A:", "b")), ("GET", "/", ("A", "b\r\nC: d")),
      ("GET", "/", ("A", "b\n")),
    ] {
      let head = HTTPRequestHead(method: method, target: target, headers: HTTPHeaders([field]))
      #expect(throws: HTTPError.self) { try head.encode() }
    }
    #expect(throws: HTTPError.invalidPart("reason")) {
      try HTTPResponseHead(status: 200, reason: "a\r\nb").encode()
    }
  }

  @Test func `names ignore case, and lists are split over fields`() {
    var headers = HTTPHeaders([("Connection", "keep-alive, Upgrade"), ("CONNECTION", " ,x ")])
    #expect(headers["connection"] == "keep-alive, Upgrade")
    #expect(headers.tokens("Connection") == ["keep-alive", "upgrade", "x"])
    for token in ["keep-alive", "upgrade", "x"] { #expect(headers.has(token, in: "connection")) }
    for token in ["keep", "", "close"] { #expect(!headers.has(token, in: "Connection")) }
    headers.replace("connection", with: "close")
    #expect(headers.has("close", in: "CONNECTION") && !headers.has("close", in: "Upgrade"))
    #expect(headers.all("Connection") == ["close"] && headers["None"] == nil)
  }
}

struct `Accepted content codings (RFC 9110 section 12.5.3)` {
  @Test(arguments: [
    (nil, false), ("", false), ("identity", false), ("gzip", true), ("GZip", true),
    ("x-gzip", true), ("gzip, deflate, br, zstd", true), ("br;q=1.0, gzip;q=0.5", true),
    ("gzip;q=0", false), ("gzip ; q=0.000", false), ("gzip;q=0.001", true), ("*", true),
    ("*;q=0", false), ("gzip;q=0, *", false), ("*;q=0, gzip", true), ("gzipped", false),
  ])
  func `gzip goes to those who take it`(field: String?, takes: Bool) {
    let headers = HTTPHeaders(field.map { [("Accept-Encoding", $0)] } ?? [])
    #expect(HTTPRequestHead(method: "GET", target: "/", headers: headers).takesGzip == takes)
  }
}
