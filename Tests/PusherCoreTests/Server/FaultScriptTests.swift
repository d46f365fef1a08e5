import PusherCore
import PusherServer
import Testing

@Suite struct `Staged faults` {
  private static func stage(_ faults: String...) throws -> (Hub, SessionContext) {
    let context = SessionContext()
    context.faults.add(try faults.map { try StagedFault(parsing: $0) })
    return (.forTests(), context)
  }

  private static func member(
    _ hub: Hub, _ context: SessionContext, _ socketID: String = "1.1", of channel: String = "news"
  ) -> HubClient {
    let client = HubClient(hub, socketID, context: context)
    client.subscribe(channel)
    _ = client.received()
    return client
  }

  private static func names(_ client: HubClient) -> [String] {
    client.received().map { event in
      guard case .text(let text) = event else { return "\(event)" }
      return (try? JSONParser.parse(text))?["event"]?.text ?? "no JSON"
    }
  }

  @Test func `a dropped connection gets so many events, and no close frame`() throws {
    let (hub, context) = try Self.stage("drop:after=2")
    let client = Self.member(hub, context)
    for number in 1...3 { hub.publish(name: "e\(number)", channel: "news", data: "{}") }
    #expect(Self.names(client) == ["e1", "e2"])
    #expect(client.session.isFinished)
    #expect(client.wire.closeReceived == nil)
    client.settle()
    #expect(hub.connectionCount == 0)
  }

  @Test func `a closed connection gets its code`() throws {
    let (hub, context) = try Self.stage("close:code=4100,after=1")
    let client = Self.member(hub, context)
    for number in 1...2 { hub.publish(name: "e\(number)", channel: "news", data: "{}") }
    _ = client.received()
    #expect(client.wire.closeReceived?.code == CloseCode(rawValue: 4100))
  }

  @Test func `a storm closes so many connections at their greeting`() throws {
    let (hub, context) = try Self.stage("storm:connections=2")
    let clients = (1...3).map { HubClient(hub, "1.\($0)", context: context) }
    for client in clients { _ = client.received() }
    let codes = clients.map { $0.wire.closeReceived?.code?.rawValue }
    #expect(codes == [4200, 4200, nil])
  }

  @Test func `a black hole takes everything, answers nothing, and ends by silence`() throws {
    let (hub, context) = try Self.stage("blackhole:after=1")
    let client = Self.member(hub, context)
    for number in 1...3 { hub.publish(name: "e\(number)", channel: "news", data: "{}") }
    #expect(Self.names(client) == ["e1"])
    client.send(#"{"event":"pusher:ping","data":{}}"#)
    client.wire.ping()
    client.deliverInput()
    #expect(client.received().isEmpty)
    #expect(!client.session.isFinished)
    client.wait(.seconds(121))
    client.wait(.seconds(31))
    #expect(client.session.isFinished)
    #expect(client.received().isEmpty)
  }

  @Test func `a late pong comes when its time is there`() throws {
    let (hub, context) = try Self.stage("late-pong:delay=5s,times=1")
    let client = Self.member(hub, context)
    client.send(#"{"event":"pusher:ping","data":{}}"#)
    client.wait(.milliseconds(4999))
    #expect(client.received().isEmpty)
    #expect(client.session.deadline == client.now.advanced(by: .milliseconds(1)))
    client.wait(.milliseconds(1))
    #expect(Self.names(client) == ["pusher:pong"])
    client.send(#"{"event":"pusher:ping","data":{}}"#)
    #expect(Self.names(client) == ["pusher:pong"])
  }

  @Test func `pings of the WebSocket are answered late too, each in its time`() throws {
    let (hub, context) = try Self.stage("late-pong:delay=5s,times=2")
    let client = Self.member(hub, context)
    client.wire.ping([1])
    client.deliverInput()
    client.wait(.seconds(1))
    client.wire.ping([2])
    client.deliverInput()
    client.wait(.milliseconds(3999))
    #expect(client.received().isEmpty)
    client.wait(.milliseconds(1))
    #expect(client.received() == [.pong([1])])
    client.wire.ping([3])
    client.deliverInput()
    #expect(client.received() == [.pong([3])])
    client.wait(.seconds(1))
    #expect(client.received() == [.pong([2])])
  }

  @Test func `an event is cut in two frames inside a character`() throws {
    let (hub, context) = try Self.stage("split-utf8")
    let client = Self.member(hub, context)
    hub.publish(name: "e", channel: "news", data: "Grüße")
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
    let (hub, context) = try Self.stage("huge-frame:size=\(size),times=1")
    let client = Self.member(hub, context)
    hub.publish(name: "e", channel: "news", data: "{}")
    let text = try #require(client.texts().first)
    #expect(text.utf8.count == size)
    #expect(try JSONParser.parse(text)["data"] == .string("{}"))
    hub.publish(name: "e", channel: "news", data: "{}")
    #expect(client.texts() == [#"{"event":"e","channel":"news","data":"{}"}"#])
  }

  @Test func `events come broken, twice, and in another order`() throws {
    let (hub, context) = try Self.stage(
      "bad-json:times=1", "duplicate:times=1", "reorder:channel=n*,after=0,times=1")
    let client = Self.member(hub, context)
    let other = Self.member(hub, context, "1.2", of: "other")
    for number in 1...5 { hub.publish(name: "e\(number)", channel: "news", data: "{}") }
    #expect(Self.names(client) == ["no JSON", "e2", "e2", "e4", "e3", "e5"])
    hub.publish(name: "e6", channel: "other", data: "{}")
    #expect(Self.names(other) == ["e6"])
  }

  @Test func `only the channels that are meant are touched, and only so often`() throws {
    let (hub, context) = try Self.stage("duplicate:channel=private-*,after=1,times=2")
    let client = Self.member(hub, context)
    client.authorize("private-a")
    _ = client.received()
    for number in 1...4 { hub.publish(name: "e\(number)", channel: "private-a", data: "{}") }
    hub.publish(name: "n", channel: "news", data: "{}")
    #expect(Self.names(client) == ["e1", "e2", "e2", "e3", "e3", "e4", "n"])
  }

  @Test func `no signature is accepted where that is staged`() throws {
    let (hub, context) = try Self.stage("auth-fail:channel=private-b,times=1")
    let client = Self.member(hub, context)
    for channel in ["private-a", "private-b", "private-b"] { client.authorize(channel) }
    let succeeded = "pusher_internal:subscription_succeeded"
    #expect(Self.names(client) == [succeeded, "pusher:error", succeeded])
  }

  @Test func `what is left of a fault is counted, where it is limited`() throws {
    let (hub, context) = try Self.stage(
      "duplicate:times=2", "drop:after=100,connections=3", "reorder:channel=never")
    let left = { context.faults.remainders.map { [$0.times, $0.connections] } }
    #expect(left() == [[2, nil], [nil, 3], [nil, nil]])
    let client = Self.member(hub, context)
    for expected in [1, 0, 0] {
      hub.publish(name: "e", channel: "news", data: "{}")
      #expect(left()[0] == [expected, nil])
    }
    #expect(Self.names(client).count == 5)
    #expect(left()[1] == [nil, 2])
    context.faults.removeAll()
    #expect(left().isEmpty)
  }

  @Test func `without faults an event goes out as it is, also after they are taken back`() throws {
    let (hub, context) = try Self.stage("duplicate")
    let client = Self.member(hub, context)
    context.faults.removeAll()
    hub.publish(name: "e", channel: "news", data: "{}")
    #expect(Self.names(client) == ["e"])
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
  func `what is no fault is told`(text: String, message: String) {
    let error = #expect(throws: StagedFaultError.self) { try StagedFault(parsing: text) }
    #expect(error?.description.hasPrefix(message) == true, "\(error as (any Error)?)")
  }
}

@Suite struct `Staged faults over the wire` {
  private func call(_ method: String, _ body: String = "", headers: String = "") -> String {
    "\(method) /faults HTTP/1.1\r\nHost: localhost\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n"
      + body
  }

  @Test func `staged faults are listed, added and taken back while the server runs`() throws {
    let server = try ServerHarness {
      $0.faults = [try? StagedFault(parsing: "bad-json")].compactMap { $0 }
    }
    let socket = try server.socket()
    #expect(server.run { socket.isEstablished })
    let client = server.raw(call("GET"))
    #expect(server.run { client.text.hasSuffix(#"{"faults":["bad-json"]}"#) })
    client.send(Array(call("DELETE").utf8))
    #expect(server.run { client.text.hasSuffix(#"{"faults":[]}"#) })
    client.send(Array(call("POST", "reorder\nnothing").utf8))
    #expect(server.run { client.text.hasSuffix("split-utf8, storm\n") })
    client.send(Array(call("POST", "reorder\nclose:code=4100\n").utf8))
    #expect(server.run { client.text.hasSuffix(#"{"faults":["reorder","close:code=4100"]}"#) })
    // This socket connected earlier.
    #expect(
      server.run {
        socket.hasEnded
          || { if case .closed(4100, _) = socket.received.last { true } else { false } }()
      })
  }

  @Test func `a browser's page does not get there`() throws {
    let server = try ServerHarness()
    let client = server.raw(call("POST", "drop", headers: "Origin: http://example.com\r\n"))
    #expect(server.run { client.text.hasPrefix("HTTP/1.1 403 ") })
    #expect(server.server.context.faults.isEmpty)
  }
}
