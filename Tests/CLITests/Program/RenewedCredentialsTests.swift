import Foundation
import PusherCore
import Testing

/// What a running client reads again before each connection, and what SIGHUP means to it.
@Suite("Credentials that change during a run", .runsPrograms) struct RenewedCredentialsTests {
  private func write(_ text: String, to file: String) throws {
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(chmod(file, 0o600) == 0)
  }

  /// Subscribes with a secret of a file, which changes during the first of three connections, and
  /// compares the secrets that sign.
  private func expect(
    _ secrets: [String], whenThereIs text: String?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> ProgramResult {
    let file = TemporaryFolder.shared.file("secret")
    try write("first-secret\n", to: file)
    let (signatures, replaced) = (Record<String>(), Gate())
    let server = try ScriptedServer { connection in
      try connection.welcome()
      signatures.add(try connection.acceptSubscription().auth ?? "")
      try connection.send(event: "e", channel: "private-a", data: "\(connection.number)")
      if connection.number == 1 { try connection.wait(for: replaced) }
    }
    let program = try PusherCLI.subscribe(
      to: server, "private-a", "-o", "raw", "-n", "3", "--secret-file", file, "--retry-max-delay",
      "10ms")
    #expect(try program.line() == "1")
    if let text { try write(text, to: file) } else { #expect(unlink(file) == 0) }
    replaced.open()
    let expected = secrets.enumerated().map { index, secret in
      SubscriptionSignature(key: "test-key", secret: secret)
        .authorize(socketID: "77.\(index + 1)", channel: "private-a").auth
    }
    let result = try program.result()
    result.expect(0, sourceLocation: sourceLocation)
    #expect(signatures.values == expected, sourceLocation: sourceLocation)
    return result
  }

  @Test func `a secret that was replaced in its file signs for the next connection`() throws {
    let secrets = ["first-secret", "second-secret", "second-secret"]
    _ = try expect(secrets, whenThereIs: "second-secret\n")
  }

  @Test(arguments: ["one\ntwo\n", nil])
  func `a file without one secret is told once, and the former secret stays`(text: String?) throws {
    let secrets = Array(repeating: "first-secret", count: 3)
    let result = try expect(secrets, whenThereIs: text)
    let warnings = result.errorLines.filter { $0.contains("signing with the previous secret") }
    #expect(warnings.count == 1, "\(result.errorText)")
    #expect(warnings.first?.hasPrefix("pusher-cli: warning: --secret-file: ") == true)
  }

  @Test(.needs(.certificates))
  func `certificates are read again too, and a wrong file is tried again`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let file = TemporaryFolder.shared.file("authority")
    let authority = try SystemFile.text(matrix.authority)
    try write(authority, to: file)
    let replaced = Gate()
    let server = try ScriptedServer(certificate: matrix.trusted) { connection in
      try connection.join()
      try connection.send(event: "e", data: "\(connection.number)")
      guard connection.number == 1 else { try connection.stay() }
      try connection.wait(for: replaced)
    }
    let program = try PusherCLI.subscribe(
      to: server, "news", "-o", "raw", "--cacert", file, "--retry-max-delay", "10ms")
    #expect(try program.line() == "1")
    try write("no certificate", to: file)
    replaced.open()
    try program.errorLine(containing: "cannot use \(file)")
    try write(authority, to: file)
    #expect(try program.line() == "2")
  }

  @Test func `SIGHUP ends a run without a file of its own, whatever its settings are`() throws {
    let server = try LocalServer()
    let settings = try TemporaryFolder.shared.file(
      "app.env",
      holding: "PUSHER_APP_KEY=\(LocalServer.key)\nPUSHER_HOST=127.0.0.1\n"
        + "PUSHER_PORT=\(server.port)\nPUSHER_SCHEME=http\n")
    let program = try PusherCLI.start(["subscribe", "--env-file", settings, "public", "-L"])
    _ = try program.lines(2)
    program.send(SIGHUP)
    #expect(try program.wait() == .signalled(SIGHUP))
  }

  @Test func `a terminal that hangs up ends the run`() throws {
    let server = try LocalServer()
    let ready = TemporaryFolder.shared.file("ready")
    var terminal: PseudoTerminal? = try PseudoTerminal()
    // The output goes elsewhere. Only the signal reports the loss of the terminal.
    let program = try ChildProgram(
      "/bin/sh",
      ["-c", #"exec "$0" "$@" >"$OUT" 2>&1"#, PusherCLI.path, "subscribe"] + server.address
        + ["--key", LocalServer.key, "public", "--on-ready", "echo >'\(ready)'"],
      environment: PusherCLI.environment.merging(["OUT": ready + "-output"]) { $1 },
      on: try #require(terminal?.path))
    try waitUntil("the channel is joined") { FileManager.default.fileExists(atPath: ready) }
    terminal = nil
    #expect(try program.wait() == .signalled(SIGHUP))
  }
}
