import Foundation
import PusherCore
import Testing

@Suite("A server is replaced by a new one", .runsPrograms)
struct RollingRestartTests {
  /// `serve --reuse-port`, which has said where it listens.
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
  func `a port that one of them does not share is an error`(first: Bool, second: Bool) throws {
    let holder = try LocalServer(options: first ? ["--reuse-port"] : [])
    let refused = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:\(holder.port)"] + (second ? ["--reuse-port"] : [])
    ).result()
    #expect(refused.ending == .exited(4))
    let text = "error: cannot listen on 127.0.0.1:\(holder.port): address already in use"
    let advice = second ? " (a server that shares its port was started with --reuse-port too)" : ""
    #expect(refused.errorText == "pusher-cli: \(text)\(advice)\n")
  }
}
