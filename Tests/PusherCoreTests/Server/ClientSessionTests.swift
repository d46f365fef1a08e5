import PusherCore
import PusherServer
import TestSupport
import Testing

struct `Protocol page, connection and its end` {
  @Test func `a silent client is asked after one time-out and closed after the other`() {
    let client = Hub.forTests().client()
    client.wait(.seconds(119))
    #expect(client.texts() == [])
    client.wait(.seconds(1))
    #expect(client.texts() == [#"{"event":"pusher:ping","data":"{}"}"#])
    client.wait(.seconds(29))
    #expect(client.received() == [])
    client.wait(.seconds(1))
    #expect(client.received() == [.closed(4201, "Pong reply not received")])
    #expect(client.hub.connectionCount == 0)
  }

  @Test func `whatever a client sends is a sign of life`() {
    let client = Hub.forTests().client()
    client.wait(.seconds(120))
    #expect(client.texts().count == 1)
    client.send(#"{"event":"pusher:pong","data":{}}"#)
    client.wait(.seconds(119))
    #expect(client.received() == [])
    client.wait(.seconds(1))
    #expect(client.texts() == [#"{"event":"pusher:ping","data":"{}"}"#])
  }

  @Test func `a close frame is answered and ends the session`() {
    let client = Hub.forTests().client()
    client.wire.close(.normal, reason: "bye")
    client.deliverInput()
    #expect(client.session.isFinished)
    #expect(client.received() == [.closed(1000, "")])
    #expect(client.hub.connectionCount == 0)
  }

  @Test func `a close frame of the server waits five seconds for its answer`() {
    let client = Hub.forTests().client()
    client.session.close(.generic, reason: "the server is shutting down", at: client.now)
    #expect(!client.session.isFinished)
    client.wait(.milliseconds(4999))
    #expect(!client.session.isFinished)
    client.wait(.milliseconds(1))
    #expect(client.session.isFinished)
    #expect(client.received() == [.closed(4200, "the server is shutting down")])
  }

  @Test(arguments: [
    ("{", "Invalid message: the message is incomplete JSON"),
    ("nonsense", "Invalid message: the message is not JSON at byte 0"),
    ("[]", "Invalid message: the message's event is missing or not a string"),
    (#"{"event":1}"#, "Invalid message: the message's event is missing or not a string"),
    (
      #"{"event":"pusher:subscribe","data":{}}"#,
      "Invalid message: pusher:subscribe names no channel"
    ),
    (
      #"{"event":"my-event","data":{}}"#,
      "Unknown event 'my-event': client events begin with client-"
    ),
  ])
  func `unreadable input gets an error, the socket stays`(message: String, reason: String) throws {
    let client = Hub.forTests().client()
    client.send(message)
    let error = try client.error()
    #expect(error.code == .null && error.message == reason)
    client.send(#"{"event":"pusher:ping"}"#)
    #expect(client.texts().count == 1)
  }

  @Test func `binary messages and broken frames end the connection`() {
    for bytes in [[1, 2, 3], Array(#"{"event":"pusher:ping"}"#.utf8)] {
      let binary = Hub.forTests().client()
      binary.send(binary: bytes)
      #expect(binary.received() == [.closed(1003, "binary messages are not supported")])
    }
    let unmasked = Hub.forTests().client()
    unmasked.session.connection.receive([0x81, 0x01, 0x61])
    unmasked.session.receive(at: unmasked.now)
    #expect(unmasked.received() == [.closed(1002, "a client's frame is not masked")])
    #expect(unmasked.session.isFinished)
  }

  @Test func `a client that does not read is closed and nothing more is queued for it`() {
    let hub = Hub.forTests { $0.sizes.outputQueue = 50_000 }
    let pair = hub.pair(on: "news")
    let (slow, fast) = (pair[0], pair[1])
    let data = String(repeating: "x", count: 10_000)
    var delivered = 0
    for _ in 0..<10 {
      hub.publish(name: "e", channel: "news", data: .string(data))
      delivered += fast.texts().count
      fast.session.outputSent(at: fast.now)
      slow.session.outputSent(at: slow.now)
    }
    slow.session.settle(at: slow.now)
    #expect(delivered == 10)
    #expect(hub.subscriptionCount("news") == 1)
    #expect(slow.session.connection.output.count < 80_000)
    #expect(slow.received().last == .closed(4100, "the client left more than 50000 bytes unread"))
    #expect(fast.received() == [])
  }

  @Test func `a burst within one round is bounded too`() {
    let hub = Hub.forTests { $0.sizes.outputQueue = 0 }
    let client = hub.client()
    client.subscribe("news")
    let data = String(repeating: "x", count: 10_000)
    for _ in 0..<1000 { hub.publish(name: "e", channel: "news", data: .string(data)) }
    #expect(client.session.connection.output.count <= (4 << 20) + 200)
    client.session.settle(at: client.now)
    #expect(hub.connectionCount == 0)
  }

  // MARK: Connection and error codes

  private static let applications = [
    Application(id: "1", key: "abc", secret: "s"),
    Application(id: "2", key: "off", secret: "s", isEnabled: false),
  ]

  @Test(
    arguments: [
      // Known keys with protocols four to seven or none.
      ("/app/abc", nil), ("/app/abc?protocol=7&client=js&version=8.4.0&flash=false", nil),
      ("/app/abc?version=10.1.10-beta.2&protocol=4", nil), ("/app/abc?protocol=5", nil),
      ("/app/abc?protocol=6", nil), ("/app/abc?client=x", nil),
      ("/app/xyz?protocol=7", 4001), ("/app/off?protocol=7", 4003), ("/", 4005), ("/app", 4005),
      ("/app/abc/more", 4005), ("/ws/app/abc", 4005), ("/apps/abc", 4005), ("/app/%zz", 4005),
      ("/app/abc?version=beta", 4006), ("/app/abc?version=", 4006),
      ("/app/abc?version=1.0%20x", 4006), ("/app/abc?protocol=3", 4007),
      ("/app/abc?protocol=8", 4007), ("/app/abc?protocol=x", 4007), ("/app/abc?protocol=", 4007),
    ] as [(String, Int?)])
  func `a socket is let in by its path, key, version and protocol`(target: String, code: Int?) {
    #expect(Applications(Self.applications).refusal(of: target) == code)
  }

  @Test func `a full app says so, and another one has room`() throws {
    var small = Application(id: "1", key: "small", secret: "s")
    small.limits.connections = 1
    let applications = Applications([small, Application(id: "2", key: "other", secret: "s")])
    #expect(applications.refusal(of: "/app/small") == nil)
    let client = applications.hubs[0].client()
    #expect(applications.refusal(of: "/app/small") == 4004)
    #expect(applications.refusal(of: "/app/other") == nil)
    let error = #expect(throws: ProtocolRefusal.self) {
      try applications.admit(HTTPRequestHead(method: "GET", target: "/app/small"))
    }
    #expect(error?.reason == "the app has at most 1 connections")
    client.lose()
    #expect(applications.refusal(of: "/app/small") == nil)
  }

  @Test func `socket ids are two numbers and never the same`() {
    let applications = Applications([.forTests()], random: SeededGenerator(seed: 3))
    let ids = (0..<1000).map { _ in applications.newSocketID() }
    #expect(ids.allSatisfy(SocketID.isValid))
    #expect(Set(ids).count == 1000)
  }
}

extension Applications {
  /// The code of the refusal of a socket with this target; `nil` if it is let in.
  func refusal(of target: String) -> Int? {
    do throws(ProtocolRefusal) {
      _ = try admit(HTTPRequestHead(method: "GET", target: target))
      return nil
    } catch { return error.code?.rawValue }
  }
}
