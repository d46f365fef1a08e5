import Foundation
import PusherConsole
import PusherCore
import PusherServer
import Testing

/// The lines that connect an app; `Tests/CLITests/Program/SnippetRunTests.swift` runs them.
struct `Snippets that connect an app` {
  private static func target(
    key: String = "local", id: String = "1", secret: String = "local",
    at url: String = "http://127.0.0.1:6001", signsChannels: Bool = true
  ) throws -> SnippetTarget {
    SnippetTarget(
      Application(id: id, key: key, secret: secret), at: try HTTPURL(parsing: url),
      signsChannels: signsChannels)
  }

  static let names = [
    "pusher-js", "Laravel Echo", "Laravel .env", "PHP", "Python", "Ruby", "Swift", "curl",
  ]

  private static func text(_ name: String, for target: SnippetTarget) throws -> String {
    try #require(target.snippets.first { $0.name == name }?.text)
  }

  @Test func `pusher-js gets the address, the key and an endpoint that signs`() throws {
    #expect(
      try Self.target().pusherJS == """
        // npm install pusher-js
        import Pusher from "pusher-js";

        const pusher = new Pusher("local", {
          cluster: "mt1", // required, but not used
          wsHost: "127.0.0.1",
          wsPort: 6001,
          wssPort: 6001,
          forceTLS: false,
          enabledTransports: ["ws", "wss"],
          // serve signs for private channels; later, name your own endpoint.
          channelAuthorization: { endpoint: "http://127.0.0.1:6001/pusher/auth", transport: "ajax" },
        });
        pusher.subscribe("orders").bind("order.created", (data) => console.log(data));

        """)
  }

  @Test func `a server that does not sign is not named as an endpoint`() throws {
    let text = try Self.target(signsChannels: false).pusherJS
    #expect(!text.holds("channelAuthorization"))
    #expect(text.holds("  enabledTransports: [\"ws\", \"wss\"],\n});\n"))
  }

  @Test(arguments: names)
  func `a snippet names host, port and key, and ends with a newline`(snippet: String) throws {
    let target = try Self.target(key: "a-key", at: "http://shop.test:7001")
    let text = try Self.text(snippet, for: target)
    #expect(text.holds("shop.test") && text.holds("7001") && text.holds("a-key"))
    #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"))
  }

  @Test(arguments: names)
  func `a snippet never has a secret of one's own`(snippet: String) throws {
    let target = try Self.target(key: "k", id: "17", secret: "my-own-secret")
    let text = try Self.text(snippet, for: target)
    #expect(!text.holds("my-own-secret"))
    let needsNone = ["pusher-js", "Laravel Echo", "Swift"]
    #expect(text.holds("PUSHER_APP_SECRET") == !needsNone.contains(snippet))
    #expect(target.missingSecret?.holds("the secret of app '17'") == true)
  }

  @Test func `the published secret is filled in, and nothing is missing`() throws {
    let target = try Self.target()
    #expect(target.missingSecret == nil)
    let parts = [
      ("PHP", "new Pusher\\Pusher('local', 'local', '1', ["),
      ("Python", "secret=\"local\","), ("Ruby", "secret: 'local',"),
      ("Laravel .env", "PUSHER_APP_SECRET=local\n"), ("curl", "sign --local --key='local' "),
    ]
    try Self.expect(target, parts.map { ($0, [$1]) })
    for (snippet, _) in parts where snippet != "Laravel .env" {
      #expect(try !Self.text(snippet, for: target).holds("PUSHER_APP_SECRET"))
    }
  }

  /// Expects these texts in the snippets for a target.
  private static func expect(_ target: SnippetTarget, _ parts: [(String, [String])]) throws {
    for (snippet, words) in parts {
      let text = try text(snippet, for: target)
      for word in words { #expect(text.range(of: word) != nil, "\(word) in \(text)") }
    }
  }

  @Test func `TLS and IPv6 are written as each library takes them`() throws {
    let target = try Self.target(at: "https://[::1]")
    let parts: [(String, [String])] = [
      ("pusher-js", ["wsHost: \"[::1]\"", "wssPort: 443", "forceTLS: true", "https://[::1]:443/"]),
      ("Laravel Echo", ["wsHost: \"[::1]\"", "forceTLS: true"]),
      ("Laravel .env", ["PUSHER_PORT=443\n", "PUSHER_SCHEME=https\n"]),
      ("PHP", ["'host' => '[::1]'", "'scheme' => 'https'", "'useTLS' => true"]),
      ("Python", ["host=\"[::1]\"", "ssl=True"]),
      ("Ruby", ["host: '[::1]'", "scheme: \"https\""]),
      ("Swift", [".host(\"::1\"), port: 443, useTLS: true"]), ("curl", ["'https://[::1]:443'"]),
    ]
    #expect(parts.map(\.0) == Self.names && target.snippets.map(\.name) == Self.names)
    try Self.expect(target, parts)
  }

  @Test func `a key cannot end its string and become code`() throws {
    let target = try Self.target(key: ##"k"'\#{$`x"##)
    let parts: [(String, String)] = [
      ("pusher-js", ##"new Pusher("k\"'\\#{$`x", {"##), ("Laravel Echo", ##"key: "k\"'\\#{$`x","##),
      ("Laravel .env", ##"PUSHER_APP_KEY="k\"'\\#{\$\`x""##),
      ("PHP", ##"Pusher('k"\'\\#{$`x', "##), ("Python", ##"key="k\"'\\#{$`x","##),
      ("Ruby", ##"key: 'k"\'\\#{$`x',"##), ("Swift", ##"key: "k\"'\\#{$`x","##),
      ("curl", ##"--key='k"'\''\#{$`x' request"##),
    ]
    try Self.expect(target, parts.map { ($0, [$1]) })
  }

  @Test func `Python is told of app ids that its library refuses`() throws {
    #expect(try Self.text("Python", for: Self.target(id: "shop")).holds("digits only"))
    #expect(try !Self.text("Python", for: Self.target(id: "17")).holds("digits only"))
  }

  /// `make examples` builds and runs the README's program.
  @Test func `Swift is the program of the README`() throws {
    let page = URL(filePath: #filePath).appending(path: "../../../../README.md").standardized
    let readme = try String(contentsOf: page, encoding: .utf8)
    let start = try #require(readme.range(of: "```swift\n")?.upperBound)
    let end = try #require(readme.range(of: "```", range: start..<readme.endIndex)?.lowerBound)
    #expect(
      try Self.text("Swift", for: Self.target()) == "import PusherCore\n\n" + readme[start..<end])
  }
}
