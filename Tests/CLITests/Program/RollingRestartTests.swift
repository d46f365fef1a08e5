import Foundation
import PusherCore
import Testing

@Suite("A server is replaced by a new one", .runsPrograms) struct RollingRestartTests {
  private static func sharing(_ port: String, _ options: String...) throws -> LocalServer {
    try LocalServer(options: ["--reuse-port"] + options, port: port)
  }

  @Test func `two servers listen on one port when both share it, and so do their metrics`() throws {
    let first = try Self.sharing("0", "--metrics", "127.0.0.1:0")
    let monitored = try Monitored(first)
    let address = String(monitored.url.dropFirst("http://".count))
    let second = try Self.sharing(first.port, "--metrics", address)
    #expect(second.port == first.port)
    try first.stop()
    #expect(try monitored.ask("/healthz").body == "ok\n")
    #expect(try second.trigger("news", "e", "{}").ending == .exited(0))
  }

  @Test(arguments: [(true, false), (false, true), (false, false)])
  func `a port that one of two servers keeps is an error`(first: Bool, second: Bool) throws {
    let holder = try LocalServer(options: first ? ["--reuse-port"] : [])
    let refused = try PusherCLI.run(
      ["serve", "--listen", "127.0.0.1:\(holder.port)"] + (second ? ["--reuse-port"] : []))
    #expect(refused.ending == .exited(4))
    let text = "error: cannot listen on 127.0.0.1:\(holder.port): address already in use"
    let advice = second ? " (to share the port, start the other server with --reuse-port too)" : ""
    #expect(refused.errorText == "pusher-cli: \(text)\(advice)\n")
  }

  @Test func `all clients come to the new server, and no connection is refused meanwhile`() throws {
    let old = try Self.sharing("0", "--drain", "1s")
    let clients = try (0..<5).map { _ in
      try old.subscribe(["news"], "-L", "--retry-max-delay", "100ms")
    }
    let requests = RepeatedRequest(try #require(UInt16(old.port)))
    try requests.wait(for: 20)
    let new = try Self.sharing(old.port)
    try requests.wait(for: 20)
    #expect(try old.stop().ending == .signalled(SIGTERM))
    for client in clients {
      while try !client.line().contains("subscription_succeeded") {}
    }
    try requests.wait(for: 20)
    #expect(try new.trigger("news", "e", "{}").ending == .exited(0))
    for client in clients {
      while try client.line() != #"{"event":"e","channel":"news","data":{}}"# {}
    }
    let outcomes = try requests.stop()
    #expect(!outcomes.contains(.refused))
    // One connection at most may arrive between the last accept and the closing of the socket.
    #expect(outcomes.count { $0 != .answered(status: 404) } <= 1)
  }

  @Test func `those who wait to be accepted when a server ends are still answered`() throws {
    let server = try LocalServer()
    let port = try #require(UInt16(server.port))
    server.signal(SIGSTOP)
    // More than the server accepts in a few rounds of its loop.
    let requests = try (0..<400).map { _ in try PlainRequest(port) }
    for request in requests { #expect(try request.send()) }
    server.signal(SIGTERM)
    server.signal(SIGCONT)
    let outcomes = try requests.map { try $0.outcome() }
    #expect(outcomes.count { $0 == .answered(status: 404) } == 400)
  }

  @Test func `a server that ends leaves its metrics' port to those that share it`() throws {
    let old = try Self.sharing("0", "--metrics", "127.0.0.1:0", "--drain", "1h")
    let client = try old.subscribe(["news"], "-L")
    let monitored = try Monitored(old)
    old.signal(SIGTERM)
    try waitUntil("nobody listens") { try !Loopback.isListened(#require(UInt16(old.port))) }
    let new = try Self.sharing(
      old.port, "--metrics", String(monitored.url.dropFirst("http://".count)))
    for _ in 0..<20 { #expect(try monitored.ask("/healthz").body == "ok\n") }
    try old.kill()
    try new.stop()
    client.send(SIGTERM)
  }
}
