import Foundation
import PusherCore

/// A `webhook listen` and the `webhook send` that sends to it.
struct WebhookPair: WebhookWatcher {
  let receiver: ChildProgram
  let url: String

  /// - Parameter key: The key of the app whose webhooks are taken.
  init(key: String = LocalServer.key) throws {
    let file = TemporaryFolder.shared.file("webhook-port")
    receiver = try PusherCLI.start(
      ["webhook", "listen", "--listen", "127.0.0.1:0", "--port-file", file, "--key", key],
      environment: LocalServer.environment("local-secret"))
    url = "http://127.0.0.1:\(try receiver.port(in: file))/hook"
  }

  func line() throws -> String { try receiver.line() }

  /// Starts `webhook send` for the server of `address`, with short waits.
  func start(
    _ address: [String], _ options: String..., secret: String = "local-secret"
  ) throws -> ChildProgram {
    let common = ["--to", url, "--every", "20ms", "--webhook-delay", "1ms", "-v"]
    return try PusherCLI.start(
      ["webhook", "send"] + address + common + options,
      environment: LocalServer.environment(secret))
  }

  /// Returns the next webhooks: name, channel and user.
  func told(_ count: Int = 1) throws -> [String] {
    try receiver.lines(count).map { try summary($0, ["event", "channel", "user_id"]) }
  }

  /// Ends `webhook listen` and returns the webhooks that were not read.
  func rest() throws -> String {
    receiver.send(SIGTERM)
    return try receiver.result().outputText
  }
}

/// A reader of webhooks, and members of presence-room that come and go.
protocol WebhookWatcher {
  var receiver: ChildProgram { get }
}

extension WebhookWatcher {
  func member(_ server: LocalServer, _ user: String) throws -> ChildProgram {
    try server.subscribe(["presence-room"], "-L", "--user-id", user, "--reconnect", "never")
  }

  func leave(_ member: ChildProgram) throws {
    member.send(SIGTERM)
    try member.wait()
  }

  /// Returns the events of the next webhooks, each with its user.
  func told(_ count: Int) throws -> [String] {
    try receiver.lines(count).map { try summary($0) }
  }

  func summary(_ line: String, _ members: [String] = ["event", "user_id"]) throws -> String {
    let value = try JSONParser.parse(line)
    return members.compactMap { value[$0]?.text }.joined(separator: " ")
  }
}
