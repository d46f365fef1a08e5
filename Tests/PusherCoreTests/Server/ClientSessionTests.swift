import PusherCore
import PusherServer
import Testing

@Suite("Protocol page, connection and its end")
struct ClientSessionTests {
  @Test func `a socket is greeted with its id and the activity timeout`() {
    let client = HubClient(.forTests(), "1234.5678")
    #expect(
      client.texts() == [
        #"{"event":"pusher:connection_established","#
          + #""data":"{\"socket_id\":\"1234.5678\",\"activity_timeout\":120}"}"#
      ])
  }

  @Test func `a ping event is answered with a pong event`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.send(#"{"event":"pusher:ping","data":{}}"#)
    #expect(client.texts() == [#"{"event":"pusher:pong","data":"{}"}"#])
  }

  @Test func `a ping frame is answered with a pong frame`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.wire.ping([7])
    client.deliverInput()
    #expect(client.received() == [.pong([7])])
  }

  @Test
  func `a silent client is asked after the activity timeout and closed after the pong timeout`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
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
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.wait(.seconds(120))
    #expect(client.texts().count == 1)
    client.send(#"{"event":"pusher:pong","data":{}}"#)
    client.wait(.seconds(119))
    #expect(client.received() == [])
    client.wait(.seconds(1))
    #expect(client.texts() == [#"{"event":"pusher:ping","data":"{}"}"#])
  }

  @Test func `a close frame is answered and ends the session`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.wire.close(.normal, reason: "bye")
    client.deliverInput()
    #expect(client.session.isFinished)
    #expect(client.received() == [.closed(1000, "")])
    #expect(client.hub.connectionCount == 0)
  }

  @Test func `a close frame of the server waits five seconds for its answer`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
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
  func `what cannot be read gets an error event and the socket stays`(
    message: String, reason: String
  ) throws {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.send(message)
    let answer = try JSONParser.parse(try #require(client.texts().first))
    #expect(answer["event"]?.text == "pusher:error")
    #expect(answer["data"]?["code"] == .null)
    #expect(answer["data"]?["message"]?.text == reason)
    client.send(#"{"event":"pusher:ping"}"#)
    #expect(client.texts().count == 1)
  }

  @Test func `binary messages and broken frames end the connection`() {
    let binary = HubClient(.forTests(), "1.1")
    _ = binary.texts()
    binary.wire.send(binary: [1, 2, 3])
    binary.deliverInput()
    #expect(
      binary.received() == [.closed(1003, "binary messages are not supported")])

    let unmasked = HubClient(.forTests(), "1.2")
    _ = unmasked.texts()
    unmasked.session.connection.receive([0x81, 0x01, 0x61])
    unmasked.session.receive(at: unmasked.now)
    #expect(unmasked.received() == [.closed(1002, "a client's frame is not masked")])
    #expect(unmasked.session.isFinished)
  }

  @Test func `a message beyond the limit ends the connection`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.send(String(repeating: "x", count: 102_401))
    guard case .closed(1009, _) = client.received().first else {
      Issue.record("no close frame with 1009")
      return
    }
  }

  @Test func `a client that does not read is closed and nothing more is queued for it`() {
    let hub = Hub.forTests { $0.sizes.outputQueue = 50_000 }
    let slow = HubClient(hub, "1.1")
    let fast = HubClient(hub, "1.2")
    for client in [slow, fast] {
      client.subscribe("news")
      _ = client.texts()
    }
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
    #expect(
      slow.received().last == .closed(4100, "the client left more than 50000 bytes unread"))
    #expect(fast.received() == [])
  }

  @Test func `a burst within one round is bounded too`() {
    let hub = Hub.forTests { $0.sizes.outputQueue = 0 }
    let client = HubClient(hub, "1.1")
    client.subscribe("news")
    let data = String(repeating: "x", count: 10_000)
    for _ in 0..<1000 { hub.publish(name: "e", channel: "news", data: .string(data)) }
    #expect(client.session.connection.output.count <= (4 << 20) + 200)
    client.session.settle(at: client.now)
    #expect(hub.connectionCount == 0)
  }
}
