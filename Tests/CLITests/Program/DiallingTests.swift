import Foundation
import PusherCore
import Testing

/// RFC 8305 from the outside.
@Suite(.runsPrograms) struct Dialling {
  /// Runs `trigger` with a name service of the test's own.
  private func trigger(
    _ server: LocalServer, _ options: [String], resolver: String? = nil
  ) throws -> ProgramResult {
    try run(["trigger", "-c", "a", "-e", "tick", "{}"], server, options, resolver)
  }

  private func run(
    _ words: [String], _ server: LocalServer, _ options: [String], _ resolver: String?
  ) throws -> ProgramResult {
    try PusherCLI.run(
      words + server.address + options,
      environment: LocalServer.environment("local-secret")
        .merging(["LD_PRELOAD": resolver ?? ""]) { $1 })
  }

  @Test(.needs(.halfResolver))
  func `neither a slow IPv6 answer nor a silent address holds up the one that works`() throws {
    let server = try LocalServer()
    // A listener with a full queue does not answer.
    let port = try #require(UInt16(server.port))
    let silent = try Loopback.listen(backlog: 0, last: 2, port: port)
    defer { close(silent.descriptor) }
    let crowd = try (0..<4).map { _ in try Loopback.dial(port, last: 2) }
    defer { for descriptor in crowd { close(descriptor) } }
    let start = SystemClock.now()
    // The one-minute IPv6 lookup and an address that never answers would exceed this limit.
    try trigger(
      server, ["--host", "name.test", "--connect-timeout", "50s"],
      resolver: SlowResolver.halfLibrary
    ).expect()
    // Both delays of the standard.
    let time = start.duration(to: SystemClock.now())
    #expect(time >= Dialer.resolutionDelay + Dialer.attemptDelay)
  }

  @Test(.enabled(if: SlowResolver.loopbackLibrary != nil), arguments: [[], ["-4"]])
  func `a name of this machine is found with the loopback alone`(options: [String]) throws {
    let server = try LocalServer()
    try trigger(server, ["--host", "name.test"] + options, resolver: SlowResolver.loopbackLibrary)
      .expect()
    let check = try run(["check"], server, ["--host", "name.test"], SlowResolver.loopbackLibrary)
    #expect(check.outputText.contains("name.test is 127.0.0.1"), "\(check.outputText)")
  }

  @Test(.enabled(if: SlowResolver.loopbackLibrary != nil))
  func `a name that is nowhere is told as the first answer tells it`() throws {
    let server = try LocalServer()
    try trigger(server, ["--host", "name.test", "-6"], resolver: SlowResolver.loopbackLibrary)
      .expect(4, telling: "cannot resolve name.test: ")
  }

  @Test func `-4 and -6 choose the family`() throws {
    let server = try LocalServer()
    try trigger(server, ["-4"]).expect()
    try trigger(server, ["-6"]).expect(
      4, says: "pusher-cli: error: cannot resolve 127.0.0.1: it has no IPv6 address\n")
  }
}
