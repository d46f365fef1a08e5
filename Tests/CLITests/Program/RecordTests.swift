import Foundation
import PusherCore
import Testing

/// A file with every event, whatever is printed.
@Suite("--record", .runsPrograms)
struct RecordTests {
  private let path = TemporaryFolder.shared.file("record")

  private func lines() throws -> [String] {
    try SystemFile.text(path).split(separator: "\n").map { line in
      let (head, time) = (#"{"received_at":""#, "2026-11-22T11:44:24.243Z".count)
      #expect(line.hasPrefix(head))
      return "{" + line.dropFirst(head.count + time + 2)
    }
  }

  @Test(arguments: [
    [], ["-o", "pretty"], ["-F", "%e"], ["--exec", "cat"], ["-x", "b*"],
    ["--where", #"event == "c""#],
  ])
  func `every event is recorded, printed or not`(options: [String]) throws {
    let server = try ScriptedServer.joined { connection in
      for name in ["a", "b", "c"] { try connection.send(event: name, data: #"{"n":1.10}"#) }
    }
    let result = try PusherCLI.run(
      ["subscribe"] + server.address
        + ["news", "--record", path, "-e", "c", "-n", "1", "--timeout", "10m"] + options)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText.split(separator: "\n").count == 1)
    #expect(
      try lines()
        == ["a", "b", "c"].map { #"{"event":"\#($0)","channel":"news","data":{"n":1.10}}"# }
    )
    #expect(try SystemFile.mode(path) == 0o600)
  }

  @Test func `sse records every event with its id`() throws {
    let server = try ScriptedServer.streaming(
      "id: 1\nevent: a\ndata: 1\n\nid: 2\nevent: b\ndata: 2\n\n")
    let result = try PusherCLI.sse(
      server, "--record", path, "-e", "b", "-n", "1", "--timeout", "10m"
    ).result()
    #expect(result.outputText == #"{"event":"b","id":"2","data":2}"# + "\n")
    #expect(
      try lines() == [#"{"event":"a","id":"1","data":1}"#, #"{"event":"b","id":"2","data":2}"#])
  }

  @Test func `SIGHUP goes on with the file of the name`() throws {
    let server = try LocalServer()
    let program = try server.start("subscribe", "news", "--record", path, "-v")
    try program.errorLine(containing: "subscribed to news")
    try server.trigger("news", "e", "1").expect(0)
    try waitUntil("the event is recorded") { (try? lines())?.count == 1 }
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    program.send(SIGHUP)
    try program.errorLine(containing: "reopened \(path)")
    try server.trigger("news", "e", "2").expect(0)
    try waitUntil("the next event is in the new file") { (try? lines())?.count == 1 }
    try program.end()
    #expect(try lines() == [#"{"event":"e","channel":"news","data":2}"#])
  }
}
