import Foundation
import PusherCore
import Testing

/// RFC 8305, seen from outside.
@Suite struct Dialling {
  private func trigger(
    _ server: LocalServer, _ options: [String], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    let credentials = [
      "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_ID": LocalServer.appID,
      "PUSHER_APP_SECRET": "local-secret",
    ]
    return try PusherCLI.start(
      ["trigger"] + server.address + options + ["-c", "a", "-e", "tick", "{}"],
      environment: credentials.merging(environment) { $1 }
    ).result()
  }

  @Test(.needs(.halfResolver))
  func `neither a slow answer for IPv6 nor an address that is silent holds up the one that works`()
    throws
  {
    let server = try LocalServer()
    // With its queue full a listener answers nobody.
    let port = try #require(UInt16(server.port))
    let silent = try Loopback.listen(backlog: 0, last: 2, port: port)
    defer { close(silent.descriptor) }
    let crowd = try (0..<4).map { _ in try Loopback.dial(port, last: 2) }
    defer { for descriptor in crowd { close(descriptor) } }
    let start = SystemClock.now()
    let result = try trigger(
      server, ["--host", "name.test"], ["LD_PRELOAD": SlowResolver.halfLibrary ?? ""])
    let time = start.duration(to: SystemClock.now())
    #expect(result.ending == .exited(0), "\(result.errorText)")
    // Both waits of the standard, and not the system's minute.
    #expect(time >= Dialer.resolutionDelay + Dialer.attemptDelay)
    #expect(time < .seconds(5), "\(time)")
  }

  @Test func `-4 and -6 choose the family`() throws {
    let server = try LocalServer()
    let four = try trigger(server, ["-4"])
    #expect(four.ending == .exited(0), "\(four.errorText)")
    let six = try trigger(server, ["-6"])
    #expect(six.ending == .exited(4))
    #expect(
      six.errorText == "pusher-cli: error: cannot resolve 127.0.0.1: it has no IPv6 address\n")
  }
}
