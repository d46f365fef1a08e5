import Foundation
import PusherCore
import Testing

/// Changes under a program that runs for months.
@Suite("Months: clocks, names and certificates that change", .runsPrograms) struct MonthsTests {
  @Test(
    .needs(.faketime),
    .enabled(if: PusherCLI.bearsFaketime, "a sanitizer asks libfaketime before it is ready"))
  func `a clock that is set an hour on or back ends nothing, and lines have the new time`() throws {
    let clock = try SteppedClock()
    let next = Gate()
    let server = try ScriptedServer { connection in
      try connection.join(activityTimeout: 1)
      for number in 1...3 {
        try connection.wait(for: next)
        try connection.send(event: "e", data: "\(number)")
      }
      try connection.stay()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "news", "-F", "%s %d", "--idle-timeout", "50m", "--timeout", "1h", "--pong-timeout", "30s",
        "--metrics", "127.0.0.1:0",
      ], environment: clock.environment)
    let at = try Monitored(program, of: server)
    func event() throws -> (data: Substring, hoursAhead: Int) {
      next.open()
      let words = try program.line().split(separator: " ")
      let time = try #require(Double(words[0]))
      return (words[1], Int(((time - Date.now.timeIntervalSince1970) / 3600).rounded()))
    }
    /// Answers `pings` pings, so the connection survives a changed clock.
    func outlive(pings: Int) throws {
      try waitUntil("\(pings) pings were sent") {
        try at.ask("/metrics").body.contains("pings_total{direction=\"sent\"} \(pings)\n")
      }
    }
    #expect(try event() == ("1", 0))
    try clock.set("+1h")
    try outlive(pings: 1)
    #expect(try event() == ("2", 1))
    try clock.set("-1h")
    try outlive(pings: 2)
    #expect(try event() == ("3", -1))
    #expect(server.connectionCount == 1)
    #expect(!program.peekAtErrors().contains("warning"), "\(program.peekAtErrors())")
  }

  @Test(.needs(.changingNames))
  func `a name that leads elsewhere is asked for again with each attempt`() throws {
    let names = try ChangingNames("127.0.0.1")
    let environment = LocalServer.environment()
    let former = try LocalServer()
    let new = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.2:\(former.port)"], environment: environment)
    try new.errorLine(containing: "listening on")
    func trigger(_ data: String, at host: String) throws {
      let result = try PusherCLI.run(
        ["trigger", "--host", host, "--port", former.port, "--scheme", "http", "-c", "news", "-e"]
          + ["e", data], environment: environment)
      #expect(result.ending == .exited(0), "\(result.errorText)")
    }
    let program = try PusherCLI.start(
      ["subscribe", "--host", "push.test", "--port", former.port, "--scheme", "http"]
        + ["news", "-o", "raw", "-v", "--retry-max-delay", "20ms"],
      environment: names.environment.merging(environment) { $1 })
    try program.errorLine(containing: "subscribed to news")
    try trigger("former", at: "127.0.0.1")
    #expect(try program.line() == "former")
    try names.lead(to: "127.0.0.2")
    try former.kill()
    try program.errorLine(containing: "subscribed to news")
    try trigger("new", at: "127.0.0.2")
    #expect(try program.line() == "new")
  }

  @Test(.needs(.certificates))
  func `serve takes a renewed certificate on SIGHUP, and drops nobody`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let folder = TemporaryFolder.shared.file("renewed")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let own = ServerCertificate(
      certificate: "\(folder)/server.pem", key: "\(folder)/server.key", behaviour: nil)
    func install(_ certificate: ServerCertificate) throws {
      for (from, to) in [(certificate.certificate, own.certificate), (certificate.key, own.key)] {
        try Data(contentsOf: URL(filePath: from)).write(to: URL(filePath: to))
      }
    }
    try install(matrix.trusted)
    let server = try LocalServer(certificate: own)
    let trust = ["--cacert", matrix.authority, "--host", "localhost"]
    func subscribe(pinnedTo name: String) throws -> ChildProgram {
      try PusherCLI.start(
        ["subscribe"] + server.address + trust + ["news", "-L", "--pin-sha256", matrix.pin(name)],
        environment: LocalServer.environment())
    }
    let former = try subscribe(pinnedTo: "valid")
    _ = try former.lines(2)

    try install(matrix.server("other-key"))
    server.signal(SIGHUP)
    _ = try server.errorLine(containing: "read \(own.certificate) again: new connections use it")
    let new = try subscribe(pinnedTo: "other-key")
    _ = try new.lines(2)

    try "no certificate".write(toFile: own.certificate, atomically: true, encoding: .utf8)
    server.signal(SIGHUP)
    let warning = try server.errorLine(containing: "warning")
    #expect(warning.contains("SIGHUP: cannot use \(own.certificate)"), "\(warning)")
    #expect(warning.hasSuffix("; the old certificate stays in use"))
    let again = try subscribe(pinnedTo: "other-key")
    _ = try again.lines(2)

    let result = try PusherCLI.run(
      ["trigger"] + server.address + trust + ["-c", "news", "-e", "e", "1"],
      environment: LocalServer.environment())
    #expect(result.ending == .exited(0), "\(result.errorText)")
    for program in [former, new, again] {
      #expect(try program.line() == #"{"event":"e","channel":"news","data":1}"#)
    }
  }
}
