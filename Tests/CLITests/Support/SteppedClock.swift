import Foundation

/// A wall clock that the test sets while a program runs, by faketime; the monotonic clock goes on.
final class SteppedClock {
  /// faketime's library; `nil` if it is not installed.
  static let library: String? = {
    let folders = try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
    return (folders ?? []).map { "/usr/lib/\($0)/faketime/libfaketime.so.1" }.first {
      FileManager.default.fileExists(atPath: $0)
    }
  }()

  private let path = TemporaryFolder.shared.file("stepped-clock")

  init() throws {
    try set("+0")
  }

  func set(_ offset: String) throws {
    try offset.write(toFile: path, atomically: true, encoding: .utf8)
  }

  var environment: [String: String] {
    [
      "LD_PRELOAD": Self.library ?? "", "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1",
      "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    ]
  }
}
