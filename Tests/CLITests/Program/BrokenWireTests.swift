import Foundation
import PusherCore
import TestSupport
import Testing

@Suite("A wire that breaks, stalls or drips", .runsPrograms) struct BrokenWireTests {
  /// An event whose frame is longer than the wires of these tests let through.
  private static let long: String = {
    // Random digits, which compress badly.
    var random = SeededGenerator(seed: 7)
    return #"{"text":"\#((0..<1000).map { _ in "\(random.next())" }.joined())"}"#
  }()

  private static func server(certificate: ServerCertificate? = nil, deflate: Bool = false) throws
    -> ScriptedServer
  {
    try ScriptedServer(certificate: certificate) { connection in
      try connection.join(activityTimeout: 1, deflate: deflate)
      if connection.number == 1 {
        try connection.send(event: "short", data: "{}")
        try connection.send(event: "long", data: long)
      } else {
        try connection.send(event: "back", data: "{}")
      }
      try connection.stay()
    }
  }

  private static func cut(_ cut: FaultyWire.Cut, after count: Int = 5000) -> FaultyWire {
    FaultyWire(cut: cut, cutAfter: count)
  }

  /// Runs until two events are printed: one before and one after the break.
  private func run(
    _ server: ScriptedServer, _ wire: FaultyWire, _ options: String...
  ) throws -> ProgramResult {
    let proxy = try FaultProxy(to: server) { $0 == 1 ? wire : .sound }
    let result = try PusherCLI.run(
      ["subscribe"] + proxy.address + ["news", "-n", "2", "--retry-max-delay", "50ms"] + options)
    result.expect(
      prints: """
        {"event":"short","channel":"news","data":{}}
        {"event":"back","channel":"news","data":{}}

        """)
    #expect(server.connectionCount == 2)
    #expect(result.errorLines.count == 2, "\(result.errorText)")
    #expect(result.errorLines.last?.contains("warning: back after") == true)
    return result
  }

  private func expect(_ result: ProgramResult, says reason: String) {
    let line = result.errorLines.first ?? ""
    let start = "pusher-cli: warning: connection lost (\(reason)); retrying in "
    let rest = line.dropFirst(start.count)
    #expect(line.hasPrefix(start) && rest.wholeMatch(of: #/[0-9.]+ m?s/#) != nil, "\(line)")
  }

  @Test(arguments: [false, true])
  func `a reset in the middle of a frame leaves no partial line`(deflate: Bool) throws {
    let count = deflate ? 2500 : 5000
    expect(
      try run(try Self.server(deflate: deflate), Self.cut(.reset, after: count)),
      says: "connection reset by peer")
  }

  @Test func `an end in the middle of a frame is told from one between two`() throws {
    expect(
      try run(try Self.server(), Self.cut(.end)),
      says: "the server closed the connection: incomplete message")
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: connection.number == 1 ? "short" : "back", data: "{}")
      if connection.number == 1 { connection.drop() } else { try connection.stay() }
    }
    expect(try run(server, .sound), says: "the server closed the connection: no close frame")
  }

  @Test(arguments: [FaultyWire.Cut.blackHole, .halfOpen])
  func `silence is noticed by the missing pong`(cut: FaultyWire.Cut) throws {
    expect(
      try run(
        try Self.server(), Self.cut(cut), "--activity-timeout", "200ms", "--pong-timeout", "200ms"),
      says: "no pong for 0.2 s")
  }

  @Test(.needs(.certificates))
  func `the end in the middle of a TLS record is reported as a cut`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    expect(
      try run(
        try Self.server(certificate: certificates.trusted), Self.cut(.end), "--cacert",
        certificates.authority),
      says: "TLS connection cut off without a closing alert (close_notify)")
  }
}
