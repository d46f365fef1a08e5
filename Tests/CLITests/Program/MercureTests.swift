import Foundation
import PusherCore
import Testing

/// A Mercure hub says after which event its stream begins.
@Suite("sse, against a Mercure hub", .runsPrograms)
struct MercureTests {
  private func start(_ hub: MercureHub, _ options: String..., query: String = "") throws
    -> ChildProgram
  {
    try PusherCLI.start(["sse", hub.url(query), "--retry-max-delay", "10ms"] + options)
  }

  private func event(_ id: String) -> String {
    #"{"event":"message","id":"\#(id)","data":{"of":"\#(id)"}}"#
  }

  private static let lost =
    "pusher-cli: warning: the server does not find event urn:a: events after it may be lost\n"

  @Test func `a stream that begins where it should is told of with no word`() throws {
    let hub = try MercureHub(.init(kept: ["urn:a", "urn:b"], live: ["urn:c"]))
    let result = try start(hub, "--last-event-id", "urn:a", "-n", "2", "-L").result()
    result.expect(0, says: "")
    #expect(result.outputText.contains(event("urn:b") + "\n" + event("urn:c") + "\n"))
    #expect(!result.outputText.contains("pusher-cli:gap"))
    let first = try MercureHub(.init(kept: ["urn:a"], live: ["urn:b"]))
    try start(first, "-n", "1").result().expect(0, says: "")
    #expect(hub.asked.values == ["urn:a"] && first.asked.values == [nil])
  }

  @Test(arguments: ["Mercure-Last-Event-ID", "Last-Event-ID"])
  func `an event that the hub no longer has is a loss, and a gap before the first event`(
    field: String
  ) throws {
    let hub = try MercureHub(field: field, .init(kept: ["urn:b"], live: ["urn:c"]))
    let program = try start(hub, "--last-event-id", "urn:a", "-n", "1", "-L")
    let lines = try program.lines(3)
    #expect(lines[0].contains(#""event":"pusher-cli:connected""#))
    #expect(lines[1].hasPrefix(#"{"event":"pusher-cli:gap","data":{"from":""#), "\(lines[1])")
    let end = #","seconds":0,"last_event_id":"urn:a","resumed_after":"earliest"}}"#
    #expect(lines[1].hasSuffix(end), "\(lines[1])")
    #expect(lines[2] == event("urn:c"))
    try program.result().expect(0, says: Self.lost)
  }

  @Test(arguments: ["&lastEventID=urn%3Aa", "&last_event_id=urn%3Aa", "&Last-Event-ID=urn%3Aa"])
  func `the event of the URL counts too`(query: String) throws {
    // A hub whose stream always begins after the same event.
    let server = try ScriptedServer { connection in
      try connection.beginStream([("Mercure-Last-Event-ID", "urn:b")])
      try connection.send(stream: MercureHub.update("urn:c"))
      try connection.remain()
    }
    let result = try PusherCLI.run(["sse", "\(server.url)?topic=x\(query)", "-n", "1"])
    #expect(
      result.errorText == "pusher-cli: warning: the server continues after event urn:b, "
        + "not after urn:a: events may be lost\n")
  }

  @Test func `after a reconnection the hub's answer decides whether events are lost`() throws {
    let hub = try MercureHub(
      .init(live: ["urn:a"], ends: true),
      .init(kept: ["urn:a", "urn:b"], ends: true), .init(kept: [], live: ["urn:z"]))
    let program = try start(hub, "-n", "3", "-L", "-v")
    let events = try program.lines(11).filter { $0.contains(#""event":"message""#) }
    #expect(events == [event("urn:a"), event("urn:b"), event("urn:z")])
    let back = try program.result().errorLines.filter { $0.contains("back after") }
    #expect(hub.asked.values == [nil, "urn:a", "urn:b"])
    try #require(back.count == 2)
    #expect(back[0].hasSuffix(", continuing after event urn:a"), "\(back)")
    let loss = "; the server does not find event urn:b: events after it may be lost"
    #expect(back[1].hasPrefix("pusher-cli: warning: back after ") && back[1].hasSuffix(loss))
  }

  @Test func `a hostile ID neither breaks a line nor drives a terminal`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream([("Last-Event-ID", "\u{85}\u{202E}\"\\")])
      try connection.send(stream: "data: 1\n\n")
      try connection.remain()
    }
    let result = try PusherCLI.sse(server, "-n", "1", "-L", "--last-event-id", "7").result()
    #expect(result.errorLines.count == 1)
    #expect(result.errorText.contains(#"after event \u{85}\u{202e}"\, not after 7"#))
    let gap = try #require(result.outputText.split(separator: "\n").dropFirst().first)
    let place = try JSONParser.parse(String(gap))["data"]?["resumed_after"]?.text
    #expect(place == "\u{85}\u{202E}\"\\", "\(gap)")
  }
}
