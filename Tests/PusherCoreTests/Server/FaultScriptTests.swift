import PusherCore
import PusherServer
import TestSupport
import Testing

struct `Staged faults` {
  private static func stage(_ faults: [String]) throws -> SessionContext {
    let context = SessionContext()
    context.faults.add(try faults.map { try StagedFault(parsing: $0) })
    return context
  }

  private static func member(
    _ hub: Hub, _ context: SessionContext, _ socketID: String = "1.1", of channel: String = "news"
  ) -> HubClient {
    let client = HubClient(hub, socketID, context: context)
    client.subscribe(channel)
    _ = client.received()
    return client
  }

  /// A client on a channel of a server with these faults.
  private static func client(_ faults: String...) throws -> HubClient {
    member(.forTests(), try stage(faults))
  }

  /// Publishes `e1` to `eN`, and returns the names that the client receives.
  private static func names(
    _ client: HubClient, after count: Int, on channel: String = "news"
  ) -> [String] {
    for number in 0..<count {
      client.hub.publish(name: "e\(number + 1)", channel: channel, data: "{}")
    }
    return client.names()
  }

  private static let ping = #"{"event":"pusher:ping","data":{}}"#

  /// The names of the events that a client receives of five.
  @Test(arguments: [
    (["drop:after=2"], ["e1", "e2"]), (["blackhole:after=1"], ["e1"]),
    (["close:code=4100,after=1"], ["e1", #"closed(Optional(4100), "a staged fault")"#]),
    (["bad-json:times=1"], ["no JSON", "e2", "e3", "e4", "e5"]),
    (["duplicate:after=1,times=2"], ["e1", "e2", "e2", "e3", "e3", "e4", "e5"]),
    (
      ["bad-json:times=1", "duplicate:times=1", "reorder:channel=n*,after=0,times=1"],
      ["no JSON", "e2", "e2", "e4", "e3", "e5"]
    ),
  ])
  func `faults lose, break, repeat or move the events`(faults: [String], names: [String]) throws {
    let client = Self.member(.forTests(), try Self.stage(faults))
    #expect(Self.names(client, after: 5) == names)
  }

  @Test func `a dropped connection gets no close frame, and leaves the hub`() throws {
    let client = try Self.client("drop:after=2")
    _ = Self.names(client, after: 3)
    #expect(client.session.isFinished && client.wire.closeReceived == nil)
    client.settle()
    #expect(client.hub.connectionCount == 0)
  }

  @Test func `a fault of one pattern touches its channels only`() throws {
    let client = try Self.client("duplicate:channel=private-*,after=1,times=2")
    client.authorize("private-a")
    _ = client.received()
    #expect(Self.names(client, after: 4, on: "private-a") == ["e1", "e2", "e2", "e3", "e3", "e4"])
    #expect(Self.names(client, after: 1) == ["e1"])
  }

  @Test func `a storm closes so many connections at their greeting`() throws {
    let (hub, context) = (Hub.forTests(), try Self.stage(["storm:connections=2"]))
    let clients = (1...3).map { HubClient(hub, "1.\($0)", context: context) }
    #expect(clients.map { $0.closeCode() } == [4200, 4200, nil])
  }

  @Test func `a black hole takes everything, answers nothing, and ends by silence`() throws {
    let client = try Self.client("blackhole:after=1")
    #expect(Self.names(client, after: 3) == ["e1"])
    client.send(Self.ping)
    client.ping()
    #expect(client.received().isEmpty && !client.session.isFinished)
    client.wait(.seconds(121))
    client.wait(.seconds(31))
    #expect(client.received().isEmpty && client.session.isFinished)
  }

  @Test func `a late pong comes when its time is there`() throws {
    let client = try Self.client("late-pong:delay=5s,times=1")
    client.send(Self.ping)
    client.wait(.milliseconds(4999))
    #expect(client.received().isEmpty)
    #expect(client.session.deadline == client.now.advanced(by: .milliseconds(1)))
    client.wait(.milliseconds(1))
    #expect(client.names() == ["pusher:pong"])
    client.send(Self.ping)
    #expect(client.names() == ["pusher:pong"])
  }

  @Test func `pings of the WebSocket are answered late too, each in its time`() throws {
    let client = try Self.client("late-pong:delay=5s,times=2")
    client.ping([1])
    client.wait(.seconds(1))
    client.ping([2])
    client.wait(.milliseconds(3999))
    #expect(client.received().isEmpty)
    client.wait(.milliseconds(1))
    #expect(client.received() == [.pong([1])])
    client.ping([3])
    #expect(client.received() == [.pong([3])])
    client.wait(.seconds(1))
    #expect(client.received() == [.pong([2])])
  }

  @Test func `an event is cut in two frames inside a character`() throws {
    let client = try Self.client("split-utf8")
    client.hub.publish(name: "e", channel: "news", data: "Grüße")
    let bytes = client.session.connection.takeOutput()
    #expect(bytes[0] == 0x01)
    let length = Int(bytes[1])
    #expect(bytes[1 + length] == 0xC3)
    #expect(bytes[2 + length] == 0x80)
    let events = client.wire.events(after: bytes)
    #expect(events == [.text(#"{"event":"e","channel":"news","data":"Grüße"}"#)])
  }

  @Test(arguments: [100, 70_000, 8 << 20])
  func `a huge frame has just the size`(size: Int) throws {
    let client = try Self.client("huge-frame:size=\(size),times=1")
    client.hub.publish(name: "e", channel: "news", data: "{}")
    let text = try #require(client.texts().first)
    #expect(text.utf8.count == size)
    #expect(try JSONParser.parse(text)["data"] == .string("{}"))
    client.hub.publish(name: "e", channel: "news", data: "{}")
    #expect(client.texts() == [#"{"event":"e","channel":"news","data":"{}"}"#])
  }

  @Test func `no signature is accepted where that is staged`() throws {
    let client = try Self.client("auth-fail:channel=private-b,times=1")
    for channel in ["private-a", "private-b", "private-b"] { client.authorize(channel) }
    let succeeded = "pusher_internal:subscription_succeeded"
    #expect(client.names() == [succeeded, "pusher:error", succeeded])
  }

  @Test func `what is left of a fault is counted, where it is limited`() throws {
    let context = try Self.stage([
      "duplicate:times=2", "drop:after=100,connections=3", "reorder:channel=never",
    ])
    let left = { context.faults.remainders.map { [$0.times, $0.connections] } }
    #expect(left() == [[2, nil], [nil, 3], [nil, nil]])
    let client = Self.member(.forTests(), context)
    for (received, rest) in [(2, 1), (2, 0), (1, 0)] {
      #expect(Self.names(client, after: 1).count == received)
      #expect(left()[0] == [rest, nil])
    }
    #expect(left()[1] == [nil, 2])
    context.faults.removeAll()
    #expect(left().isEmpty)
  }

  @Test func `without faults an event goes out as it is, also after they are taken back`() throws {
    let context = try Self.stage(["duplicate"])
    let client = Self.member(.forTests(), context)
    context.faults.removeAll()
    #expect(Self.names(client, after: 1) == ["e1"])
  }

  @Test(arguments: [
    ("explode", "unknown fault 'explode'; the faults are auth-fail, bad-json"),
    ("drop:code=1", "drop takes no 'code', only after, channel, connections, times"),
    ("drop:after", "drop: after has no value"),
    ("drop:after=", "drop: after has no value"),
    ("drop:", "drop takes no ''"),
    ("drop:after=-1", "drop: after must be a number from 0 to 1000000000, not '-1'"),
    ("drop:after=1,after=2", "drop: after is given twice"),
    ("close:code=1005", "close: code 1005 is not allowed in a close frame"),
    ("late-pong:delay=5y", "late-pong: delay must be a time such as 500ms, 5s or 2m, not '5y'"),
    ("huge-frame:size=99999999", "huge-frame: size must be a number from 1 to 67108864"),
    ("storm:times=0", "storm: times must be a number from 1, not '0'"),
  ])
  func `a text that is no fault is told why`(text: String, message: String) {
    let error = #expect(throws: ExplainedError.self) { try StagedFault(parsing: text) }
    #expect(error?.description.hasPrefix(message) == true, "\(error as (any Error)?)")
  }

  // MARK: Over the wire

  private func call(_ method: String, _ body: String = "") -> String {
    ServerHarness.request("\(method) /faults", ["Host: localhost"], body: body)
  }

  @Test func `staged faults are listed, added and taken back while the server runs`() throws {
    let server = try ServerHarness {
      $0.faults = [try? StagedFault(parsing: "bad-json")].compactMap { $0 }
    }
    let socket = try server.established()
    let client = server.raw()
    for (call, answer) in [
      (call("GET"), #"{"faults":["bad-json"]}"#), (call("DELETE"), #"{"faults":[]}"#),
      (call("POST", "reorder\nnothing"), "split-utf8, storm\n"),
      (call("POST", "reorder\nclose:code=4100\n"), #"{"faults":["reorder","close:code=4100"]}"#),
    ] {
      client.send(Array(call.utf8))
      #expect(server.run { client.text.hasSuffix(answer) })
    }
    // This socket connected earlier.
    #expect(server.run { socket.hasEnded || socket.closeCode == 4100 })
  }
}
