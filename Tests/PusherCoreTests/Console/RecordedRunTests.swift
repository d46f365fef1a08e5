import Foundation
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "A past run".
@Suite("The console: a past run")
struct RecordedRunTests {
  private let path = FileManager.default.temporaryDirectory
    .appending(path: "recording-\(UUID().uuidString)").path

  private func console(_ text: String) throws -> ConsoleHarness {
    try Data(text.utf8).write(to: URL(filePath: path))
    return try ConsoleHarness(recording: path)
  }

  @Test func `its entries come in order, and then its end`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let lines = (0..<20_000).map { #"{"n":\#($0),"kind":"event","event":"e\#($0)"}"# }
    let console = try console(lines.joined(separator: "\n") + "\n")
    let client = try console.stream()
    #expect(console.test.run { client.text.holds("event: end") })
    let events = console.entries(client, "event").compactMap { $0["event"]?.text }
    #expect(events == (0..<20_000).map { "e\($0)" })
    #expect(client.text.holds(#""recording":"recording-"#))
    #expect(!client.text.holds("/recording-"), "folders are not shown")
  }

  @Test func `a line that is no entry is told, and the others are shown`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let console = try console("{\"kind\":\"event\"}\nnonsense\n[1]\n\n{\"kind\":\"user\"}")
    let client = try console.stream()
    #expect(console.test.run { client.text.holds("event: end") })
    #expect(
      console.entries(client, "error").compactMap { $0["reason"]?.text } == [
        "line 2 of the recording is not an entry", "line 3 of the recording is not an entry",
      ])
    #expect(console.entries(client, "user").count == 1)
  }

  @Test func `nothing can be asked of it`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let console = try console("")
    let answer = try console.get("channels?app=3")
    #expect(answer.status == 409)
    #expect(answer.error?.contains("past run") == true)
  }
}
