import Testing

@testable import PusherCore

/// Several requests on one connection: RFC 9112 section 9.3.
struct HTTPConnectionTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  private final class Run {
    let harness: LoopHarness
    let server: AnsweringServer
    let client: HTTPConnection

    init(_ answers: [String]) throws {
      harness = try LoopHarness()
      server = try AnsweringServer(harness.loop, answers)
      client = HTTPConnection(
        loop: harness.loop, to: Destination(url: try Self.url(server)), timeout: .seconds(60))
    }

    static func url(_ server: AnsweringServer, _ path: String = "/") throws -> HTTPURL {
      try HTTPURL(parsing: "http://127.0.0.1:\(server.port)\(path)")
    }

    var connections: Int { server.sockets?.streams.count ?? 0 }

    func ask(
      _ method: String = "GET", _ change: (inout HTTPExchange.Request) -> Void = { _ in }
    ) throws -> Int? {
      var status: Int?
      var request = HTTPExchange.Request(method: method, url: try Self.url(server, "/x"))
      change(&request)
      try client.send(request) { [harness] result, _ in
        status = (try? result.get())?.head.status
        harness.loop.stop()
      }
      #expect(harness.run())
      return status
    }
  }

  @Test(arguments: [true, false])
  func `one connection serves one request after another`(wantsBody: Bool) throws {
    let run = try Run([Self.ok, Self.ok, Self.ok])
    for _ in 0..<3 { #expect(try run.ask("POST") { $0.wantsBody = wantsBody } == 200) }
    #expect(run.connections == 1 && !run.server.requests[0].lowercased().contains("connection:"))
  }

  @Test func `over a kept connection a request is written before the loop's next round`() throws {
    let run = try Run([Self.ok])
    #expect(try run.ask() == 200)
    let url = try Run.url(run.server, "/second")
    try run.client.send(HTTPExchange.Request(method: "GET", url: url)) { _, _ in }
    let received = ByteBuffer()
    _ = try run.server.sockets?.streams[0].read(into: received, atMost: 65_536)
    #expect(received.view.text.hasPrefix("GET /second HTTP/1.1\r\n"))
    run.client.close()
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 what nobody asked for\r\n\r\n",
  ])
  func `a server that does not keep the connection gets a new one`(answer: String) throws {
    let run = try Run([answer, Self.ok])
    for _ in 0..<2 { #expect(try run.ask() == 200) }
    #expect(run.connections == 2)
  }

  @Test func `a connection that has ended meanwhile is not used`() throws {
    let run = try Run([Self.ok, Self.ok])
    #expect(try run.ask("POST") == 200)
    for stream in run.server.sockets?.streams ?? [] { stream.close() }
    #expect(try run.ask("POST") == 200)
    #expect(run.connections == 2)
  }

  @Test(
    arguments: [
      ("GET", false, 200, 3), ("POST", false, nil, 2), ("POST", true, 200, 3),
    ] as [(String, Bool, Int?, Int)])
  func `when a kept connection breaks, a request is repeated once if it may be`(
    method: String, isRepeatable: Bool, status: Int?, requests: Int
  ) throws {
    let run = try Run([Self.ok, "", Self.ok])
    #expect(try run.ask(method) == 200)
    #expect(try run.ask(method) { if isRepeatable { $0.isRepeatable = true } } == status)
    #expect(run.server.requests.count == requests && run.connections == requests - 1)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
    "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n",
  ])
  func `where the body is not wanted the head is answer enough`(answer: String) throws {
    let run = try Run([answer, answer, Self.ok])
    #expect(try run.ask() == nil)
    #expect(try run.ask { $0.wantsBody = false } == Int(answer.dropFirst(9).prefix(3)))
    // The next request does not read leftovers of this answer.
    #expect(try run.ask { $0.wantsBody = false } == 200)
    #expect(run.connections == 3)
  }

  @Test func `pinned keys and the client's certificate are for the first server only`() throws {
    let files = TestCertificates.shared
    let harness = try LoopHarness()
    let last = try AnsweringServer(harness.loop, [Self.ok], tls: files.server("self"))
    let redirect =
      "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://127.0.0.1:\(last.port)/y\r\n\r\n"
    let first = try AnsweringServer(harness.loop, [redirect], tls: files.server())
    let url = try HTTPURL(parsing: "https://127.0.0.1:\(first.port)/x")
    var destination = Destination(url: url, tls: TLSConfiguration(insecure: true))
    func ask() throws -> HTTPExchange.Outcome? {
      var request = HTTPExchange.Request(method: "GET", url: url)
      request.followsRedirects = true
      var outcome: HTTPExchange.Outcome?
      _ = try HTTPExchange(
        loop: harness.loop, request: request, to: destination, timeout: .seconds(60)
      ) { [loop = harness.loop] result, _ in
        outcome = result
        loop.stop()
      }
      #expect(harness.run())
      return outcome
    }

    destination.tls.pins = [try #require(PublicKeyPin(digest: [UInt8](repeating: 0, count: 32)))]
    guard case .failure(.transport(.tls(.publicKey(let seen, _))))? = try ask() else {
      return unexpected("the first server's key is not checked")
    }
    destination.tls.pins = [seen]
    destination.tls.certificateFile = files.certificate("localhost")
    destination.tls.keyFile = files.key("localhost")
    #expect(try ask()?.get().head.status == 200)
    #expect(last.requests.first?.hasPrefix("GET /y ") == true)
    let elsewhere = try HTTPURL(parsing: "https://127.0.0.1:\(last.port)/y")
    #expect(try destination.tlsContext(harness.loop, to: url)?.hasCertificate == true)
    #expect(try destination.tlsContext(harness.loop, to: elsewhere)?.hasCertificate == false)
  }

  @Test func `a redirect to TLS at the same host keeps the pinned keys`() throws {
    let loop = try EventLoop()
    let pin = try #require(PublicKeyPin(digest: [UInt8](repeating: 0, count: 32)))
    let destination = Destination(
      url: try HTTPURL(parsing: "http://example.com/"),
      tls: TLSConfiguration(insecure: true, pins: [pin]))
    for (url, pins) in [("https://example.com/", 1), ("https://example.org/", 0)] {
      let context = try destination.tlsContext(loop, to: HTTPURL(parsing: url))
      #expect(context?.pins.count == pins)
    }
  }
}
