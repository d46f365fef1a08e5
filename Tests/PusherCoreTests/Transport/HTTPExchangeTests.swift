import PusherCore
import Testing

/// Requests over loopback with scripted answers: RFC 9112.
@Suite struct HTTPExchangeTests {
  private typealias Outcome = Result<HTTPExchange.Response, HTTPExchange.Failure>

  /// Sends fixed bytes after the first complete request, then closes.
  private final class ScriptedServer {
    private(set) var request = ""
    private var listener: Listener?
    private var stream: SocketStream?
    private let recorder = Recorder()

    init(_ loop: EventLoop, answer: String, until marker: String, tls: TLSContext? = nil)
      throws(TransportError)
    {
      recorder.onChange = { [unowned self] stream in
        self.request = self.recorder.input.view.text
        guard self.request.hasSuffix(marker), !answer.isEmpty, stream.isOpen else { return }
        self.recorder.output.append(answer)
        try? stream.write(from: self.recorder.output)
        stream.close()
      }
      listener = try Listener(loop: loop, host: "127.0.0.1", port: 0) {
        [unowned self, unowned loop] descriptor, peer, _ in
        self.stream = .adopt(
          loop: loop, descriptor: descriptor, peer: peer, tls: tls, delegate: self.recorder)
      }
    }

    var port: UInt16 { listener?.address.port ?? 0 }
  }

  private func exchange(
    _ answer: String, method: String = "POST", body: String = "a=b", userInfo: String = "",
    secure: Bool = false, timeout: Duration = .seconds(60)
  ) throws -> (outcome: Outcome?, request: String) {
    let harness = try LoopHarness()
    let files = TestCertificates.shared
    let server = try ScriptedServer(
      harness.loop, answer: answer, until: body.isEmpty ? "\r\n\r\n" : body,
      tls: secure
        ? .server(
          certificateFile: files.certificate("localhost"), keyFile: files.key("localhost")) : nil)
    let scheme = secure ? "https" : "http"
    let url = try HTTPURL(parsing: "\(scheme)://\(userInfo)127.0.0.1:\(server.port)/auth?x=1")
    var outcome: Outcome?
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
    return (outcome, server.request)
  }

  private func body(_ outcome: Outcome?) throws -> String? {
    try outcome.map { String(decoding: try $0.get().body, as: UTF8.self) }
  }

  @Test(arguments: [false, true])
  func `a request goes out with its length, and the answer comes back`(secure: Bool) throws {
    let (outcome, request) = try exchange(
      "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", secure: secure)
    #expect(try body(outcome) == "no")
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
    #expect(try body(exchange(answer).outcome) == "hello")
  }

  @Test func `credentials of the URL are sent as RFC 7617 says`() throws {
    let (_, request) = try exchange(
      "HTTP/1.1 204 No Content\r\n\r\n", method: "GET", body: "", userInfo: "me:p%20w@")
    #expect(request.contains("\r\nAuthorization: Basic bWU6cCB3\r\n"))
    #expect(!request.contains("Content-Length"))
  }

  @Test func `an answer that is cut short is an error`() throws {
    let (outcome, _) = try exchange("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
    #expect(outcome == .failure(.http(.endedEarly)))
    #expect(try exchange("HTTP/1.1 200").outcome == .failure(.http(.endedEarly)))
  }

  @Test func `a body over the limit is an error that names it`() throws {
    let (outcome, _) = try exchange("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n")
    #expect(outcome == .failure(.http(.bodyTooLarge(limit: 100))))
  }

  @Test func `a server that does not answer runs into the deadline`() throws {
    let (outcome, _) = try exchange("", timeout: .milliseconds(30))
    #expect(outcome == .failure(.timeout(.milliseconds(30))))
  }
}
