import Foundation
import PusherCore
import Testing

/// A redis-server for this test only, on a free port of 127.0.0.1; it ends with the object.
final class RedisProgram {
  /// True if redis-server is installed; in CI it must be.
  static let isInstalled =
    ProcessInfo.processInfo.environment["CI"] == "true"
    || FileManager.default.isExecutableFile(atPath: "/usr/bin/redis-server")

  let port: UInt16
  private let folder: String
  private var program: ChildProgram

  init() throws {
    port = try Loopback.closedPort()
    folder = TemporaryFolder.shared.file("redis")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    program = try Self.start(port, folder)
    try awaitAnswer()
  }

  var url: String { "redis://127.0.0.1:\(port)/0" }

  private static func start(_ port: UInt16, _ folder: String) throws -> ChildProgram {
    try ChildProgram(
      "redis-server",
      [
        "--port", "\(port)", "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly",
        "no", "--enable-debug-command", "yes",
      ], environment: PusherCLI.environment, output: .file("/dev/null"))
  }

  private func awaitAnswer() throws {
    try waitUntil("redis-server answers") { try command("PING").hasPrefix("PONG") }
  }

  @discardableResult
  func command(_ words: String...) throws -> String {
    try PusherCLI.tool(["redis-cli", "-p", "\(port)"] + words).outputText
  }

  func send(_ signal: Int32) { program.send(signal) }

  func kill() throws {
    program.send(SIGKILL)
    _ = try program.wait()
  }

  func restart() throws {
    program = try Self.start(port, folder)
    try awaitAnswer()
  }
}
