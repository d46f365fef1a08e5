import Foundation
import PusherCore
import Testing

/// A server with the apps that the documentation speaks of, and a stage on which its blocks find
/// it.
final class RecipeScene {
  let server: LocalServer
  let stage: RecipeStage

  /// The second app, which the blocks without a key of their own find in the environment.
  static let app = [
    "PUSHER_APP_KEY": "app-key", "PUSHER_APP_SECRET": "app-secret", "PUSHER_APP_ID": "2",
  ]
  static let local = [
    "PUSHER_APP_KEY": "local", "PUSHER_APP_SECRET": "local", "PUSHER_APP_ID": "1",
  ]
  static let key = [
    "PUSHER_APP_KEY": "KEY", "PUSHER_APP_SECRET": "key-secret", "PUSHER_APP_ID": "3",
  ]

  /// With `leads` the blocks are led to the server, whatever they say.
  init(leads: RecipeStage.Lead = .always) throws {
    let apps = try TemporaryFolder.shared.file("apps", holding: RecipeStage.apps)
    server = try LocalServer(options: ["--apps", apps])
    stage = try RecipeStage(port: server.port, leads: leads)
  }

  /// What a command prints that calls the server.
  func call(_ words: [String], _ app: [String: String] = app) throws -> String {
    let result = try PusherCLI.run(words + server.address, environment: app)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    return result.outputText
  }

  /// Sends an event once the program has joined its channel.
  func send(
    _ channel: String, _ event: String, _ data: String, _ app: [String: String] = app,
    to program: ChildProgram
  ) throws {
    try waitUntil("somebody has joined \(channel): \(program.peekAtErrors())") {
      try call(["channels"], app).contains("\"channel\":\"\(channel)\"")
    }
    _ = try call(["trigger", "-c", channel, "-e", event, data], app)
  }
}
