import Foundation
import PusherCore
import Testing

/// RFC 8305 from the outside.
@Suite(.runsPrograms) struct Dialling {
  private func trigger(
    _ server: LocalServer, _ options: [String], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try PusherCLI.run(
      ["trigger"] + server.address + options + ["-c", "a", "-e", "tick", "{}"],
      environment: LocalServer.environment("local-secret").merging(environment) { $1 })
  }

  @Test(.needs(.halfResolver))
  func `neither a slow answer for IPv6 nor an address that is silent holds up the one that works`()
    throws
  {
    let server = try LocalServer()
    // A listener with a full queue does not answer.
    let port = try #require(UInt16(server.port))
    let silent = try Loopback.listen(backlog: 0, last: 2, port: port)
    defer { close(silent.descriptor) }
    let crowd = try (0..<4).map { _ in try Loopback.dial(port, last: 2) }
    defer { for descriptor in crowd { close(descriptor) } }
    let start = SystemClock.now()
    // The one-minute IPv6 lookup and an address that never answers would exceed this limit.
    let result = try trigger(
      server, ["--host", "name.test", "--connect-timeout", "50s"],
      ["LD_PRELOAD": SlowResolver.halfLibrary ?? ""])
    #expect(result.ending == .exited(0), "\(result.errorText)")
    // Both delays of the standard.
    let time = start.duration(to: SystemClock.now())
    #expect(time >= Dialer.resolutionDelay + Dialer.attemptDelay)
  }

  @Test(.enabled(if: SlowResolver.loopbackLibrary != nil), arguments: [[], ["-4"]])
  func `a name of this machine is found with the loopback alone`(options: [String]) throws {
    let server = try LocalServer()
    let result = try trigger(
      server, ["--host", "name.test"] + options,
      ["LD_PRELOAD": SlowResolver.loopbackLibrary ?? ""])
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let check = try PusherCLI.run(
      ["check"] + server.address + ["--host", "name.test"],
      environment: LocalServer.environment("local-secret").merging([
        "LD_PRELOAD": SlowResolver.loopbackLibrary ?? ""
      ]) { $1 })
    #expect(check.outputText.contains("name.test is 127.0.0.1"), "\(check.outputText)")
  }

  @Test(.enabled(if: SlowResolver.loopbackLibrary != nil))
  func `a name that is nowhere is told as the first answer tells it`() throws {
    let server = try LocalServer()
    let result = try trigger(
      server, ["--host", "name.test", "-6"], ["LD_PRELOAD": SlowResolver.loopbackLibrary ?? ""])
    #expect(result.ending == .exited(4))
    #expect(result.errorText.contains("cannot resolve name.test: "), "\(result.errorText)")
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
