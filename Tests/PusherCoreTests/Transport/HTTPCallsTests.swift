import TestSupport
import Testing

@testable import PusherCore

/// Calls from any thread over connections that are kept for a while (RFC 9112 section 9.3).
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Calls over kept connections` {
  private static let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)

  private static func server(answers: Int = .max) throws -> RawServer {
    try RawServer { peer in
      var left = answers
      while left > 0, !peer.head().isEmpty {
        peer.send(Self.answer)
        left -= 1
      }
    }
  }

  private static func call(
    _ calls: HTTPCalls, _ server: RawServer, method: String = "GET",
    tls: TLSConfiguration = TLSConfiguration()
  ) async throws -> HTTPCall.Outcome {
    let url = try HTTPURL(parsing: "http://127.0.0.1:\(server.port)/")
    return await calls.outcome(
      of: HTTPCall(.init(method: method, url: url), tls: tls, timeout: .seconds(600)))
  }

  private static func isAnswer(_ outcome: HTTPCall.Outcome) -> Bool {
    if case .success = outcome { true } else { false }
  }

  @Test func `calls one after another share a connection`() async throws {
    let (server, calls) = (try Self.server(), HTTPCalls(on: LoopThread(name: "calls")))
    for _ in 0..<20 { #expect(Self.isAnswer(try await Self.call(calls, server))) }
    #expect(server.opened.values.count == 1)
  }

  @Test func `a connection without a call is closed after a while, and the thread ends`()
    async throws
  {
    let server = try Self.server()
    let calls = HTTPCalls(on: LoopThread(name: "calls"), idleTime: .milliseconds(1))
    #expect(Self.isAnswer(try await Self.call(calls, server)))
    _ = try await server.closed.wait()
    try await condition("the calls have left their thread") { !calls.isWorking }
    #expect(Self.isAnswer(try await Self.call(calls, server)))
  }

  @Test func `a connection that is kept for another server gives way`() async throws {
    let (first, second) = (try Self.server(), try Self.server())
    let calls = HTTPCalls(on: LoopThread(name: "calls"), limit: 1)
    #expect(Self.isAnswer(try await Self.call(calls, first)))
    #expect(Self.isAnswer(try await Self.call(calls, second)))
    _ = try await first.closed.wait()
    #expect(second.closed.values.isEmpty)
  }

  @Test func `other TLS settings, another proxy or another server mean another connection`()
    async throws
  {
    let url = try HTTPURL(parsing: "https://example.com/a")
    func way(
      _ text: String = "https://example.com/b", _ tls: TLSConfiguration = TLSConfiguration(),
      proxy: String? = nil
    ) throws -> Destination {
      HTTPCall(
        .init(method: "GET", url: try HTTPURL(parsing: text)),
        routing: try Routing(proxy: proxy, environment: [:]), tls: tls, timeout: .seconds(1)
      ).way
    }
    let first = HTTPCall(.init(method: "GET", url: url), timeout: .seconds(2)).way
    #expect(try first == way())
    #expect(try first != way("http://example.com/a"))
    #expect(try first != way("https://example.com:444/a"))
    #expect(try first != way("https://example.com/a", TLSConfiguration(insecure: true)))
    #expect(try first != way(proxy: "http://127.0.0.1:1"))

    let (server, calls) = (try Self.server(), HTTPCalls(on: LoopThread(name: "calls")))
    for insecure in [false, true, false] {
      let tls = TLSConfiguration(insecure: insecure)
      #expect(Self.isAnswer(try await Self.call(calls, server, tls: tls)))
    }
    #expect(server.opened.values.count == 2)
  }

  @Test func `a call that changes nothing is made again where a kept connection has ended`()
    async throws
  {
    let gate = RawServer.Gate()
    let server = try RawServer { peer in
      guard !peer.head().isEmpty else { return }
      peer.send(Self.answer)
      // The server reads the second request on the first connection and does not answer.
      if gate.isOpen {
        while !peer.head().isEmpty { peer.send(Self.answer) }
      } else {
        gate.open()
        _ = peer.head()
      }
    }
    let calls = HTTPCalls(on: LoopThread(name: "calls"))
    #expect(Self.isAnswer(try await Self.call(calls, server)))
    #expect(Self.isAnswer(try await Self.call(calls, server)))
    #expect(server.opened.values.count == 2)
  }

  @Test func `a call that may change something is not made again`() async throws {
    let server = try RawServer { peer in
      guard !peer.head().isEmpty else { return }
      peer.send(Self.answer)
      _ = peer.head()
    }
    let calls = HTTPCalls(on: LoopThread(name: "calls"))
    #expect(Self.isAnswer(try await Self.call(calls, server)))
    let outcome = try await Self.call(calls, server, method: "POST")
    #expect(!Self.isAnswer(outcome), "\(outcome)")
    #expect(server.opened.values.count == 1)
  }

  @Test func `a thousand calls to a silent server have as many connections as there may be`()
    async throws
  {
    let server = try RawServer { $0.waitForEnd() }
    let calls = HTTPCalls(on: LoopThread(name: "calls"), limit: 8)
    let url = try HTTPURL(parsing: "http://127.0.0.1:\(server.port)/")
    let tasks = (0..<1_000).map { _ in
      Task {
        await calls.outcome(of: HTTPCall(.init(method: "GET", url: url), timeout: .seconds(600)))
      }
    }
    _ = try await server.opened.wait(for: 8)
    #expect(server.opened.values.count == 8)
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == .failure(.cancelled)) }
    try await condition("the calls have left their thread") { !calls.isWorking }
  }
}
