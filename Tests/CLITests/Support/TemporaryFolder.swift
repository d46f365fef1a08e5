import Foundation

/// A folder of the test run with unique names; it is removed after the run.
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

  func file(_ name: String) -> String {
    "\(path)/\(UUID().uuidString)-\(name)"
  }

  func file(_ name: String, holding text: String) throws -> String {
    let path = file(name)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
    return path
  }
}
