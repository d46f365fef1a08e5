import Foundation
import PusherCore
import Testing

@Suite("Variables and files of the environment, as the program takes them", .runsPrograms)
struct EnvironmentRunTests {
  struct Family: Sendable, CustomTestStringConvertible {
    let name: String
    let variables: @Sendable (_ port: String) throws -> [String: String]
    var testDescription: String { name }

    init(_ name: String, _ variables: @escaping @Sendable (String) throws -> [String: String]) {
      (self.name, self.variables) = (name, variables)
    }
  }

  private static let app = ["PUSHER_HOST": "127.0.0.1", "PUSHER_SCHEME": "http"]
    .merging(LocalServer.environment("local-secret")) { $1 }

  private static let withoutSecret = app.filter { $0.key != "PUSHER_APP_SECRET" }

  static let families = [
    Family("PUSHER_APP_KEY") { app.merging(["PUSHER_PORT": $0]) { $1 } },
    Family("REVERB_ with an address for everybody and one for the HTTP API") {
      [
        "REVERB_APP_KEY": LocalServer.key, "REVERB_APP_SECRET": "local-secret",
        "REVERB_APP_ID": LocalServer.appID, "REVERB_HOST": "0.0.0.0", "REVERB_PORT": $0,
        "REVERB_SCHEME": "http", "REVERB_INTERNAL_HOST": "127.0.0.1", "REVERB_INTERNAL_PORT": $0,
        "REVERB_INTERNAL_SCHEME": "http",
      ]
    },
    Family("SOKETI_") {
      [
        "SOKETI_DEFAULT_APP_KEY": LocalServer.key, "SOKETI_DEFAULT_APP_SECRET": "local-secret",
        "SOKETI_DEFAULT_APP_ID": LocalServer.appID, "SOKETI_PORT": $0,
      ]
    },
    Family("PUSHER_URL") {
      [
        "PUSHER_URL":
          "http://\(LocalServer.key):local-secret@127.0.0.1:\($0)/apps/\(LocalServer.appID)"
      ]
    },
    Family("a secret's file") {
      let secret = try TemporaryFolder.shared.file("family-secret", holding: "local-secret\n")
      return withoutSecret.merging(["PUSHER_PORT": $0, "PUSHER_APP_SECRET_FILE": secret]) { $1 }
    },
    Family("systemd's credentials") {
      let folder = try TemporaryFolder.shared.folder("credentials")
      try "local-secret\n".write(toFile: folder + "/secret", atomically: true, encoding: .utf8)
      chmod(folder + "/secret", 0o600)
      return withoutSecret.merging(["PUSHER_PORT": $0, "CREDENTIALS_DIRECTORY": folder]) { $1 }
    },
    Family("PUSHER_CLI_ENV_FILE") {
      let text = app.merging(["PUSHER_PORT": $0]) { $1 }.map { "\($0.key)=\($0.value)\n" }
      let file = try TemporaryFolder.shared.file("family.env", holding: text.joined())
      return ["PUSHER_CLI_ENV_FILE": file]
    },
    Family("PUSHER_CLI_PROFILE, PUSHER_CLI_CONFIG") {
      let secret = try TemporaryFolder.shared.file("profile-secret", holding: "local-secret\n")
      let text = """
        [profile shop]
        key = \(LocalServer.key)
        secret-file = \(secret)
        app-id = \(LocalServer.appID)
        host = 127.0.0.1
        port = \($0)
        scheme = http

        """
      let file = try TemporaryFolder.shared.file("family-config", holding: text)
      return ["PUSHER_CLI_PROFILE": "shop", "PUSHER_CLI_CONFIG": file]
    },
  ]

  @Test(arguments: families)
  func `a family alone leads subscribe and trigger to the server and signs`(family: Family) throws {
    let port = String(try Loopback.closedPort())
    let environment = try family.variables(port)
    // serve listens where clients with the same variables look for it.
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(["serve", "--port-file", file], environment: environment)
    #expect(String(try server.port(in: file)) == port)
    let program = try PusherCLI.start(
      ["subscribe", "private-a", "-L", "-n", "1"], environment: environment)
    _ = try program.lines(2)
    try PusherCLI.run("trigger", "-c", "private-a", "-e", "e", "1", environment: environment)
      .expect()
    #expect(try program.line() == #"{"event":"e","channel":"private-a","data":1}"#)
    #expect(try program.result().errorText == "")
  }

  @Test func `nothing in a .env is executed, and one that is only there is not read`() throws {
    let folder = try TemporaryFolder.shared.folder("cloned")
    let trap = folder + "/trap"
    try "PUSHER_APP_KEY=\"$(touch \(trap))\"\nPUSHER_HOST=`touch \(trap)`\n".write(
      toFile: folder + "/.env", atomically: true, encoding: .utf8)
    func run(_ options: String) throws -> ProgramResult {
      try PusherCLI.tool([
        "sh", "-c", "cd \"$0\" && exec \"$1\" config \(options)", folder, PusherCLI.path,
      ])
    }
    try run("").expect(2, telling: "--env-file .env")
    _ = try run("--env-file .env")
    #expect(!FileManager.default.fileExists(atPath: trap))
  }
}
