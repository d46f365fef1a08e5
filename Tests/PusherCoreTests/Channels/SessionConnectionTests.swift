import PusherCore
import TestSupport
import Testing

/// Dialling, greeting, heartbeats and closing.
@Suite struct SessionConnectionTests {
  @Test func `nothing happens before the first connect, and a second one does nothing`() {
    var harness = SessionHarness(channels: ["c"])
    #expect(harness.drain() == [])
    #expect(harness.session.deadline == nil)
    #expect(harness.perform { $0.connect(at: $1) } == [.dial])
    #expect(harness.perform { $0.connect(at: $1) } == [])
    #expect(!harness.session.isConnected)
  }

  @Test func `the greeting connects, reports and subscribes in the order asked for`() {
    var harness = SessionHarness(channels: ["b", "a"])
    #expect(
      harness.connect() == [
        .dial, .report(.connected(socketID: "1.2", activityTimeout: .seconds(120))),
        SessionHarness.subscribe("b"), SessionHarness.subscribe("a"),
      ])
    #expect(harness.session.isConnected && harness.session.socketID == "1.2")
    #expect(!harness.session.isFullySubscribed)
  }

  @Test func `without a greeting in time the attempt is dropped`() {
    var harness = SessionHarness()
    _ = harness.perform { $0.connect(at: $1) }
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
  func `an error between 4000 and 4099 in place of the greeting ends the attempt at once`(
    code: Int
  ) {
    var harness = SessionHarness(SessionOptions(reconnect: ReconnectPolicy(mode: .always)))
    _ = harness.perform { $0.connect(at: $1) }
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
    _ = harness.perform { $0.connect(at: $1) }
    #expect(harness.error(code: code) == [.report(.error(code: code, message: "no"))])
    let outputs = harness.advance(.seconds(10))
    guard case .connection(.disconnected(.handshakeTimeout, code, _?, 1)) = outputs.events.first
    else {
      Issue.record("\(outputs)")
      return
    }
    #expect(outputs.first == .abort && outputs.dials == 0)
  }

  @Test func `a second greeting and one without a socket are reported and change nothing`() {
    var harness = SessionHarness.connected()
    let second = harness.greet(socketID: "3.4")
    #expect(second == [.report(.malformed(reason: "a second connection_established", bytes: []))])
    #expect(harness.session.socketID == "1.2")
    let text = #"{"event":"pusher:connection_established","data":"{}"}"#
    #expect(
      harness.receive(text) == [
        .report(
          .malformed(
            reason: "connection_established without a socket_id", bytes: Array(text.utf8)))
      ])
  }

  @Test(arguments: [(120, 120), (30, 30), (600, 120), (1, 1), (0, 120), (-1, 120)])
  func `the shorter activity timeout of both sides counts`(server: Int, effective: Int) {
    var harness = SessionHarness()
    _ = harness.perform { $0.connect(at: $1) }
    let outputs = harness.greet(activityTimeout: server)
    #expect(outputs.events == [.connected(socketID: "1.2", activityTimeout: .seconds(effective))])
    #expect(harness.session.deadline == harness.now.advanced(by: .seconds(effective)))
  }

  @Test func `silence is answered with a ping, and more silence with the end of the connection`() {
    var harness = SessionHarness.connected()
    harness.advance(.seconds(6))
    harness.receive(#"{"event":"e"}"#)
    #expect(harness.advance(.seconds(120) - .nanoseconds(1)) == [])
    #expect(harness.advance(.nanoseconds(1)) == [SessionHarness.ping])
    #expect(harness.advance(.seconds(30) - .nanoseconds(1)) == [])
    let loss = ConnectionLoss.noPong(.seconds(30))
    // The connection was stable, so the session dials again at once.
    #expect(
      harness.advance(.nanoseconds(1)) == [
        .abort, .report(.disconnected(loss, code: nil, retryIn: .zero, attempt: 1)), .dial,
      ])
  }

  @Test func `a pong, or any other byte, keeps the connection`() {
    var harness = SessionHarness.connected()
    #expect(harness.advance(.seconds(120)) == [SessionHarness.ping])
    #expect(harness.receive(#"{"event":"pusher:pong"}"#) == [.report(.pong)])
    #expect(harness.advance(.seconds(120)) == [SessionHarness.ping])
    _ = harness.perform { $0.noteActivity(at: $1) }
    #expect(harness.advance(.seconds(119)) == [])
  }

  @Test func `while reading is paused the connection is kept alive and not given up`() {
    var harness = SessionHarness.connected()
    _ = harness.perform { $0.setReadingPaused(true, at: $1) }
    #expect(harness.advance(.seconds(600)) == Array(repeating: SessionHarness.ping, count: 5))
    _ = harness.perform { $0.setReadingPaused(false, at: $1) }
    #expect(harness.advance(.seconds(120)) == [SessionHarness.ping])
    #expect(harness.advance(.seconds(30)).first == .abort)
  }

  @Test(arguments: ["", #","data":{}"#, #","data":"{}""#])
  func `a ping is answered with a pong`(rest: String) {
    var harness = SessionHarness.connected()
    #expect(harness.receive(#"{"event":"pusher:ping"\#(rest)}"#) == [SessionHarness.pong])
  }

  @Test func `events of the application are handed over, under their public names`() throws {
    var harness = SessionHarness.connected(channels: ["c"])
    func received(_ text: String) -> (name: String?, event: String)? {
      withView(Array(text.utf8)) {
        guard case .event(let envelope, let name) = harness.session.receive($0, at: harness.now)
        else { return nil }
        return (name, envelope.eventName)
      }
    }
    let plain = try #require(received(#"{"event":"e","channel":"c","data":"{}"}"#))
    #expect(plain.name == nil && plain.event == "e")
    let count = received(#"{"event":"pusher_internal:subscription_count","channel":"c","data":{}}"#)
    #expect(count?.name == "pusher:subscription_count")
    let miss = received(#"{"event":"pusher:cache_miss","channel":"c"}"#)
    #expect(miss?.name == "pusher:cache_miss")
    let news = received(#"{"event":"pusher:news","data":{}}"#)
    #expect(news?.name == "pusher:news")
    #expect(received(#"{"event":"pusher:ping"}"#) == nil)
    #expect(received("{}") == nil)
  }

  @Test func `a binary message is reported, while there is a socket`() {
    let bytes: [UInt8] = [0, 0xFF]
    let receive = { (harness: inout SessionHarness) in
      harness.perform { session, now in withView(bytes) { session.receivedBinary($0, at: now) } }
    }
    var harness = SessionHarness.connected()
    #expect(
      receive(&harness) == [.report(.malformed(reason: "a binary message", bytes: bytes))])
    harness.lose(.network("reset"))
    #expect(receive(&harness) == [])
  }

  @Test(arguments: [
    ("{", "incomplete JSON"), ("[]", "not JSON at byte 0"),
    ("{}", #"JSON without a valid "event""#),
    (#"{"event":"e",}"#, "not JSON at byte 13"),
    (#"{"event":7}"#, #"JSON without a valid "event""#),
    (#"{"event":"pusher_internal:member_added","data":{}}"#, "member_added without a channel"),
  ])
  func `a malformed message is reported with its bytes and ends nothing`(
    text: String, reason: String
  ) {
    var harness = SessionHarness.connected(channels: ["c"])
    #expect(
      harness.receive(text) == [.report(.malformed(reason: reason, bytes: Array(text.utf8)))])
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `what comes before the greeting or after the end of a connection changes no channel`()
  {
    let refusal = #"{"event":"pusher:subscription_error","channel":"c","data":{"status":401}}"#
    var early = SessionHarness(channels: ["c"])
    _ = early.perform { $0.connect(at: $1) }
    #expect(early.receive(refusal) == [])
    #expect(early.receive(#"{"event":"pusher:ping"}"#) == [SessionHarness.pong])
    #expect(early.greet().last == SessionHarness.subscribe("c"))

    var lost = SessionHarness.connected(channels: ["c"])
    lost.lose(.network("reset"))
    for text in [refusal, #"{"event":"pusher:ping"}"#, #"{"event":"pusher:error"}"#, "{}"] {
      #expect(lost.receive(text) == [])
    }
    #expect(lost.greet() == [])
    lost.advance(.seconds(2))
    #expect(lost.greet().last == SessionHarness.subscribe("c"))

    var ended = SessionHarness.connected(channels: ["c"])
    _ = ended.perform { $0.disconnect(at: $1) }
    #expect(ended.receive(#"{"event":"pusher:ping"}"#) == [])
    withView(Array(#"{"event":"e","channel":"c"}"#.utf8)) {
      guard case .handled = ended.session.receive($0, at: ended.now) else {
        Issue.record("an event after the end")
        return
      }
    }
  }

  @Test func `disconnecting is polite on a connection, and short before one`() {
    var idle = SessionHarness()
    #expect(idle.perform { $0.disconnect(at: $1) } == [.report(.ended(.asked))])
    var dialling = SessionHarness()
    _ = dialling.perform { $0.connect(at: $1) }
    #expect(dialling.perform { $0.disconnect(at: $1) } == [.abort, .report(.ended(.asked))])
    var connected = SessionHarness.connected(channels: ["c"])
    #expect(connected.perform { $0.disconnect(at: $1) } == [.close, .report(.ended(.asked))])
    var waiting = SessionHarness.connected()
    waiting.lose(.network("reset"))
    #expect(waiting.perform { $0.disconnect(at: $1) } == [.report(.ended(.asked))])
    for var harness in [idle, dialling, connected, waiting] {
      #expect(harness.session.deadline == nil)
      #expect(harness.perform { $0.disconnect(at: $1) } == [])
      #expect(harness.perform { $0.connect(at: $1) } == [])
      #expect(harness.lose(.network("late")) == [])
      #expect(harness.advance(.seconds(3600)) == [])
      #expect(!harness.session.isConnected)
    }
  }
}
