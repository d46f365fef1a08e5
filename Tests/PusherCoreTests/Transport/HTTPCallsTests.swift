import TestSupport
import Testing

@testable import PusherCore

/// Calls from any thread over connections that are kept for a while (RFC 9112 section 9.3).
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Calls over kept connections` {
  private static let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)

  private static func server() throws -> RawServer {
    try RawServer { peer in
      while !peer.head().isEmpty { peer.send(Self.answer) }
    }
  }

  /// Returns whether a call is answered.
  private static func call(
    _ calls: HTTPCalls, _ server: RawServer, tls: TLSConfiguration = TLSConfiguration()
  ) async throws -> Bool {
    let url = try HTTPURL(parsing: "http://127.0.0.1:\(server.port)/")
    let outcome = await calls.outcome(
      of: HTTPCall(.init(method: "GET", url: url), tls: tls, timeout: .seconds(600)))
    return (try? outcome.get()) != nil
  }

  @Test func `calls one after another share a connection`() async throws {
    let (server, calls) = (try Self.server(), HTTPCalls(on: LoopThread(name: "calls")))
    for _ in 0..<20 { #expect(try await Self.call(calls, server)) }
    #expect(server.opened.values.count == 1)
  }

  @Test func `an idle connection is closed after a while, and the thread ends`() async throws {
    let server = try Self.server()
    let calls = HTTPCalls(on: LoopThread(name: "calls"), idleTime: .milliseconds(1))
    #expect(try await Self.call(calls, server))
    _ = try await server.closed.wait()
    try await condition("the calls have left their thread") { !calls.isWorking }
    #expect(try await Self.call(calls, server))
  }

  @Test func `a connection that is kept for another server gives way`() async throws {
    let (first, second) = (try Self.server(), try Self.server())
    let calls = HTTPCalls(on: LoopThread(name: "calls"), limit: 1)
    for server in [first, second] { #expect(try await Self.call(calls, server)) }
    _ = try await first.closed.wait()
    #expect(second.closed.values.isEmpty)
  }

  @Test func `other TLS settings, proxies and servers have other connections`() async throws {
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
      #expect(try await Self.call(calls, server, tls: TLSConfiguration(insecure: insecure)))
    }
    #expect(server.opened.values.count == 2)
  }
}
