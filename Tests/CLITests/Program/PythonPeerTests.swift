import Foundation
import PusherCore
import Testing

@Suite(
  "With other people's libraries", .serialized,
  .enabled(if: PythonPeer.isWanted, Comment(rawValue: PythonPeer.reason)), .runsProgramsFirst)
struct PythonPeerTests {
  private static let channels = ["private-orders", "presence-lobby"]
  private static let secret = "peers-secret"

  @Test func `300 events of the official server library reach both clients in order`() throws {
    let server = try LocalServer(secret: Self.secret)
    let program = try server.subscribe(Self.channels, "-L", "-e", "tick", "-n", "600")
    let pysher = try PythonPeer.start(
      "pysher_listener.py", [server.port, LocalServer.key, Self.secret, "600"] + Self.channels)
    #expect(try pysher.line() == "ready")
    try trigger("trigger_events.py", server, ["300"] + Self.channels)
    let (printed, heard) = (try program.result(), try pysher.result())
    printed.expect(0)
    heard.expect(0)
    for channel in Self.channels {
      let filter =
        #"select(.channel == "\#(channel)" and .data.n != null) | .data | "#
        + #""\(.n) \(.text) \(.total)""#
      for result in [printed, heard] {
        #expect(try Jq.run("-r", filter, on: result.output) == Self.texts(300))
      }
    }
    // The 600 events and the final line.
    #expect(printed.outputText.split(separator: "\n").count == 601)
  }

  /// Triggers events by the official server library.
  private func trigger(_ script: String, _ server: LocalServer, _ rest: [String]) throws {
    try PythonPeer.start(
      script, [server.port, LocalServer.appID, LocalServer.key, Self.secret] + rest
    ).result().expect(0)
  }

  private static func texts(_ count: Int) -> String {
    (0..<count).map { "\($0) Grüße ✓ 1.1\n" }.joined()
  }

  @Test func `what the official server library encrypts, subscribe prints`() throws {
    let server = try LocalServer(secret: Self.secret)
    let channel = "private-encrypted-orders"
    let masterKey = Base64.encode((0..<32).map { UInt8($0 * 7) })
    let file = try TemporaryFolder.shared.file("master-key", holding: masterKey)
    let program = try server.subscribe([channel], "-L", "-n", "100", "--encryption-key-file", file)
    try trigger("trigger_encrypted.py", server, [masterKey, channel, "100"])
    let printed = try program.result()
    printed.expect(0)
    let filter = #"select(.event == "tick") | .data | "\(.n) \(.text) \(.total)""#
    #expect(try Jq.run("-r", filter, on: printed.output) == Self.texts(100))
  }

  @Test func `a client event of another library comes with its sender's id`() throws {
    let server = try LocalServer(secret: Self.secret)
    let channel = "presence-lobby"
    let program = try server.subscribe([channel], "-L", "--user-id", "terminal")
    let peer = try PythonPeer.start(
      "send_client_events.py", [server.port, LocalServer.key, Self.secret, channel, "5"])
    let left = try peer.result()
    #expect(left.ending == .exited(0), "\(left.errorText)")
    let roster = try JSONParser.parse(left.outputText)
    #expect(roster["presence"]?["count"] == .integer(2))

    let member = #""data":{"user_id":"browser","user_info":{"name":"Grüße"}}"#
    let lines = try program.lines(7)
    #expect(
      lines.first == #"{"event":"pusher:member_added","channel":"presence-lobby",\#(member)}"#)
    #expect(
      Array(lines[1...5])
        == (0..<5).map {
          #"{"event":"client-typing","channel":"presence-lobby","user_id":"browser","data":{"n":\#($0)}}"#
        })
    #expect(
      lines.last == #"{"event":"pusher:member_removed","channel":"presence-lobby",\#(member)}"#)
  }

  @Test func `the official server library accepts the webhooks of serve`() throws {
    let receiver = try PythonPeer.start("receive_webhooks.py", [LocalServer.key, Self.secret, "4"])
    let port = try receiver.line()
    let server = try LocalServer(
      secret: Self.secret,
      options: ["--webhook", "http://127.0.0.1:\(port)/hook", "--webhook-delay", "1ms"])
    let program = try server.subscribe(["presence-lobby"], "-L", "--user-id", "Grüße")
    try program.end()
    let result = try receiver.result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let told = try Jq.run("-r", #""\(.name) \(.channel) \(.user_id)""#, on: result.output)
    #expect(
      Set(told.split(separator: "\n")).isSuperset(of: [
        "channel_occupied presence-lobby null", "member_added presence-lobby Grüße",
        "member_removed presence-lobby Grüße", "channel_vacated presence-lobby null",
      ]))
  }

  @Test func `the official server library accepts the webhooks of webhook send`() throws {
    let receiver = try PythonPeer.start("receive_webhooks.py", [LocalServer.key, Self.secret, "7"])
    let port = try receiver.line()
    // In place of Reverb, which has no webhooks.
    let server = try LocalServer(secret: Self.secret, options: ["--dialect", "reverb"])
    let sender = try PusherCLI.start(
      ["webhook", "send"] + server.address + [
        "--to", "http://127.0.0.1:\(port)/hook", "--every", "20ms", "--webhook-delay", "1ms",
      ], environment: LocalServer.environment(Self.secret))
    let news = try server.subscribe(["news"], "-L")
    #expect(try receiver.line() == #"{"name": "channel_occupied", "channel": "news"}"#)
    let guest = try PusherCLI.start(
      ["subscribe"] + server.address + ["presence-lobby", "--user-id", "7", "--stdin"],
      environment: LocalServer.environment(Self.secret), input: .pipe)
    let lobby = #""channel": "presence-lobby""#
    #expect(
      try receiver.lines(2) == [
        #"{"name": "channel_occupied", \#(lobby)}"#,
        #"{"name": "member_added", \#(lobby), "user_id": "7"}"#,
      ])
    guest.write(line: #"{"event":"client-x","channel":"presence-lobby","data":{"n":1}}"#)
    let event = try JSONParser.parse(try receiver.line())
    #expect(event["name"] == "client_event" && event["event"] == "client-x")
    #expect(event["data"]?.text == #"{"n":1}"# && event["user_id"]?.text == "7")
    guest.send(SIGTERM)
    #expect(
      try receiver.lines(2) == [
        #"{"name": "member_removed", \#(lobby), "user_id": "7"}"#,
        #"{"name": "channel_vacated", \#(lobby)}"#,
      ])
    news.send(SIGTERM)
    let result = try receiver.result()
    result.expect(0, prints: #"{"name": "channel_vacated", "channel": "news"}"# + "\n")
    sender.send(SIGTERM)
    #expect(try sender.result().errorText == "")
  }
}
