import Foundation
import PusherCore
import Testing

struct ConsoleWebhooks {
  let program: ChildProgram
  let url: String

  init() throws {
    let file = TemporaryFolder.shared.file("webhook-port")
    program = try PusherCLI.start(
      ["webhook", "listen", "--listen", "127.0.0.1:0", "--port-file", file],
      environment: ConsoleSite.environment)
    url = "http://127.0.0.1:\(try program.port(in: file))/hook"
  }

  /// Returns the next event with a valid signature.
  func line() throws -> String { try program.line() }
}
