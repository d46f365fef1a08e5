import Foundation
import PusherCore
import Testing

@Suite("Secrets stay secret", .runsPrograms)
struct SecretTests {
  private static let secret = "7ad3773142a6692b25b8"

  private func run(
    _ options: [String], environment: [String: String] = [:]
  ) throws -> (arguments: String, output: String, signatures: [String]) {
    let signatures = Record<String>()
    let server = try ScriptedServer { connection in
      for subscription in try connection.join(2) {
        if let auth = subscription.auth { signatures.add(auth) }
      }
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["private-a", "presence-b", "--user-id", "7", "-vv", "-L"] + options,
      environment: environment)
    let lines = try program.lines(4)
    let arguments = try String(contentsOfFile: "/proc/\(program.id)/cmdline", encoding: .utf8)
    let processes = try PusherCLI.tool(["ps", "-eo", "args"]).outputText
    program.send(SIGTERM)
    let result = try program.result()
    return (
      arguments + processes, lines.joined() + result.outputText + result.errorText,
      signatures.values
    )
  }

  private func expectSilence(
    _ run: (arguments: String, output: String, signatures: [String])
  ) {
    #expect(run.signatures.count == 2)
    let digests = run.signatures.map { $0.split(separator: ":").last ?? "" }
    for text in [Substring(Self.secret)] + digests {
      #expect(!text.isEmpty && !run.arguments.contains(text))
      #expect(!run.output.contains(text))
    }
    #expect(run.output.contains("pusher:subscribe"))
  }

  @Test func `a secret of the environment and its signatures show nowhere`() throws {
    expectSilence(try run([], environment: ["PUSHER_APP_SECRET": Self.secret]))
  }

  @Test func `a secret of a file and its signatures show nowhere`() throws {
    let file = try TemporaryFolder.shared.file("secret", holding: Self.secret + "\n")
    expectSilence(try run(["--secret-file", file]))
  }

  @Test func `trigger and serve show it nowhere, either`() throws {
    let server = try LocalServer(secret: Self.secret, options: ["-vv"])
    for secret in [Self.secret, "wrong"] {
      let result = try server.trigger("news", "tick", "{}", "-vv", secret: secret)
      #expect(result.ending == .exited(secret == Self.secret ? 0 : 3))
      #expect(!(result.outputText + result.errorText).contains(Self.secret))
      #expect(!result.errorText.contains("auth_signature="), "\(result.errorText)")
    }
    let said = try server.stop().errorText
    #expect(!said.contains(Self.secret))
    #expect(!said.contains("auth_signature="))
  }

  @Test func `a secret in a URL or file that cannot be used is not repeated`() throws {
    let result = try PusherCLI.run(
      "subscribe", "private-x", environment: ["PUSHER_URL": "https://key:\(Self.secret)@host"])
    #expect(result.ending == .exited(2))
    #expect(!result.errorText.contains(Self.secret))
  }
}
