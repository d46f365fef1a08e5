import PusherCore
import TestSupport
import Testing

@Suite("HTTP bodies (RFC 9112 sections 6 and 7)")
struct HTTPBodyReaderTests {
  private func head(_ fields: [(String, String)], status: Int = 200) -> HTTPResponseHead {
    HTTPResponseHead(status: status, reason: "", headers: HTTPHeaders(fields))
  }

  private static let chunked = [("Transfer-Encoding", "chunked")]
  private static let sample =
    "4;name=\"v\"\r\nWiki\r\nA \r\npedia in c\r\n0\r\nT: x\r\nU: y\r\n\r\nnext"

  @Test func `a counted body ends at its count`() throws {
    var reader = try HTTPBodyReader(head([("Content-Length", "4")]), requestMethod: "GET")
    let body = ByteBuffer()
    let source = buffer("ab")
    #expect(try !reader.read(from: source, into: body))
    source.append("cdef")
    #expect(try reader.read(from: source, into: body))
    #expect(body.view.text == "abcd")
    #expect(source.view.text == "ef")
    try reader.inputEnded()
  }

  @Test func `a chunked body with extensions and trailers is read at every split point`() throws {
    let bytes = [UInt8](Self.sample.utf8)
    for split in 0...bytes.count {
      var reader = try HTTPBodyReader(head(Self.chunked), requestMethod: "GET")
      let body = ByteBuffer()
      let source = buffer([UInt8](bytes[..<split]))
      let early = try reader.read(from: source, into: body)
      #expect(early == (split >= bytes.count - 4))
      source.append([UInt8](bytes[split...]))
      #expect(try reader.read(from: source, into: body))
      #expect(body.view.text == "Wikipedia in c")
      #expect(source.view.text == "next")
    }
  }

  private func outcome(of bytes: [UInt8], step: Int, limit: Int) throws -> String {
    var reader = try HTTPBodyReader(head(Self.chunked), requestMethod: "GET", limit: limit)
    let (source, body) = (ByteBuffer(), ByteBuffer())
    var isComplete = false
    do {
      for start in stride(from: 0, to: bytes.count, by: step) where !isComplete {
        source.append([UInt8](bytes[start..<min(start + step, bytes.count)]))
        isComplete = try reader.read(from: source, into: body)
      }
    } catch {
      return "\(error) after \(body.view.text)"
    }
    return "\(isComplete) \(body.view.text)"
  }

  @Test
  func `chunks of every spelling, whole and damaged, are read alike at once and byte by byte`()
    throws
  {
    var random = SeededGenerator(seed: 91)
    let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
    var outcomes: Set<Bool> = []
    for _ in 0..<3000 {
      var text: [UInt8] = []
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        let size = Int.random(in: 1...40, using: &random)
        let digits = String(size, radix: 16, uppercase: Bool.random(using: &random))
        let zeros = String(
          repeating: "0", count: [0, 0, 0, 1, 6, 7, 12].randomElement(using: &random) ?? 0)
        let extra = ["", "", "", " ", ";a=b"].randomElement(using: &random) ?? ""
        text += Array("\(zeros)\(digits)\(extra)\r\n".utf8)
        text += (0..<size).map { letters[$0 % 26] } + [0x0D, 0x0A]
      }
      text += Array("0\r\n\r\n".utf8)
      if Bool.random(using: &random) {
        let damage = Array("\r\n;0fG \0\u{FF}".utf8)
        text[Int.random(in: text.indices, using: &random)] =
          damage.randomElement(using: &random) ?? 0
      }
      let limit = [100, 1000].randomElement(using: &random) ?? 0
      let whole = try outcome(of: text, step: text.count, limit: limit)
      #expect(try outcome(of: text, step: 1, limit: limit) == whole)
      outcomes.insert(whole.hasPrefix("true"))
    }
    #expect(outcomes.count == 2)
  }

  @Test func `an answer of HTTP/1.0 may come in chunks, a request may not`() throws {
    var old = head(Self.chunked)
    old.minorVersion = 0
    var reader = try HTTPBodyReader(old, requestMethod: "GET")
    let body = ByteBuffer()
    #expect(try reader.read(from: buffer(Self.sample), into: body))
    #expect(body.view.text == "Wikipedia in c")
    let request = HTTPRequestHead(
      method: "POST", target: "/", headers: HTTPHeaders(Self.chunked), minorVersion: 0)
    #expect(throws: HTTPError.unsupportedTransferEncoding) { try HTTPBodyReader(request) }
  }

  @Test func `an answer without a length ends with the connection`() throws {
    var reader = try HTTPBodyReader(head([]), requestMethod: "GET")
    #expect(reader.endsWithConnection)
    let body = ByteBuffer()
    #expect(try !reader.read(from: buffer("abc"), into: body))
    try reader.inputEnded()
    #expect(try reader.read(from: ByteBuffer(), into: body))
    #expect(body.view.text == "abc")
  }

  @Test func `some answers have no body whatever their fields say`() throws {
    for status in [100, 101, 204, 304] {
      let reader = try HTTPBodyReader(
        head([("Content-Length", "9")], status: status), requestMethod: "GET")
      #expect(reader.isComplete)
    }
    #expect(try HTTPBodyReader(head([("Content-Length", "9")]), requestMethod: "HEAD").isComplete)
    #expect(try HTTPBodyReader(head([("Content-Length", "0")]), requestMethod: "GET").isComplete)
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
    #expect(throws: error) {
      try HTTPBodyReader(head(fields), requestMethod: "GET", limit: 100)
    }
  }

  @Test func `equal lengths given twice are one length`() throws {
    var reader = try HTTPBodyReader(
      head([("Content-Length", "2"), ("Content-Length", "2, 2")]), requestMethod: "GET")
    let isComplete = try reader.read(from: buffer("ab"), into: ByteBuffer())
    #expect(isComplete)
  }

  @Test(arguments: [
    ("x\r\n", HTTPError.invalidChunk), ("\r\n", .invalidChunk), ("3\nabc", .invalidChunk),
    ("3 x\r\nabc", .invalidChunk), ("-1\r\n", .invalidChunk), ("3\r\nabcd\r\n", .invalidChunk),
    ("ffffffffffffffffff\r\n", .bodyTooLarge(limit: 100)), ("65\r\n", .bodyTooLarge(limit: 100)),
  ])
  func `a malformed chunked body is refused`(text: String, error: HTTPError) throws {
    var reader = try HTTPBodyReader(head(Self.chunked), requestMethod: "GET", limit: 100)
    #expect(throws: error) { try reader.read(from: buffer(text), into: ByteBuffer()) }
  }

  @Test func `an endless size line and endless trailers are refused`() throws {
    let line = "1;" + String(repeating: "x", count: 5000)
    let trailers =
      "0\r\n" + String(repeating: "A: \(String(repeating: "x", count: 1000))\r\n", count: 70)
    for (text, error) in [
      (line, HTTPError.chunkLineTooLong(limit: 4096)),
      (trailers, .trailersTooLarge(limit: 65_536)),
    ] {
      var reader = try HTTPBodyReader(head(Self.chunked), requestMethod: "GET")
      #expect(throws: error) { try reader.read(from: buffer(text), into: ByteBuffer()) }
    }
  }

  @Test func `the limit may be reached and not passed`() throws {
    for (text, error) in [("64\r\n", nil), ("65\r\n", HTTPError.bodyTooLarge(limit: 100))] {
      var reader = try HTTPBodyReader(head(Self.chunked), requestMethod: "GET", limit: 100)
      if let error {
        #expect(throws: error) { try reader.read(from: buffer(text), into: ByteBuffer()) }
      } else {
        #expect(try !reader.read(from: buffer(text), into: ByteBuffer()))
      }
    }
    var reader = try HTTPBodyReader(head([]), requestMethod: "GET", limit: 3)
    #expect(try !reader.read(from: buffer("abc"), into: ByteBuffer()))
    #expect(throws: HTTPError.bodyTooLarge(limit: 3)) {
      try reader.read(from: buffer("d"), into: ByteBuffer())
    }
  }

  @Test func `an end inside a body is noticed`() throws {
    for (fields, text) in [([("Content-Length", "4")], "abc"), (Self.chunked, "4\r\nabcd\r\n")] {
      var reader = try HTTPBodyReader(head(fields), requestMethod: "GET")
      #expect(try !reader.read(from: buffer(text), into: ByteBuffer()))
      #expect(throws: HTTPError.endedEarly) { try reader.inputEnded() }
    }
  }
}
