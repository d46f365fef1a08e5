import PusherCore
import PusherServer
import TestSupport
import Testing

struct `RFC 9112 sections 6 and 9, a server's requests` {
  private static let two =
    "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    + "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test func `requests come one at a time, at every split`() throws {
    let bytes = Array(Self.two.utf8)
    for split in 0...bytes.count {
      var reader = HTTPRequestReader(bodyLimit: 10)
      let input = ByteBuffer()
      var requests: [HTTPRequestReader.Request] = []
      for part in [bytes[..<split], bytes[split...]] {
        input.append(Array(part))
        while let request = try reader.next(from: input) { requests.append(request) }
      }
      #expect(requests.map(\.head.target) == ["/a", "/b"])
      #expect(requests.map(\.body) == [Array("abc".utf8), []])
      #expect(requests.map(\.keepsAlive) == [true, false])
      #expect(!reader.isInside(input))
    }
  }

  @Test(arguments: [
    ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
    ("HTTP/1.1", "Connection: foo, Close\r\n", false), ("HTTP/1.0", "", false),
    ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
  ])
  func `a connection is kept as the version and the client say`(
    version: String, field: String, keeps: Bool
  ) throws {
    #expect(try Self.read("GET / \(version)\r\nHost: x\r\n\(field)\r\n")?.keepsAlive == keeps)
  }

  private static func read(_ text: String) throws(HTTPError) -> HTTPRequestReader.Request? {
    var reader = HTTPRequestReader(bodyLimit: 10)
    return try reader.next(from: buffer(text))
  }

  /// RFC 9112 section 3.2.
  @Test(
    arguments: [
      ("HTTP/1.0", "", nil), ("HTTP/1.0", "Host: a\r\n", nil),
      ("HTTP/1.1", "Host: a.test:6001\r\n", nil), ("HTTP/1.1", "Host: [::1]:80\r\n", nil),
      ("HTTP/1.1", "Host: a:\r\n", nil), ("HTTP/1.1", "Host: 127.0.0.1\r\n", nil),
      ("HTTP/1.1", "", .hostMissing), ("HTTP/1.1", "Host: a\r\nHost: a\r\n", .hostRepeated),
      ("HTTP/1.0", "Host: a\r\nhost: b\r\n", .hostRepeated),
      ("HTTP/1.1", "Host: a, b\r\n", .invalidHost), ("HTTP/1.1", "Host: u@a\r\n", .invalidHost),
      ("HTTP/1.1", "Host: a/b\r\n", .invalidHost), ("HTTP/1.1", "Host: a:x\r\n", .invalidHost),
      ("HTTP/1.1", "Host: a:70000\r\n", .invalidHost), ("HTTP/1.1", "Host: \r\n", .invalidHost),
      ("HTTP/1.1", "Host: [::1\r\n", .invalidHost), ("HTTP/1.1", "Host: a\u{e9}\r\n", .invalidHost),
    ] as [(String, String, HTTPError?)])
  func `a request names one host; none, two or something else is refused`(
    version: String, fields: String, error: HTTPError?
  ) throws {
    let text = "GET / \(version)\r\n\(fields)\r\n"
    guard let error else { return #expect(try Self.read(text) != nil) }
    #expect(throws: error) { try Self.read(text) }
    #expect(HTTPAnswer(error).status == 400)
  }

  @Test func `a body beyond the limit is refused before it comes`() {
    #expect(throws: HTTPError.bodyTooLarge(limit: 10)) {
      try Self.read("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n")
    }
    #expect(HTTPAnswer(.bodyTooLarge(limit: 10)).status == 413)
  }

  @Test func `who waits for a word before the body gets it once`() throws {
    var reader = HTTPRequestReader(bodyLimit: 10)
    let input = buffer(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    #expect(try reader.next(from: input) == nil)
    #expect(try reader.takeContinue()?.encode() == Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    #expect(reader.takeContinue() == nil)
    input.append("ok")
    #expect(try reader.next(from: input)?.body == Array("ok".utf8))
  }

  @Test func `answers are counted and say when the connection ends`() {
    let output = ByteBuffer()
    HTTPAnswer.json(.object([])).write(to: output, keepsAlive: true)
    HTTPAnswer.refusal(405, "no", allow: "GET").write(to: output, keepsAlive: false)
    #expect(
      output.view.text
        == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        + "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n"
        + "Content-Length: 3\r\nAllow: GET\r\nConnection: close\r\n\r\nno\n")
  }
}
