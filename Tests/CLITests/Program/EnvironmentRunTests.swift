import Foundation
import PusherCore
import Testing

@Suite("Variables and files of the environment, as the program takes them", .runsPrograms)
struct EnvironmentRunTests {
  // MARK: Families

  struct Family: Sendable, CustomTestStringConvertible {
    var name: String
    var variables: @Sendable (_ port: String) -> [String: String]
    var testDescription: String { name }

    init(_ name: String, _ variables: @escaping @Sendable (String) -> [String: String]) {
      self.name = name
      self.variables = variables
    }
  }

  private static let pusher: @Sendable (String) -> [String: String] = {
    [
      "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "local-secret",
      "PUSHER_APP_ID": LocalServer.appID, "PUSHER_HOST": "127.0.0.1", "PUSHER_PORT": $0,
      "PUSHER_SCHEME": "http",
    ]
  }

  private static let reverb: @Sendable (String) -> [String: String] = {
    [
      "REVERB_APP_KEY": LocalServer.key, "REVERB_APP_SECRET": "local-secret",
      "REVERB_APP_ID": LocalServer.appID, "REVERB_HOST": "127.0.0.1", "REVERB_PORT": $0,
      "REVERB_SCHEME": "http",
    ]
  }

  /// Two apps in two files, and the settings that lead to each.
  private static let foreign = [
    "PUSHER_APP_KEY": "foreign", "PUSHER_APP_SECRET": "foreign", "PUSHER_HOST": "foreign.invalid",
  ]

  static let families = [
    Family("PUSHER_APP_KEY", pusher),
    Family("PUSHER_KEY, PUSHER_SECRET") {
      [
        "PUSHER_KEY": LocalServer.key, "PUSHER_SECRET": "local-secret",
        "PUSHER_APP_ID": LocalServer.appID, "PUSHER_HOST": "127.0.0.1", "PUSHER_PORT": $0,
        "PUSHER_SCHEME": "ws",
      ]
    },
    Family("REVERB_", reverb),
    Family("REVERB_ with an address for everybody and one for the HTTP API") {
      reverb("1").merging([
        "REVERB_HOST": "0.0.0.0", "REVERB_PORT": $0, "REVERB_INTERNAL_HOST": "127.0.0.1",
        "REVERB_INTERNAL_PORT": $0, "REVERB_INTERNAL_SCHEME": "http",
      ]) { $1 }
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
      let secret = try? TemporaryFolder.shared.file("family-secret", holding: "local-secret\n")
      return pusher($0).merging(
        ["PUSHER_APP_SECRET": "", "PUSHER_APP_SECRET_FILE": secret ?? ""]
      ) { $1 }
    },
    Family("systemd's credentials") {
      let folder = TemporaryFolder.shared.file("credentials")
      try? FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      try? "local-secret\n".write(toFile: folder + "/secret", atomically: true, encoding: .utf8)
      chmod(folder + "/secret", 0o600)
      return pusher($0).merging(
        ["PUSHER_APP_SECRET": "", "CREDENTIALS_DIRECTORY": folder]
      ) { $1 }
    },
    Family("BROADCAST_CONNECTION between two") {
      reverb($0).merging(foreign) { $1 }.merging(["BROADCAST_CONNECTION": "reverb"]) { $1 }
    },
    Family("BROADCAST_DRIVER between two") {
      reverb($0).merging(foreign) { $1 }.merging(["BROADCAST_DRIVER": "reverb"]) { $1 }
    },
    Family("PUSHER_CLI_ENV_FILE") {
      let text = pusher($0).map { "\($0.key)=\($0.value)\n" }.joined()
      let file = try? TemporaryFolder.shared.file("family.env", holding: text)
      return ["PUSHER_CLI_ENV_FILE": file ?? ""]
    },
    Family("PUSHER_CLI_PROFILE, PUSHER_CLI_CONFIG") {
      let secret = try? TemporaryFolder.shared.file("profile-secret", holding: "local-secret\n")
      let text = """
        [profile shop]
        key = \(LocalServer.key)
        secret-file = \(secret ?? "")
        app-id = \(LocalServer.appID)
        host = 127.0.0.1
        port = \($0)
        scheme = http

        """
      let file = try? TemporaryFolder.shared.file("family-config", holding: text)
      return ["PUSHER_CLI_PROFILE": "shop", "PUSHER_CLI_CONFIG": file ?? ""]
    },
  ]

  @Test(arguments: families)
  func `a family alone leads subscribe and trigger to the server, and signs`(family: Family) throws
  {
    let server = try LocalServer()
    let environment = family.variables(server.port)
    let program = try PusherCLI.start(
      ["subscribe", "private-a", "-L", "-n", "1"], environment: environment)
    _ = try program.lines(2)
    let sent = try PusherCLI.run(
      "trigger", "-c", "private-a", "-e", "e", "1", environment: environment)
    #expect(sent.ending == .exited(0), "\(sent.errorText)")
    #expect(try program.line() == #"{"event":"e","channel":"private-a","data":1}"#)
    #expect(try program.result().errorText == "")
  }

  @Test(arguments: families)
  func `serve listens where clients with the same source look for it`(family: Family) throws {
    let port = String(try Loopback.closedPort())
    let environment = family.variables(port)
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(["serve", "--port-file", file], environment: environment)
    #expect(String(try server.port(in: file)) == port)
    let program = try PusherCLI.start(
      ["subscribe", "private-a", "-L"], environment: environment)
    #expect(try program.lines(2)[1].contains("subscription_succeeded"))
  }

  // MARK: Pitfalls

  /// The `config -o json` output for some settings.
  struct Trap: Sendable, CustomTestStringConvertible {
    var name: String
    var environment: [String: String]
    var arguments: [String] = []
    /// Files by name.
    ///
    /// Their paths replace the names in arguments and variables.
    var files: [String: String] = [:]
    /// Value and source of some settings; empty for a setting that is not shown.
    var told: [String: String]
    var testDescription: String { name }
  }

  static let traps = [
    Trap(
      name: "an empty variable is unset",
      environment: ["PUSHER_APP_KEY": "abcdef", "PUSHER_HOST": ""],
      told: ["websocket": "wss://ws-mt1.pusher.com/app/abcd… | the above", "host": ""]),
    Trap(
      name: "Laravel's host of the API names the cluster",
      environment: [
        "PUSHER_APP_KEY": "abcdef", "PUSHER_HOST": "api-eu.pusher.com", "PUSHER_APP_CLUSTER": "mt1",
      ], told: ["websocket": "wss://ws-eu.pusher.com/app/abcd… | the above"]),
    Trap(
      name: "so does the API's older name",
      environment: ["PUSHER_APP_KEY": "abcdef", "PUSHER_HOST": "api.pusherapp.com"],
      told: ["websocket": "wss://ws-mt1.pusher.com/app/abcd… | the above"]),
    Trap(
      name: "the address for everybody means this machine",
      environment: ["REVERB_APP_KEY": "abcdef", "REVERB_HOST": "0.0.0.0", "REVERB_PORT": "8080"],
      told: ["websocket": "wss://127.0.0.1:8080/app/abcd… | the above"]),
    Trap(
      name: "wss is a scheme too",
      environment: ["PUSHER_APP_KEY": "abcdef", "PUSHER_HOST": "h.test", "PUSHER_SCHEME": "wss"],
      told: ["websocket": "wss://h.test/app/abcd… | the above"]),
    Trap(
      name: "quotes, export, comments, other variables and CRLF of a .env", environment: [:],
      arguments: ["--env-file", "FILE"],
      files: [
        "FILE":
          "export REVERB_APP_KEY=\"abcdef\" # mine\r\nHOST=h.test\r\nREVERB_HOST=\"${HOST}\"\r\n"
          + "REVERB_PORT='8080'\r\nVITE_REVERB_APP_KEY=\"${REVERB_APP_KEY}\"\r\n"
      ],
      told: [
        "host": "h.test | REVERB_HOST in FILE", "port": "8080 | REVERB_PORT in FILE",
        "key": "abcd… | REVERB_APP_KEY in FILE",
      ]),
    Trap(
      name: "credentials of two families do not mix",
      environment: [
        "PUSHER_APP_KEY": "abcdef", "REVERB_APP_SECRET": "s", "REVERB_APP_ID": "9",
        "REVERB_HOST": "h.test",
      ],
      told: [
        "websocket": "wss://ws-mt1.pusher.com/app/abcd… | the above", "host": "", "app id": "",
        "secret": "",
      ]),
    Trap(
      name: "an option comes first, then the file that an option names",
      environment: [
        "PUSHER_APP_KEY": "other-key", "PUSHER_HOST": "other.test", "PUSHER_APP_ID": "9",
      ],
      arguments: ["--env-file", "FILE", "--port", "7001"],
      files: ["FILE": "PUSHER_APP_KEY=abcdef\nPUSHER_HOST=h.test\nPUSHER_PORT=6001\n"],
      told: [
        "key": "abcd… | PUSHER_APP_KEY in FILE", "host": "h.test | PUSHER_HOST in FILE",
        "port": "7001 | --port", "app id": "",
      ]),
    Trap(
      name: "an explicit profile beats the environment",
      environment: ["PUSHER_APP_KEY": "other-key"],
      arguments: ["--config", "FILE", "--profile", "shop"],
      files: ["FILE": "[profile shop]\nkey = abcdef\nhost = h.test\n"],
      told: ["key": "abcd… | FILE line 2", "host": "h.test | FILE line 3"]),
    Trap(
      name: "the environment beats a file that it names",
      environment: ["PUSHER_APP_KEY": "abcdef", "PUSHER_CLI_ENV_FILE": "FILE"],
      files: ["FILE": "PUSHER_APP_KEY=other-key\nPUSHER_HOST=h.test\n"],
      told: ["key": "abcd… | PUSHER_APP_KEY", "host": ""]),
  ]

  @Test(arguments: traps)
  func `config says what counts, and names its source`(trap: Trap) throws {
    var paths: [String: String] = [:]
    for (name, text) in trap.files {
      paths[name] = try TemporaryFolder.shared.file("trap", holding: text)
    }
    func placed(_ text: String) -> String {
      paths.reduce(text) { $0.replacing($1.key, with: $1.value) }
    }
    let result = try PusherCLI.run(
      ["config", "-o", "json"] + trap.arguments.map(placed),
      environment: trap.environment.mapValues(placed))
    #expect(result.ending == .exited(0), "\(result.errorText)")
    var told: [String: String] = [:]
    for line in result.outputText.split(separator: "\n") {
      let row = try JSONParser.parse(String(line))
      let value = row["value"]?.text ?? ""
      told[row["setting"]?.text ?? ""] = row["source"]?.text.map { "\(value) | \($0)" } ?? value
    }
    for (name, value) in trap.told {
      #expect(told[name] ?? "" == placed(value), "\(name) of \(told)")
    }
  }

  @Test func `nothing in a .env is executed, and one that is only there is named and not read`()
    throws
  {
    let folder = TemporaryFolder.shared.file("cloned")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let trap = folder + "/trap"
    try "PUSHER_APP_KEY=\"$(touch \(trap))\"\nPUSHER_HOST=`touch \(trap)`\n".write(
      toFile: folder + "/.env", atomically: true, encoding: .utf8)
    func run(_ options: String) throws -> ProgramResult {
      try ChildProgram(
        "/usr/bin/env",
        ["sh", "-c", "cd \"$0\" && exec \"$1\" config \(options)", folder, PusherCLI.path],
        environment: PusherCLI.environment
      ).result()
    }
    let alone = try run("")
    #expect(alone.ending == .exited(2))
    #expect(alone.errorText.contains("--env-file .env"), "\(alone.errorText)")
    _ = try run("--env-file .env")
    #expect(!FileManager.default.fileExists(atPath: trap))
  }
}
