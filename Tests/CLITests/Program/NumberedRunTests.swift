import Foundation
import PusherCore
import TestSupport
import Testing

/// Numbered events through random faults: printed once, in order, or within a reported gap.
///
/// `PUSHER_CLI_FAULTS` sets the number of faults, `PUSHER_CLI_FAULT_SEED` the seed. Figures go to
/// standard output.
@Suite("A run through random faults", .serialized, .runsProgramsFirst) struct NumberedRunTests {
  private static func setting(_ name: String, _ fallback: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? fallback
  }

  private static let faults = setting("PUSHER_CLI_FAULTS", 100)
  private static let seed = UInt64(setting("PUSHER_CLI_FAULT_SEED", 20_261_121))

  /// Maximum clock error of a gap, in seconds; a separate check requires a gap wherever events are
  /// missing.
  private static let slack = 10.0

  /// Maximum duration of a run: many times the need of an idle machine.
  private static func patience(_ faults: Int) -> Duration {
    .seconds(120) + .milliseconds(300) * faults
  }

  @Test func `every event is printed once and in order, or lies in a gap that was told`() throws {
    try run(faults: Self.faults, options: []) { try ScriptedServer($0) }
  }

  @Test(.needs(.certificates))
  func `over TLS, whose records are cut in the middle, no event is lost untold either`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    try run(faults: max(Self.faults / 10, 50), options: ["--cacert", certificates.authority]) {
      try ScriptedServer(certificate: certificates.trusted, $0)
    }
  }

  private func run(
    faults: Int, options: [String],
    serve: (@escaping ScriptedServer.Script) throws -> ScriptedServer
  ) throws {
    var random = SeededGenerator(seed: Self.seed)
    let plans = (0..<faults).map { _ in FaultPlan.random(&random) }
    let source = NumberedSource()
    let server = try serve { connection in
      let plan = connection.number <= plans.count ? plans[connection.number - 1] : .sound
      try plan.play(connection, source)
    }
    let proxy = try FaultProxy(to: server) { number in
      number <= plans.count ? plans[number - 1].wire : .sound
    }
    let program = try PusherCLI.start(
      ["subscribe"] + proxy.address + options + [
        NumberedSource.channel, "quiet", "-L", "--reconnect", "always", "--retry-max-delay", "10ms",
        "--activity-timeout", "60ms", "--pong-timeout", "60ms", "--connect-timeout", "250ms",
      ])
    let start = SystemClock.now()
    source.start(seed: Self.seed &+ 1)

    var ledger = NumberedLedger()
    // The source runs to the end: timeouts hit sound connections too on a busy machine.
    var end = Int.max
    while ledger.last < end {
      guard start.duration(to: SystemClock.now()) < Self.patience(faults) else {
        throw Late("\(server.connectionCount) connections, up to number \(ledger.last)")
      }
      try ledger.take(program.line())
      _ = program.peekAtErrors()
      if end == .max, server.connectionCount > plans.count { end = source.last + 300 }
    }
    source.finish()
    try program.end()
    report(ledger, source, faults: faults, time: start.duration(to: SystemClock.now()))
    #expect(ledger.strange == [])
    #expect(ledger.duplicated == 0)
    #expect(ledger.outOfOrder == 0)
    #expect(ledger.unexplained(source, slack: Self.slack) == [])
    #expect(ledger.printed > faults / 2)
  }

  private func report(
    _ ledger: NumberedLedger, _ source: NumberedSource, faults: Int, time: Duration
  ) {
    print(
      """
      numbered run: seed \(Self.seed), \(faults) faults in \(time.inWords)
        published \(source.last), written to live subscriptions \(source.written), \
      printed \(ledger.printed)
        missing \(ledger.missing) in \(ledger.jumps.count) places, \(ledger.gaps.count) gaps told, \
      outside them \(ledger.unexplained(source, slack: Self.slack).count)
        duplicated \(ledger.duplicated), out of order \(ledger.outOfOrder)
        published at most \(Int(ledger.longestLead(source) * 1000)) ms before the start of its gap
      """)
    for (reason, count) in ledger.losses.sorted(by: { $0.value > $1.value }) {
      print("  \(count) × \(reason)")
    }
  }
}
