import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "Calls".
struct `The console: questions and orders` {
  private let console: ConsoleHarness

  init() throws { console = try ConsoleHarness() }

  // MARK: Clients and channels

  @Test func `channels are listed with their counts, filtered and in parts`() throws {
    _ = try console.subscriber("private-a", "private-b", "presence-c")
    let all = try console.get("channels?app=3").json
    #expect(all?["total"] == .integer(3))
    #expect(
      all?["channels"]?.elements == [
        ["name": "presence-c", "subscriptions": 1, "users": 1, "cached": false],
        ["name": "private-a", "subscriptions": 1, "cached": false],
        ["name": "private-b", "subscriptions": 1, "cached": false],
      ])
    let part = try console.get("channels?app=3&filter=private&offset=1&limit=1").json
    #expect(part?["total"] == .integer(2))
    #expect(part?["channels"]?.elements?.map { $0["name"] } == ["private-b"])
  }

  @Test func `a channel is told with its members and sockets`() throws {
    let socket = try console.subscriber("presence-c")
    expect(
      try console.get("channel?app=3&channel=presence-c").json,
      has: [
        "members": [["user_id": "ada", "user_info": ["n": "A"]]],
        "sockets": [.string(socket.socketID)], "more_members": 0, "cached": .null,
        "subscriptions": 1,
      ])
  }

  @Test func `the event of a cache channel is shown`() throws {
    let sent = try console.post(
      "trigger", ["app": "3", "channel": "cache-a", "event": "e", "data": "kept"])
    #expect(sent.status == 200)
    let channel = try console.get("channel?app=3&channel=cache-a").json
    #expect(channel?["cached"] == ["data": "kept"])
  }

  @Test func `connections are told with address, age, channels and messages`() throws {
    let socket = try console.subscriber("private-a")
    let list = try console.get("connections?app=3").json
    let connection = try #require(list?["connections"]?.elements?.first)
    #expect(list?["total"] == 1)
    #expect(connection["address"]?.text?.begins(with: "127.0.0.1:") == true)
    #expect(connection["since"]?.text.flatMap(WallTime.init(rfc3339:)) != nil)
    expect(
      connection,
      has: [
        "socket_id": .string(socket.socketID), "channels": ["private-a"], "received": 1,
        "sent": 2, "queued_bytes": 0,
      ])
    for (filter, count) in [("private-a", 1), (socket.socketID, 1), ("127.0.0.1", 1), ("zzz", 0)] {
      let found = try console.get("connections?app=3&filter=\(filter)").json
      #expect(found?["total"] == .integer(count), "\(filter)")
    }
  }

  @Test(arguments: [
    ("channels", 400), ("channels?app=9", 404), ("channels?app=3&limit=0", 400),
    ("channels?app=3&limit=201", 400), ("channels?app=3&offset=-1", 400),
    ("channels?app=3&offset=99999999999999999999", 400), ("channel?app=3", 400),
    ("connections?app=", 404), ("nothing", 404), ("channels/more?app=3", 404),
    ("events/", 404), ("/events", 404), ("faults/", 404), ("", 404), ("%65vents", 404),
    ("channels?app=3&filter=%FF", 400), ("channels?app=3&filter=%C3", 400), ("faults?x=%", 400),
    ("channels?app=3&filter=%zz", 400),
  ])
  func `a question that cannot be answered says why`(target: String, status: Int) throws {
    let answer = try console.get(target)
    #expect(answer.status == status)
    #expect(answer.error?.isEmpty == false)
    #expect(answer.head.holds("content-type: application/json"))
  }

  @Test func `a wrong method is refused with the right one`() throws {
    #expect(try console.get("trigger").status == 405)
    for name in ["trigger", "events", "faults", "channels"] {
      let answer = try console.ask("PUT", "/console/\(name)", headers: [ConsoleHarness.bearer])
      #expect(answer.status == 405)
      #expect(answer.error == "PUT is not allowed here", "\(name)")
      #expect(answer.head.contains("\r\nallow: "))
    }
    #expect(try console.post("channels", [:]).status == 405)
    #expect(
      try console.ask(
        "POST", "/console?token=x", headers: [ConsoleHarness.bearer], body: "{}"
      ).status == 405)
  }

  // MARK: Orders

  @Test(arguments: ["trigger", "faults", "sign", "check", "disconnect", "terminate", "webhook"])
  func `a body that is not UTF-8 is refused as every other failure`(name: String) throws {
    let client = console.test.raw()
    let head = ServerHarness.request(
      "POST /console/\(name)",
      ["Host: localhost", "Connection: close", ConsoleHarness.bearer, "Content-Length: 4"])
    client.send(Array(head.utf8) + [0x7B, 0xC3, 0x28, 0x7D])
    #expect(console.test.run { client.hasEnded })
    #expect(client.text.begins(with: "HTTP/1.1 400 "))
    #expect(client.text.ends(with: #"{"error":"the body is not UTF-8"}"#), "\(client.text)")
  }

  @Test func `an event is sent to all but one`() throws {
    let socket = try console.subscriber("private-a")
    let order: JSONValue = ["app": "3", "channel": "private-a", "event": "e", "data": "one"]
    #expect(try console.post("trigger", order).status == 200)
    #expect(console.test.run { socket.texts.contains { $0.contains("one") } })
    let other: JSONValue = [
      "app": "3", "channel": "private-a", "event": "e", "data": "two",
      "socket_id": .string(socket.socketID),
    ]
    #expect(try console.post("trigger", other).status == 200)
    _ = try console.post("trigger", order)
    #expect(console.test.run { socket.texts.count { $0.contains("one") } == 2 })
    #expect(!socket.texts.contains { $0.contains("two") })
  }

  @Test(arguments: [
    (#"{"app":"3","channel":"a b","event":"e","data":"1"}"#, 400),
    (#"{"app":"3","channel":"a","event":"e"}"#, 400),
    (#"{"app":"3","channel":"a","event":"e","data":{}}"#, 400),
    (#"{"app":"3","channel":"private-encrypted-a","event":"e","data":"1"}"#, 400),
    (#"{"app":"3","channel":"a","event":"e","data":"1","socket_id":"x"}"#, 400),
    (#"{"app":"none","channel":"a","event":"e","data":"1"}"#, 404), ("[]", 400), ("{", 400),
  ])
  func `an event that the HTTP API would refuse is refused`(body: String, status: Int) throws {
    let answer = try console.post("trigger", body: body)
    #expect(answer.status == status)
    #expect(answer.error?.isEmpty == false)
  }

  @Test func `a socket is disconnected for good, and another one stays`() throws {
    let sockets = try (0..<2).map { _ in try console.subscriber("private-a") }
    let order: JSONValue = ["app": "3", "socket_id": .string(sockets[0].socketID)]
    #expect(try console.post("disconnect", order).status == 200)
    #expect(console.test.run { sockets[0].closeCode == 4009 })
    #expect(try console.post("disconnect", order).status == 404)
    #expect(try console.get("connections?app=3").json?["total"] == .integer(1))
    #expect(!sockets[1].hasEnded)
  }

  @Test func `faults are staged, listed and lifted`() throws {
    let none: JSONValue = ["faults": [], "left": []]
    #expect(try console.get("faults").json == none)
    let staged = try console.post("faults", ["add": "duplicate:times=2"])
    #expect(staged.json == ["faults": ["duplicate:times=2"], "left": [["times": 2]]])
    #expect(try console.post("faults", ["add": "nonsense"]).status == 400)
    let socket = try console.subscriber("private-a")
    _ = try console.post(
      "trigger", ["app": "3", "channel": "private-a", "event": "e", "data": "one"])
    #expect(console.test.run { socket.texts.count { $0.contains("one") } == 2 })
    #expect(try console.get("faults").json?["left"] == [["times": 1]])
    let more = try console.post("faults", ["add": "storm:connections=3"])
    // The open connection is one of the three.
    #expect(more.json?["left"] == [["times": 1], ["connections": 2]])
    #expect(try console.post("faults", ["clear": true]).json == none)
  }

  @Test func `snippets are for the app and the address that the page names`() throws {
    let answer = try console.get("snippets?app=3&url=https://shop.test:8443").json
    let snippets = try #require(answer?["snippets"]?.elements)
    #expect(snippets.count == 8 && snippets.first?["name"] == "pusher-js")
    for snippet in snippets {
      let text = try #require(snippet["text"]?.text)
      #expect(text.holds("shop.test") && text.holds("8443"))
    }
    #expect(answer?["missing_secret"]?.text?.holds("app '3'") == true)
    for url in ["", "&url=", "&url=shop.test", "&url=ftp://shop.test", "&url=http://"] {
      let refusal = try console.get("snippets?app=3\(url)")
      #expect(refusal.status == 400, "\(url)")
      #expect(refusal.error?.begins(with: "url is not the address of this server") == true)
    }
    #expect(try console.get("snippets?app=9&url=http://a").status == 404)
  }

  @Test func `an app without receivers has no webhooks to send`() throws {
    let answer = try console.post("webhook", ["app": "3", "body": "{}"])
    #expect(answer.status == 400)
    #expect(answer.error?.contains("no webhook receivers") == true)
  }
}
