import PusherCore
import TestSupport
import Testing

/// Dialling, greeting, heartbeats and closing.
struct SessionConnectionTests {
  @Test func `nothing happens before the first connect, and a second one does nothing`() {
    var harness = SessionHarness(channels: ["c"])
    #expect(harness.drain() == [])
    #expect(harness.session.deadline == nil)
    #expect(harness.dial() == [.dial])
    #expect(harness.dial() == [])
    #expect(!harness.session.isConnected)
  }

  @Test func `the greeting connects, reports and subscribes in the order asked for`() {
    var harness = SessionHarness(channels: ["b", "a"])
    #expect(
      harness.connect() == [
        .dial, .report(.connected(socketID: "1.2", activityTimeout: .seconds(120))),
        .subscribe("b"), .subscribe("a"),
      ])
    #expect(harness.session.isConnected && harness.session.socketID == "1.2")
    #expect(!harness.session.isFullySubscribed)
  }

  @Test func `without a greeting in time the attempt is dropped`() {
    var harness = SessionHarness()
    harness.dial()
    #expect(harness.session.deadline == harness.now.advanced(by: .seconds(10)))
    #expect(harness.advance(.seconds(10) - .nanoseconds(1)) == [])
    let loss = ConnectionLoss.handshakeTimeout(.seconds(10))
    #expect(
      harness.advance(.nanoseconds(1)) == [
        .abort, .report(.disconnected(loss, code: nil, retryIn: nil, attempt: 0)),
        .report(.ended(.lost(loss, code: nil))),
      ])
    #expect(harness.session.deadline == nil)
  }

  @Test(arguments: [4000, 4001, 4004, 4099])
  func `an error 4000 to 4099 in place of the greeting ends the attempt`(code: Int) {
    var harness = SessionHarness(SessionOptions(reconnect: ReconnectPolicy(mode: .always)))
    harness.dial()
    let loss = ConnectionLoss.closed(code: code, reason: "no")
    #expect(
      harness.error(code: code) == [
        .report(.error(code: code, message: "no")), .abort,
        .report(.disconnected(loss, code: code, retryIn: nil, attempt: 0)),
        .report(.ended(.lost(loss, code: code))),
      ])
    #expect(harness.session.deadline == nil)
  }

  @Test(arguments: [4100, 4200, 4299])
  func `another error without a greeting explains the time-out, and is tried again`(code: Int) {
    var harness = SessionHarness(SessionOptions(reconnect: ReconnectPolicy(mode: .always)))
    harness.dial()
    #expect(harness.error(code: code) == [.report(.error(code: code, message: "no"))])
    let outputs = harness.advance(.seconds(10))
    #expect(outputs.loss == .init(loss: .handshakeTimeout(.seconds(10)), code: code))
    #expect(outputs.retry?.attempt == 1 && outputs.retry?.delay != nil)
    #expect(outputs.first == .abort && outputs.dials == 0)
  }

  @Test func `a second greeting is reported and changes nothing`() {
    var harness = SessionHarness.connected()
    let second = harness.greet(socketID: "3.4")
    #expect(second == [.report(.malformed(reason: "a second connection_established", bytes: []))])
    #expect(harness.session.socketID == "1.2")
  }

  @Test(arguments: [(120, 120), (30, 30), (600, 120), (1, 1), (0, 120), (-1, 120)])
  func `the shorter activity timeout of both sides counts`(server: Int, effective: Int) {
    var harness = SessionHarness()
    harness.dial()
    let outputs = harness.greet(activityTimeout: server)
    #expect(outputs.events == [.connected(socketID: "1.2", activityTimeout: .seconds(effective))])
    #expect(harness.session.deadline == harness.now.advanced(by: .seconds(effective)))
  }

  @Test func `silence is answered with a ping, and silence after that with the end`() {
    var harness = SessionHarness.connected()
    harness.advance(.seconds(6))
    harness.receive(#"{"event":"e"}"#)
    #expect(harness.advance(.seconds(120) - .nanoseconds(1)) == [])
    #expect(harness.advance(.nanoseconds(1)) == [.ping])
    #expect(harness.receive(#"{"event":"pusher:pong"}"#) == [.report(.pong)])
    #expect(harness.advance(.seconds(120)) == [.ping])
    #expect(harness.advance(.seconds(30) - .nanoseconds(1)) == [])
    let loss = ConnectionLoss.noPong(.seconds(30))
    // The connection was stable, so the session dials again at once.
    #expect(
      harness.advance(.nanoseconds(1)) == [
        .abort, .report(.disconnected(loss, code: nil, retryIn: .zero, attempt: 1)), .dial,
      ])
  }

  @Test(arguments: ["", #","data":{}"#, #","data":"{}""#])
  func `a ping is answered with a pong`(rest: String) {
    var harness = SessionHarness.connected()
    #expect(harness.receive(#"{"event":"pusher:ping"\#(rest)}"#) == [.pong])
  }

  @Test(
    arguments: [
      (#"{"event":"e","channel":"c","data":"{}"}"#, "e", nil),
      (
        #"{"event":"pusher_internal:subscription_count","channel":"c","data":{}}"#,
        "pusher_internal:subscription_count", "pusher:subscription_count"
      ),
      (#"{"event":"pusher:cache_miss","channel":"c"}"#, "pusher:cache_miss", "pusher:cache_miss"),
      (#"{"event":"pusher:news","data":{}}"#, "pusher:news", "pusher:news"),
      (#"{"event":"pusher:ping"}"#, nil, nil), ("{}", nil, nil),
    ] as [(String, String?, String?)])
  func `events of the application are handed over, under their public names`(
    text: String, event: String?, publicName: String?
  ) {
    var harness = SessionHarness.connected(channels: ["c"])
    let received = harness.event(text)
    #expect(received?.envelopeName == event)
    #expect(received?.publicName == publicName)
  }

  @Test func `a binary message is reported, while there is a socket`() {
    let bytes: [UInt8] = [0, 0xFF]
    let receive = { (harness: inout SessionHarness) in
      harness.perform { session, now in withView(bytes) { session.receivedBinary($0, at: now) } }
    }
    var harness = SessionHarness.connected()
    #expect(receive(&harness) == [.report(.malformed(reason: "a binary message", bytes: bytes))])
    harness.lose(.network("reset"))
    #expect(receive(&harness) == [])
  }

  @Test(arguments: [
    ("{", "incomplete JSON"), ("[]", "not JSON at byte 0"),
    ("{}", #"JSON without a valid "event""#),
    (#"{"event":"e",}"#, "not JSON at byte 13"),
    (#"{"event":7}"#, #"JSON without a valid "event""#),
    (#"{"event":"pusher_internal:member_added","data":{}}"#, "member_added without a channel"),
    (
      #"{"event":"pusher:connection_established","data":"{}"}"#,
      "connection_established without a socket_id"
    ),
  ])
  func `a malformed message is told with its bytes`(text: String, reason: String) {
    var harness = SessionHarness.connected(channels: ["c"])
    #expect(harness.receive(text) == [.report(.malformed(reason: reason, bytes: Array(text.utf8)))])
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `messages before the greeting or after the end change no channel`() {
    let refusal = #"{"event":"pusher:subscription_error","channel":"c","data":{"status":401}}"#
    var early = SessionHarness(channels: ["c"])
    early.dial()
    #expect(early.receive(refusal) == [])
    #expect(early.receive(#"{"event":"pusher:ping"}"#) == [.pong])
    #expect(early.greet().last == .subscribe("c"))

    var lost = SessionHarness.connected(channels: ["c"])
    lost.lose(.network("reset"))
    for text in [refusal, #"{"event":"pusher:ping"}"#, #"{"event":"pusher:error"}"#, "{}"] {
      #expect(lost.receive(text) == [])
    }
    #expect(lost.greet() == [])
    lost.advance(.seconds(2))
    #expect(lost.greet().last == .subscribe("c"))

    var ended = SessionHarness.connected(channels: ["c"])
    ended.disconnect()
    #expect(ended.receive(#"{"event":"pusher:ping"}"#) == [])
    #expect(ended.event(#"{"event":"e","channel":"c"}"#) == nil)
  }

  @Test func `disconnecting is polite on a connection, and short before one`() {
    var idle = SessionHarness()
    #expect(idle.disconnect() == [.report(.ended(.asked))])
    var dialling = SessionHarness()
    dialling.dial()
    #expect(dialling.disconnect() == [.abort, .report(.ended(.asked))])
    var connected = SessionHarness.connected(channels: ["c"])
    #expect(connected.disconnect() == [.close, .report(.ended(.asked))])
    var waiting = SessionHarness.connected()
    waiting.lose(.network("reset"))
    #expect(waiting.disconnect() == [.report(.ended(.asked))])
    for var harness in [idle, dialling, connected, waiting] {
      #expect(harness.session.deadline == nil)
      #expect(harness.disconnect() == [])
      #expect(harness.dial() == [])
      #expect(harness.lose(.network("late")) == [])
      #expect(harness.advance(.seconds(3600)) == [])
      #expect(!harness.session.isConnected)
    }
  }
}
