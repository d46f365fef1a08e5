import Testing

@testable import PusherCore

/// Several requests on one connection: RFC 9112 section 9.3.
@Suite struct HTTPConnectionTests {
  /// Sends the next prepared answer to each request; an empty one ends the connection instead.
  private final class Server: SocketStreamDelegate {
    private(set) var connections = 0
    private(set) var requests: [String] = []
    var answers: [String]
    private var listener: Listener?
    private var streams: [SocketStream] = []
    private let input = ByteBuffer()

    init(
      _ loop: EventLoop, _ answers: [String], tls: TLSContext? = nil
    ) throws(TransportError) {
      self.answers = answers
      listener = try Listener(loop: loop, host: "127.0.0.1", port: 0) {
        [unowned self, unowned loop] descriptor, peer, _ in
        connections += 1
        streams.append(
          .adopt(
            loop: loop, descriptor: descriptor, peer: peer, tls: tls, delegate: self))
      }
    }

    var port: UInt16 { listener?.address.port ?? 0 }

    /// Reads the first connection without the loop.
    func receive() -> String {
      _ = try? streams.first?.read(into: input, atMost: 65_536)
      return input.view.text
    }

    func endIdleConnections() { for stream in streams { stream.close() } }

    func streamOpened(_ stream: SocketStream, at now: Instant) {}
    func streamWritable(_ stream: SocketStream, at now: Instant) {}
    func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {}

    func streamReadable(_ stream: SocketStream, at now: Instant) {
      guard case .bytes? = try? stream.read(into: input, atMost: 65_536) else {
        return stream.close()
      }
      guard input.view.text.contains("\r\n\r\n") else { return }
      requests.append(input.view.text)
      input.removeAll()
      let answer = answers.isEmpty ? "" : answers.removeFirst()
      if answer.isEmpty { return stream.close() }
      let output = ByteBuffer()
      output.append(answer)
      try? stream.write(from: output)
    }
  }

  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  private final class Run {
    let harness: LoopHarness
    let server: Server
    let client: HTTPConnection

    init(_ answers: [String]) throws {
      harness = try LoopHarness()
      server = try Server(harness.loop, answers)
      let url = try HTTPURL(parsing: "http://127.0.0.1:\(server.port)/")
      client = HTTPConnection(
        loop: harness.loop, to: Destination(url: url), timeout: .seconds(60))
    }

    func ask(
      _ method: String = "GET", _ change: (inout HTTPExchange.Request) -> Void = { _ in }
    ) throws -> Int? {
      let url = try HTTPURL(parsing: "http://127.0.0.1:\(server.port)/x")
      var status: Int?
      var request = HTTPExchange.Request(method: method, url: url)
      change(&request)
      try client.send(request) { [harness] result, _ in
        status = (try? result.get())?.head.status
        harness.loop.stop()
      }
      #expect(harness.run())
      return status
    }
  }

  @Test func `one connection serves one request after another`() throws {
    let run = try Run([Self.ok, Self.ok, Self.ok])
    for _ in 0..<3 { #expect(try run.ask("POST") == 200) }
    #expect(run.server.connections == 1)
    #expect(!run.server.requests[0].lowercased().contains("connection:"))
  }

  @Test func `over a kept connection a request is written before the loop's next round`() throws {
    let run = try Run([Self.ok])
    #expect(try run.ask() == 200)
    let url = try HTTPURL(parsing: "http://127.0.0.1:\(run.server.port)/second")
    try run.client.send(HTTPExchange.Request(method: "GET", url: url)) { _, _ in }
    #expect(run.server.receive().hasPrefix("GET /second HTTP/1.1\r\n"))
    run.client.close()
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 what nobody asked for\r\n\r\n",
  ])
  func `a server that does not keep the connection gets a new one`(answer: String) throws {
    let run = try Run([answer, Self.ok])
    #expect(try run.ask() == 200)
    #expect(try run.ask() == 200)
    #expect(run.server.connections == 2)
  }

  @Test func `a connection that has ended meanwhile is not used`() throws {
    let run = try Run([Self.ok, Self.ok])
    #expect(try run.ask("POST") == 200)
    run.server.endIdleConnections()
    #expect(try run.ask("POST") == 200)
    #expect(run.server.connections == 2)
  }

  @Test func `what may be repeated is repeated once when a kept connection breaks`() throws {
    let run = try Run([Self.ok, "", Self.ok])
    #expect(try run.ask() == 200)
    #expect(try run.ask() == 200)
    #expect(run.server.requests.count == 3 && run.server.connections == 2)
  }

  @Test func `what may have had an effect is not repeated`() throws {
    let run = try Run([Self.ok, "", Self.ok])
    #expect(try run.ask("POST") == 200)
    #expect(try run.ask("POST") == nil)
    #expect(run.server.requests.count == 2)
  }

  @Test func `what its sender says may be repeated is`() throws {
    let run = try Run([Self.ok, "", Self.ok])
    #expect(try run.ask("POST") == 200)
    #expect(try run.ask("POST") { $0.isRepeatable = true } == 200)
    #expect(run.server.requests.count == 3 && run.server.connections == 2)
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
    #expect(run.server.connections == 3)
  }

  @Test func `pinned keys and the client's certificate are for the first server only`() throws {
    let files = TestCertificates.shared
    let harness = try LoopHarness()
    func context(_ name: String) throws -> TLSContext {
      try .server(certificateFile: files.certificate(name), keyFile: files.key(name))
    }
    let last = try Server(harness.loop, [Self.ok], tls: context("self"))
    let redirect =
      "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://127.0.0.1:\(last.port)/y\r\n\r\n"
    let first = try Server(harness.loop, [redirect], tls: context("localhost"))
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
      Issue.record("the first server's key is not checked")
      return
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

  @Test func `a connection whose body is not wanted is kept, when the body is short`() throws {
    let run = try Run([Self.ok, Self.ok])
    for _ in 0..<2 { #expect(try run.ask("POST") { $0.wantsBody = false } == 200) }
    #expect(run.server.connections == 1)
  }
}
