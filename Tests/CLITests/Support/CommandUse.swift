import Testing

@testable import pusher_cli

/// A way to use a command: a complete command line, and the settings that its run uses.
struct CommandUse: Sendable, CustomTestStringConvertible {
  /// The command, and its word if it has several.
  let name: String
  let command: Command
  let line: String
  let settings: @Sendable (inout Resolved) throws -> any CommandSettings
  /// Returns whether the run differs by a command line, warnings aside.
  let differs: @Sendable (_ first: [String], _ second: [String]) throws -> Bool
  var testDescription: String { name }

  /// - Parameter prepare: Clears the settings that the run does not use.
  private init<Settings: CommandSettings>(
    _ name: String, _ line: String, _: Settings.Type,
    _ prepare: @escaping @Sendable (inout Settings) -> Void
  ) {
    (self.name, self.line) = (name, line)
    let command = Command(word: String(name.prefix { $0 != " " })) ?? .help
    self.command = command
    settings = { try Settings(&$0) }
    differs = { first, second in
      func settings(_ words: [String]) throws -> Settings {
        var settings = try Settings(
          arguments(words), environment: Self.environment, files: Self.files)
        prepare(&settings)
        return settings
      }
      let other = try settings(second)
      // What makes a wrong command line right has a use.
      guard let own = try? settings(first) else { return true }
      return own != other
    }
  }

  /// Returns the use that a command line makes of its command, or `nil` for a command without
  /// settings.
  static func of(_ typed: TypedArguments) -> CommandUse? {
    let uses = all.filter { $0.command == typed.command }
    return uses.first { $0.name.hasSuffix(" \(typed.operands.first ?? "")") } ?? uses.first
  }

  private static let environment = [
    "PUSHER_APP_KEY": "key", "PUSHER_APP_SECRET": "secret", "PUSHER_APP_ID": "1", "HOME": "/h",
    "PUSHER_ENCRYPTION_MASTER_KEY": "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=",
  ]

  private static let files: FileAccess = {
    let sections = Set<Command>.talking.map { "[\($0)]\ncolor = always\n" }.joined()
    let profile = "[profile p]\nkey = pk\nsecret = ps\napp-id = 7\nhost = ph\ncolor = never\n"
    var files = PretendFiles(contents: [
      "/h/.config/pusher-cli/config": sections + profile,
      "conf": sections.split(separator: "always").joined(separator: "never"),
      "env": "PUSHER_APP_KEY=k2\nPUSHER_APP_SECRET=s2\nPUSHER_APP_ID=2\n", "secret": "other\n",
      "pem": "", "key": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n",
      "apps": #"[{"id":"5","key":"k5","secret":"s5"}]"#, "bench": #"{"load":{},"sent":1}"#,
    ]).access
    files.isOpen = { _ in true }
    return files
  }()

  /// Clears the warnings, and what neither `check` nor `bench` nor `webhook send` does.
  private static func clear(_ settings: inout SubscribeSettings) {
    settings.userSignIn = .unwanted
    settings.discovery = nil
    settings.gap = nil
    settings.readsInput = false
    settings.feed.printing = PrintSettings(
      includedEvents: [], excludedEvents: [], form: EventForm(output: .json, color: .never),
      bufferSize: 0)
    settings.feed.common.warnings = []
  }

  private static func clearRun(_ settings: inout SubscribeSettings) {
    clear(&settings)
    settings.feed.run = RunSettings()
    settings.maxMembers = 0
  }

  static let all: [CommandUse] =
    [
      CommandUse("subscribe", "presence-a private-encrypted-b", SubscribeSettings.self) {
        $0.feed.common.warnings = []
      },
      CommandUse("sse", "http://h/", StreamSettings.self) { $0.feed.common.warnings = [] },
      CommandUse("serve", "", ServeSettings.self) { $0.common.warnings = [] },
      CommandUse("trigger", "-c private-encrypted-a -e e 1", TriggerSettings.self) {
        $0.common.warnings = []
      },
      CommandUse("channels", "", InspectSettings.self) { $0.common.warnings = [] },
      CommandUse("users", "presence-a", InspectSettings.self) { $0.common.warnings = [] },
      CommandUse("terminate", "7", InspectSettings.self) { $0.common.warnings = [] },
      CommandUse("check", "presence-a private-encrypted-b", CheckSettings.self) {
        clearRun(&$0.subscription)
        $0.subscription.feed.reconnectDelay = .zero
      },
      CommandUse("bench", "-c presence-load", BenchSettings.self) { clearRun(&$0.subscription) },
      CommandUse("webhook listen", "", WebhookSettings.self) { $0.common.warnings = [] },
      CommandUse("webhook send", "--to http://a/", WebhookSendSettings.self) {
        clear(&$0.subscription)
      },
    ] + signing

  private static let signing: [CommandUse] = [
    ("auth", "presence-a --socket-id 1.2 --user-id 7"),
    ("sign channel", "presence-a --socket-id 1.2 --user-id 7"),
    ("sign user", "--socket-id 1.2 --user-id 7"), ("sign request", "POST /apps/1/events"),
    ("sign webhook", "--data x"),
    ("verify channel", "presence-a --socket-id 1.2 --user-id 7 --signature aa"),
    ("verify user", "--socket-id 1.2 --user-id 7 --signature aa"),
    ("verify request", "POST /apps/1/events"), ("verify webhook", "--data x --signature aa"),
  ].map { CommandUse($0.0, $0.1, SignSettings.self) { $0.common.warnings = [] } }
}
