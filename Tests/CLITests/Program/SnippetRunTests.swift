import Foundation
import PusherCore
import Testing

/// What the console and `--print-snippets` give to copy works as it is pasted.
@Suite("Snippets that connect an app, run", .runsPrograms) struct SnippetRunTests {
  /// The published secret is in the snippets; another one comes from the environment.
  static let secrets = ["local", "local-secret"]

  private struct Scene {
    let site: ConsoleSite
    let secret: String
    let subscriber: ChildProgram

    init(_ secret: String) throws {
      self.secret = secret
      site = try ConsoleSite(secret: secret)
      subscriber = try site.server.subscribe(["orders"], "-L")
    }

    func snippet(_ name: String) throws -> String {
      let answer = try site.ask("/snippets?app=17&url=http://\(site.place)")
      guard answer.status == 200 else { throw Unexpected("\(answer)") }
      let found = answer.body["snippets"]?.elements?.first { $0["name"]?.text == name }
      let text = try #require(found?["text"]?.text)
      #expect(secret == "local" || !text.contains(secret))
      #expect((answer.body["missing_secret"] == nil) == (secret == "local"))
      return text
    }

    /// With this program in the path, and the secret where the snippets read it.
    var environment: [String: String] {
      let programs = URL(filePath: PusherCLI.path).deletingLastPathComponent().path
      var environment = PusherCLI.environment
      environment["PATH"] = "\(programs):\(environment["PATH"] ?? "")"
      if secret != "local" { environment["PUSHER_APP_SECRET"] = secret }
      return environment
    }

    func run(_ program: String, _ words: [String]) throws {
      try ChildProgram(program, words, environment: environment).result().expect(0)
      let event = try JSONValue(parsing: try subscriber.line())
      #expect(event["event"] == "order.created" && event["channel"] == "orders")
      #expect(event["data"] == ["id": 1])
    }
  }

  // MARK: Servers

  @Test(.enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)), arguments: secrets)
  func `the Python snippet triggers an event`(secret: String) throws {
    let scene = try Scene(secret)
    let file = try TemporaryFolder.shared.file("snippet.py", holding: scene.snippet("Python"))
    try scene.run(try #require(PythonPeer.interpreter), [file])
  }

  @Test(arguments: secrets)
  func `the curl snippet triggers an event`(secret: String) throws {
    let scene = try Scene(secret)
    try scene.run("/bin/sh", ["-ec", scene.snippet("curl")])
  }

  @Test(arguments: secrets)
  func `the .env snippet leads trigger to the server`(secret: String) throws {
    let scene = try Scene(secret)
    let text = try scene.snippet("Laravel .env")
    #expect(text.contains("PUSHER_APP_SECRET=\(secret == "local" ? "local" : "")\n"))
    let filled = text.replacing("PUSHER_APP_SECRET=\n", with: "PUSHER_APP_SECRET=\(secret)\n")
    let file = try TemporaryFolder.shared.file("env", holding: filled)
    let event = ["-c", "orders", "-e", "order.created", #"{"id":1}"#]
    try scene.run(PusherCLI.path, ["trigger", "--env-file", file] + event)
  }

  // MARK: Clients

  private static let hasNode = FileManager.default.isExecutableFile(atPath: "/usr/bin/node")

  /// Modules in place of the libraries, which print what they are called with.
  private static let modules = [
    "pusher-js": """
    module.exports = class {
      constructor(...given) { console.log(JSON.stringify(given)); }
      subscribe(channel) { return { bind: (event) => console.log(channel, event) }; }
    };
    """,
    "laravel-echo": """
    module.exports = class {
      constructor(given) { console.log(JSON.stringify([given.key, given])); }
      channel(name) { return { listen: (event) => console.log(name, event) }; }
    };
    """,
  ]

  private func lines(_ snippet: String) throws -> [String] {
    let folder = TemporaryFolder.shared.file("node")
    for (name, text) in Self.modules {
      let place = "\(folder)/node_modules/\(name)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      try text.write(toFile: "\(place)/index.js", atomically: true, encoding: .utf8)
    }
    // Echo's snippet is for a browser.
    let program = snippet.replacing("window.", with: "globalThis.")
    try program.write(toFile: "\(folder)/snippet.mjs", atomically: true, encoding: .utf8)
    let result = try PusherCLI.tool(["/usr/bin/node", "\(folder)/snippet.mjs"])
    #expect(result.ending == .exited(0), "\(result.errorText)")
    return result.outputText.split(separator: "\n").map(String.init)
  }

  private func expect(_ line: String, leadsTo port: String, key: String) throws {
    let given = try #require(try JSONValue(parsing: line).elements)
    #expect(given.first == .string(key))
    let options = try #require(given.last)
    #expect(options["wsHost"] == "127.0.0.1")
    #expect(options["wsPort"] == .number(port))
    #expect(options["forceTLS"] == false)
    #expect(options["cluster"]?.text?.isEmpty == false)
    #expect(options["enabledTransports"] == ["ws", "wss"])
  }

  @Test(.enabled(if: hasNode, "no node: scripts/install-packages.sh browser installs it"))
  func `--print-snippets connects pusher-js, and the endpoint that it names signs`() throws {
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0", "--print-snippets"], environment: [:])
    let snippet = try server.lines(14)
    #expect(snippet.last?.hasPrefix("pusher.subscribe(") == true)
    let shown = try lines(snippet.joined(separator: "\n"))
    let first = try JSONValue(parsing: try #require(shown.first))
    let options = try #require(first.elements?.last)
    let port = try #require(options["wsPort"]).jsonText
    try expect(shown[0], leadsTo: port, key: "local")
    #expect(shown.last == "orders order.created")
    let endpoint = try #require(options["channelAuthorization"]?["endpoint"]?.text)
    let client = try PusherCLI.start([
      "subscribe", "--host", "127.0.0.1", "--port", port, "--scheme", "http", "--key", "local",
      "--auth-endpoint", endpoint, "private-orders", "-L",
    ])
    #expect(try client.lines(2).last?.contains("subscription_succeeded") == true)
  }

  @Test(.enabled(if: hasNode, "no node: scripts/install-packages.sh browser installs it"))
  func `the snippet of Laravel Echo listens to the event`() throws {
    let scene = try Scene("local-secret")
    let shown = try lines(scene.snippet("Laravel Echo"))
    try expect(try #require(shown.first), leadsTo: scene.site.server.port, key: LocalServer.key)
    #expect(shown.last == "orders .order.created")
  }
}
