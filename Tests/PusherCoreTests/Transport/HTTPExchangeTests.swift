import PusherCore
import Testing

/// Requests over loopback with scripted answers: RFC 9112.
struct HTTPExchangeTests {
  private func exchange(
    _ answer: String, method: String = "POST", body: String = "a=b", userInfo: String = "",
    secure: Bool = false, timeout: Duration = .seconds(60)
  ) throws -> (outcome: HTTPExchange.Outcome?, request: String) {
    let harness = try LoopHarness()
    let files = TestCertificates.shared
    let server = try AnsweringServer(
      harness.loop, [answer], tls: secure ? files.server() : nil,
      end: answer.isEmpty ? "never" : body.isEmpty ? "\r\n\r\n" : body, closes: true)
    let scheme = secure ? "https" : "http"
    let url = try HTTPURL(parsing: "\(scheme)://\(userInfo)127.0.0.1:\(server.port)/auth?x=1")
    var outcome: HTTPExchange.Outcome?
    _ = try HTTPExchange(
      loop: harness.loop,
      request: HTTPExchange.Request(method: method, url: url, body: [UInt8](body.utf8)),
      to: Destination(url: url, tls: TLSConfiguration(caFile: files.authority)), timeout: timeout,
      bodyLimit: 100
    ) { result, _ in
      outcome = result
      harness.loop.stop()
    }
    #expect(harness.run())
    return (outcome, server.requests.first ?? "")
  }

  @Test(arguments: [false, true])
  func `a request goes out with its length, and the answer comes back`(secure: Bool) throws {
    let (outcome, request) = try exchange(
      "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", secure: secure)
    #expect(try outcome?.get().body == Array("no".utf8))
    #expect(try outcome?.get().head.status == 403)
    #expect(request.hasPrefix("POST /auth?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"))
    #expect(request.hasSuffix("\r\nContent-Length: 3\r\nConnection: close\r\n\r\na=b"))
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nhello",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  ])
  func `chunked, unmeasured and announced answers are read`(answer: String) throws {
    #expect(try exchange(answer).outcome?.get().body == Array("hello".utf8))
  }

  @Test func `credentials of the URL are sent as RFC 7617 says`() throws {
    let (_, request) = try exchange(
      "HTTP/1.1 204 No Content\r\n\r\n", method: "GET", body: "", userInfo: "me:p%20w@")
    #expect(request.contains("\r\nAuthorization: Basic bWU6cCB3\r\n"))
    #expect(!request.contains("Content-Length"))
  }

  @Test(
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", .http(.endedEarly)),
      ("HTTP/1.1 200", .http(.endedEarly)),
      ("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", .http(.bodyTooLarge(limit: 100))),
      ("", .timeout(.milliseconds(30))),
    ] as [(String, HTTPExchange.Failure)])
  func `an unusable answer to HTTP fails`(answer: String, failure: HTTPExchange.Failure) throws {
    let timeout = answer.isEmpty ? Duration.milliseconds(30) : .seconds(60)
    #expect(try exchange(answer, timeout: timeout).outcome == .failure(failure))
  }
}
