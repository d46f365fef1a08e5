import Foundation

/// A folder of the test run's own, with names that nobody else uses; it goes with the run.
struct TemporaryFolder: Sendable {
  static let shared = TemporaryFolder()

  let path: String

  private init() {
    path = NSTemporaryDirectory() + "/pusher-cli-tests-\(getpid())"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    atexit {
      try? FileManager.default.removeItem(atPath: TemporaryFolder.shared.path)
    }
  }

  /// A path that does not exist yet.
  func file(_ name: String) -> String {
    "\(path)/\(UUID().uuidString)-\(name)"
  }

  /// A new file with this text, which only its owner may read.
  func file(_ name: String, holding text: String) throws -> String {
    let path = file(name)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
    return path
  }
}
