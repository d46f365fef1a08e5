import Foundation
import PusherCore
import Testing

@Suite("Events in a file", .runsPrograms)
struct FileOutputTests {
  @Test func `a burst larger than the queue does not wait for the next event`() throws {
    // The compressed events arrive in one read.
    let text = String(repeating: "0123456789abcdef", count: 8192)
    let server = try ScriptedServer { connection in
      try connection.join(deflate: true)
      for _ in 0..<8 { try connection.send(event: "big", data: #"{"text":"\#(text)"}"#) }
      try connection.stay()
    }
    let path = TemporaryFolder.shared.file("events")
    let program = try PusherCLI.subscribe(
      to: server, "news", "--buffer", "64k", "-n", "8", "-W", "10", output: .file(path))
    #expect(try program.wait() == .exited(0))
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 8)
  }
}
