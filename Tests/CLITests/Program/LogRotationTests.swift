import Foundation
import PusherCore
import Testing

/// Runs the `contrib/logrotate` snippet with the real logrotate.
@Suite("Log rotation", .runsPrograms, .needs(.program("logrotate")))
struct LogRotationTests {
  private let folder: String
  private var file: String { "\(folder)/events.jsonl" }

  init() throws {
    folder = try TemporaryFolder.shared.folder("rotated")
    // logrotate refuses a folder that others may write to.
    chmod(folder, 0o755)
  }

  private func snippet(signalling program: ChildProgram) throws -> String {
    let text = try Documentation.text("contrib/logrotate/pusher-cli")
    let changed =
      text
      .replacing("/var/lib/private/pusher-cli/*/*.jsonl", with: "\(folder)/*.jsonl")
      .replacing(
        "systemctl kill --signal=HUP 'pusher-cli@*.service'", with: "kill -HUP \(program.id)")
    #expect(changed.contains(folder) && changed.contains("kill -HUP"))
    return try TemporaryFolder.shared.file("logrotate", holding: changed)
  }

  private func rotate(_ snippet: String) throws {
    let state = TemporaryFolder.shared.file("logrotate-state")
    let run = try ChildProgram(
      "/usr/sbin/logrotate", ["--force", "--state", state, snippet],
      environment: PusherCLI.environment)
    try run.result().expect()
  }

  private var size: Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: file)
    return attributes?[.size] as? Int ?? 0
  }

  private func lines() throws -> [String] {
    let script = "cd '\(folder)' && for f in $(ls -r events.jsonl*); do zcat -f \"$f\"; done"
    let run = try ChildProgram("/bin/sh", ["-c", script], environment: PusherCLI.environment)
    return try run.result().outputLines
  }

  @Test func `what comes during a rotation stands in one of the files, once, in order`() throws {
    let server = try LocalServer()
    let program = try server.start(["subscribe", "news", "--output-file", file, "-n", "8000", "-L"])
    try waitUntil("the channel is joined") {
      (try? fileText(file))?.contains("subscription_succ") == true
    }
    let snippet = try snippet(signalling: program)
    let events = (0..<8000).map { #"{"event":"e","channel":"news","data":\#($0)}"# }
    for round in 0..<4 {
      let portion = events[(round * 2000)..<(round * 2000 + 2000)].joined(separator: "\n") + "\n"
      let sender = try server.start(
        ["trigger", "-"], input: .file(TemporaryFolder.shared.file("lines", holding: portion)))
      // logrotate does not rotate an empty file.
      try waitUntil("events have come") { size > 0 }
      try rotate(snippet)
      try program.errorLine(containing: "reopened \(file)")
      #expect(try sender.wait() == .exited(0))
    }
    #expect(try program.wait() == .exited(0))
    #expect(try lines().filter { $0.contains(#""e""#) } == events)
  }
}
