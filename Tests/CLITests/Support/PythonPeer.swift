import Foundation

/// Programs of `Tests/CLITests/Peers`, on the interpreter that scripts/test.sh prepares.
enum PythonPeer {
  /// The interpreter that has the libraries of Tests/requirements.txt; `nil` outside scripts/test.sh.
  static let interpreter = setting("PUSHER_CLI_TEST_PYTHON")

  /// Whether tests that need it run: in CI always, so that its absence fails there.
  static let isWanted = interpreter != nil || setting("CI") != nil

  static let reason = "PUSHER_CLI_TEST_PYTHON is not set: scripts/test.sh sets it"

  private static func setting(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Starts a peer.
  static func start(
    _ name: String, _ arguments: [String], input: ChildProgram.Input = .nothing
  ) throws -> ChildProgram {
    guard let interpreter else { throw Unexpected(reason) }
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let script = folder.appending(path: "Peers/\(name)").path
    return try ChildProgram(
      interpreter, ["-B", script] + arguments, environment: PusherCLI.environment, input: input)
  }
}
