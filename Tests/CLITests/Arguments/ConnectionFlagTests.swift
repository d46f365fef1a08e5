import Foundation
import Testing

@testable import pusher_cli

@Suite("One set of connection options serves all commands")
struct ConnectionFlagTests {
  /// All variables that name an app and its server.
  private static let set =
    "--key k --app-id 1 --secret-file secret --host h --port 6001 --scheme http --path /p "
    + "--service pusher --cacert ca --tls-cert c --tls-key k --proxy http://p:1 -4 --connect-timeout 5s"
  private static let files = PretendFiles(
    contents: ["secret": "s\n", "ca": "", "c": "", "k": ""]
  ).access

  private static let commands: [Command: String] = [
    .subscribe: "a", .sse: "http://h/", .serve: "", .trigger: "-c a -e e 1", .channels: "",
    .users: "presence-a", .terminate: "7", .auth: "private-a --socket-id 1.2",
    .sign: "channel private-a --socket-id 1.2",
    .verify: "channel private-a --socket-id 1.2 --signature aa",
    .webhook: "listen", .check: "a", .bench: "",
  ]

  @Test func `each command that has settings takes the whole set`() throws {
    #expect(
      Set(Self.commands.keys)
        == Set(Command.allCases).subtracting([.config, .completion, .help, .version]))
    for (command, rest) in Self.commands {
      let line = "\(command.rawValue) \(rest) \(Self.set)"
      #expect(throws: Never.self, "\(line)") {
        let typed = try arguments(line)
        switch command {
        case .subscribe: _ = try SubscribeSettings(typed, environment: [:], files: Self.files)
        case .sse: _ = try StreamSettings(typed, environment: [:], files: Self.files)
        case .serve: _ = try ServeSettings(typed, environment: [:], files: Self.files)
        case .trigger: _ = try TriggerSettings(typed, environment: [:], files: Self.files)
        case .check: _ = try CheckSettings(typed, environment: [:], files: Self.files)
        case .bench: _ = try BenchSettings(typed, environment: [:], files: Self.files)
        case .webhook: _ = try WebhookSettings(typed, environment: [:], files: Self.files)
        case .auth, .sign, .verify:
          _ = try SignSettings(typed, environment: [:], files: Self.files)
        default: _ = try InspectSettings(typed, environment: [:], files: Self.files)
        }
      }
    }
  }

  @Test func `every option of that kind is taken by every command, whatever it does there`() throws
  {
    let values = [
      "port": "1", "scheme": "http", "service": "pusher", "connect-timeout": "1s",
    ]
    for command in Command.allCases {
      for flag in Flags.all where flag.isOfConnection {
        let argument =
          flag.takesValue
          ? Argument.value(flag, values[flag.name] ?? "x") : Argument.on(flag)
        #expect(throws: Never.self, "\(command.rawValue) \(flag.spelling)") {
          try TypedArguments(command, [argument])
        }
      }
    }
  }

  @Test func `serve says that it does not listen there`() throws {
    #expect(
      try serve("--host 0.0.0.0").warnings.map(\.text) == [
        "--host is for commands that connect; set the address of serve with --listen"
      ])
    #expect(try serve("--port 80").listen.host == "127.0.0.1")
  }
}
