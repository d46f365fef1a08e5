import Foundation
import PusherCore
import Testing

@Suite("check --publish: an event goes out through the HTTP API and comes back", .runsPrograms)
struct CheckPublishTests {
  private func check(_ server: LocalServer, _ options: String...) throws -> ProgramResult {
    try server.run(["check", "--publish"] + options)
  }

  private static func stages(_ result: ProgramResult) throws -> [JSONValue] {
    try result.outputLines.map { try JSONParser.parse($0) }
  }

  private static func trips(_ result: ProgramResult) throws -> [JSONValue] {
    try stages(result).filter { $0["stage"]?.text == "round trip" }
  }

  @Test func `without a channel the event takes one of its own, and its time is told`() throws {
    let server = try LocalServer()
    let result = try check(server, "-v")
    result.expect()
    let words = /published pusher-cli-check to pusher-cli-check-[0-9a-f]{8}\n/
    #expect(result.errorText.firstMatch(of: words) != nil, "\(result.errorText)")
    let lines = result.outputLines
    let place = try #require(lines.firstIndex { $0.hasPrefix("round trip") })
    #expect(lines[place].wholeMatch(of: /round trip      ok: \d+\.\d ms/) != nil, "\(lines[place])")
    #expect(lines[place - 1].hasPrefix("http api        ok: "))
    let advice = lines[(place + 1)...]
    #expect(advice.count == 6 && advice.allSatisfy { $0.hasPrefix("                ") })
    #expect(lines.last?.hasSuffix("more: docs/when-nothing-arrives.md") == true)
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `each channel has its round trip, on every server that serve plays`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    let result = try check(server, "news", "private-a", "presence-b", "-o", "json")
    result.expect()
    let trips = try Self.trips(result)
    #expect(trips.allSatisfy { $0["result"]?.text == "ok" })
    let channels = trips.map { trip in
      (trip["detail"]?.text ?? "").split(separator: " ").last.map(String.init) ?? ""
    }
    #expect(channels == ["news", "private-a", "presence-b"])
    // The advice follows from the channel's name.
    let advice = trips.map { JSONWriter.text($0["advice"] ?? .null) }
    #expect(advice[0].contains("private-news and presence-news are different channels"))
    #expect(advice[1].contains("does the app send to private-a?"))
    let first = JSONWriter.text(trips[0])
    #expect(first.firstMatch(of: /"seconds":\d+\.\d+/) != nil, "\(first)")
  }

  @Test func `an encrypted channel gets an encrypted event`() throws {
    let key = Base64.encode([UInt8](repeating: 7, count: 32))
    let file = try TemporaryFolder.shared.file("key", holding: key)
    try check(LocalServer(), "private-encrypted-a", "--encryption-key-file", file).expect()
  }

  @Test func `other subscribers of a given channel see an event of the program's name`() throws {
    let server = try LocalServer()
    let subscriber = try server.subscribe(["news"], "-L", "-n", "1")
    try check(server, "news").expect()
    let event = try JSONParser.parse(subscriber.line())
    #expect(event["event"]?.text == "pusher-cli-check" && event["channel"]?.text == "news")
  }

  @Test func `a cache channel warns that the event stays`() throws {
    let server = try LocalServer()
    try check(server, "cache-a").expect(
      telling: "warning: --publish: 'cache-a' keeps the event of check for later subscribers")
  }

  // MARK: What fails

  @Test func `an HTTP API on another node than the WebSocket's is found out`() throws {
    // With --redis, each server of the tests has its own database, so they share nothing either.
    let (server, other) = (try LocalServer(), try LocalServer())
    let result = try check(
      server, "--api-url", "http://127.0.0.1:\(other.port)", "--connect-timeout", "1s", "-o", "json"
    )
    result.expect(4)
    let trip = try #require(try Self.trips(result).first)
    #expect(trip["fault"]?.text == "your settings", "\(JSONWriter.text(trip))")
    #expect(JSONWriter.text(trip).contains("the HTTP API sees no subscriber"))
  }

  @Test func `an event that the server keeps is told as its fault`() throws {
    let server = try LocalServer(options: ["--fault", "reorder"])
    let result = try check(server, "--connect-timeout", "1s", "-o", "json")
    result.expect(4)
    let trip = try #require(try Self.trips(result).first)
    #expect(trip["detail"]?.text?.hasSuffix("but nothing came within 1 s") == true)
    #expect(trip["fault"]?.text == "the server", "\(JSONWriter.text(trip))")
  }

  @Test func `a refused channel has no round trip, and the next has`() throws {
    let server = try LocalServer(options: ["--fault", "auth-fail:channel=private-a"])
    let result = try check(server, "private-a", "news", "-o", "json")
    #expect(result.ending != .exited(0))
    let told = try Self.trips(result).map {
      "\($0["result"]?.text ?? ""): \($0["detail"]?.text ?? "")"
    }
    #expect(told.first == "not tried: private-a failed")
    #expect(told.count == 2 && told.last?.hasPrefix("ok: ") == true, "\(told)")
  }

  @Test func `without a connection the round trip is not tried`() throws {
    let server = try LocalServer()
    let result = try PusherCLI.run(
      ["check", "--publish"] + server.address + [
        "--port", "\(try Loopback.closedPort())", "--api-url", "http://127.0.0.1:\(server.port)",
        "-o", "json",
      ], environment: LocalServer.environment("local-secret"))
    result.expect(4)
    let stages = try Self.stages(result).suffix(2)
    #expect(stages.map { $0["result"]?.text } == ["ok", "not tried"])
    #expect(stages.last?["detail"]?.text == "connection failed")
  }

  @Test func `a connection that ends before the event is a lost connection`() throws {
    let gone = Gate()
    let server = try ScriptedServer { connection in
      let head = try connection.question().head
      guard head.headers["Upgrade"] == nil else {
        try connection.welcome(head)
        try connection.acceptSubscription()
        try gone.wait()
        return
      }
      guard head.method == "GET" else {
        gone.open()
        return try connection.answer(200, body: "{}")
      }
      try connection.answer(200, body: #"{"channels":{}}"#)
    }
    let result = try PusherCLI.run(
      ["check", "--publish", "--app-id", "1", "-o", "json"] + server.address,
      environment: ["PUSHER_APP_SECRET": "s"])
    result.expect(4)
    let trip = try #require(try Self.trips(result).first)
    #expect(trip["detail"]?.text?.contains("accepted the event") == false)
    #expect(trip["expected"]?.text == "the event on this connection")
  }
}
