import Foundation
import Testing

/// A folder of the test run with unique names; it is removed after the run.
///
/// Its path is one word of a shell's line, of `LD_PRELOAD` and of a configuration file.
struct TemporaryFolder: Sendable {
  static let shared = TemporaryFolder()

  let path: String

  private init() {
    let given = NSTemporaryDirectory()
    let isWord = given.allSatisfy { $0.isLetter || $0.isNumber || "/._-+".contains($0) }
    path = (isWord ? given : "/tmp") + "/pusher-cli-tests-\(getpid())"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    atexit {
      try? FileManager.default.removeItem(atPath: TemporaryFolder.shared.path)
    }
  }

  func file(_ name: String) -> String { "\(path)/\(UUID().uuidString)-\(name)" }

  /// Makes an empty folder and returns its path.
  func folder(_ name: String) throws -> String {
    let path = file(name)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    return path
  }

  func file(_ name: String, holding text: String) throws -> String {
    let path = file(name)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
    return path
  }
}

/// Returns the text of a file.
func fileText(_ path: String) throws -> String {
  try String(contentsOfFile: path, encoding: .utf8)
}

/// jq, which most readers of our lines use.
enum Jq {
  static func run(_ options: String..., on input: [UInt8]) throws -> String {
    let result = try PusherCLI.tool(["jq"] + options, input: input)
    #expect(result.ending == .exited(0), "jq said: \(result.errorText)")
    return result.outputText
  }

  static func expectReads(_ input: [UInt8], lines: Int) throws {
    let events = try run("-c", ".event", on: input)
    #expect(events.split(separator: "\n").count == lines)
  }
}
