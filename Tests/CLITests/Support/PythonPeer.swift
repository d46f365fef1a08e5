import Foundation

/// Programs of `Tests/CLITests/Peers`, on the interpreter prepared by scripts/test.sh.
enum PythonPeer {
  /// The interpreter with the libraries of Tests/requirements.txt; `nil` outside scripts/test.sh.
  static let interpreter = setting("PUSHER_CLI_TEST_PYTHON")

  /// True if tests that need it run.
  ///
  /// In CI they always run, so that a missing interpreter fails.
  static let isWanted = interpreter != nil || setting("CI") != nil

  static let reason = "PUSHER_CLI_TEST_PYTHON is not set: scripts/test.sh sets it"

  private static func setting(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

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
