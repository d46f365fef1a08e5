import Foundation
import PusherCore
import Testing

@Suite("Secrets stay secret", .runsPrograms) struct SecretTests {
  private static let secret = "7ad3773142a6692b25b8"

  private func expectSilence(_ options: [String], environment: [String: String] = [:]) throws {
    let signatures = Record<String>()
    let server = try ScriptedServer { connection in
      try connection.join(2).compactMap(\.auth).forEach(signatures.add)
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
    let program = try PusherCLI.start(
      ["subscribe"] + server.address
        + ["private-a", "presence-b", "--user-id", "7", "-vv", "-L"] + options,
      environment: environment)
    let lines = try program.lines(4)
    let arguments = try SystemFile.text("/proc/\(program.id)/cmdline")
    let processes = try PusherCLI.tool(["ps", "-eo", "args"]).outputText
    program.send(SIGTERM)
    let result = try program.result()
    let output = lines.joined() + result.outputText + result.errorText
    let digests = signatures.values.map { $0.split(separator: ":").last ?? "" }
    #expect(digests.count == 2)
    for text in [Substring(Self.secret)] + digests {
      #expect(!text.isEmpty && !(arguments + processes).contains(text))
      #expect(!output.contains(text))
    }
    #expect(output.contains("pusher:subscribe"))
  }

  @Test func `a secret of the environment and its signatures show nowhere`() throws {
    try expectSilence([], environment: ["PUSHER_APP_SECRET": Self.secret])
  }

  @Test func `a secret of a file and its signatures show nowhere`() throws {
    let file = try TemporaryFolder.shared.file("secret", holding: Self.secret + "\n")
    try expectSilence(["--secret-file", file])
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
}
