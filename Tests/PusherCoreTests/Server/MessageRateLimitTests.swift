import PusherCore
import TestSupport
import Testing

@testable import PusherServer

/// Reverb's `rate_limiting`: `ensureWithinRateLimit` of Laravel Reverb 1.9, and the `RateLimiter`
/// of Laravel.
@Suite("Reverb's rate limit on messages")
struct MessageRateLimitTests {
  private static let error =
    #"{"event":"pusher:error","data":"{\"code\":4301,\"message\":\"Rate limit exceeded\"}"}"#
  private static let ping = #"{"event":"pusher:ping"}"#
  private static let pong = #"{"event":"pusher:pong"}"#

  private static func limit(
    _ messages: Int, in window: Duration = .seconds(10), ends: Bool = false
  ) -> MessageRateLimit {
    var limit = MessageRateLimit()
    (limit.messages, limit.window, limit.endsConnection) = (messages, window, ends)
    return limit
  }

  private static func hub(_ limit: MessageRateLimit) -> Hub {
    var app = Application.forTests()
    app.limits.messageRate = limit
    return Hub(application: app, limits: Dialect.reverb.limits, dialect: .reverb)
  }

  private static func client(_ hub: Hub, _ socketID: String = "1.1") -> HubClient {
    let client = HubClient(hub, socketID, dialect: .reverb)
    _ = client.received()
    return client
  }

  // MARK: The window

  @Test func `Reverb's configuration allows 60 messages in 60 s, and keeps the connection`() {
    let usual = MessageRateLimit()
    #expect(usual == Self.limit(60, in: .seconds(60)))
    #expect(ServerLimits().messageRate == nil)
    #expect(Dialect.allCases.allSatisfy { $0.limits.messageRate == nil })
    #expect(Dialect.allCases.map { $0.has(.limitsMessages) } == [false, true, false])
  }

  @Test func `a window starts with its first message, and refused ones do not prolong it`() {
    var window = MessageWindow(Self.limit(2))
    func admits(_ milliseconds: Int64) -> Bool {
      window.admit(at: Instant(nanoseconds: milliseconds * 1_000_000))
    }
    #expect(admits(5000) && admits(14_000))
    #expect(!admits(14_001) && !admits(14_999))
    #expect(admits(15_000) && admits(24_999))
    #expect(!admits(24_999))
    #expect(admits(60_000) && admits(69_999) && !admits(69_999))
    #expect(admits(70_000))
  }

  @Test func `a window of any length does not trap at the end of time`() {
    var window = MessageWindow(Self.limit(1, in: .seconds(1_000_000_000)))
    let late = Instant(nanoseconds: .max - 1)
    let admitted = (0..<3).map { _ in window.admit(at: late) }
    #expect(admitted == [true, false, false])
  }

  // MARK: Sessions

  @Test func `every message counts, and one above the limit gets an error without a channel`() {
    let client = Self.client(Self.hub(Self.limit(5)))
    client.subscribe("a")
    client.send(#"{"event":"pusher:pong","data":{}}"#)
    client.send(#"{"event":"client-x","channel":"none","data":{}}"#)
    client.send("nonsense")
    client.wire.send(binary: Array(Self.ping.utf8))
    client.deliverInput()
    #expect(client.texts().last == Self.pong)
    #expect(client.answers(to: Self.ping) == [Self.error])
    #expect(client.answers(to: "nonsense") == [Self.error])
    client.subscribe("b")
    #expect(client.texts() == [Self.error])
    #expect(!client.session.subscriptions.contains("b"))
    #expect(client.session.isOpen)
  }

  @Test func `control frames do not count`() {
    let client = Self.client(Self.hub(Self.limit(1)))
    for _ in 0..<3 {
      client.wire.ping()
      client.deliverInput()
    }
    #expect(client.answers(to: Self.ping) == [Self.pong])
    #expect(client.answers(to: Self.ping) == [Self.error])
  }

  @Test func `after its time the client is served again`() {
    let client = Self.client(Self.hub(Self.limit(1)))
    #expect(client.answers(to: Self.ping) == [Self.pong])
    client.now = client.now.advanced(by: .milliseconds(9999))
    #expect(client.answers(to: Self.ping) == [Self.error])
    client.now = client.now.advanced(by: .milliseconds(1))
    #expect(client.answers(to: Self.ping) == [Self.pong])
  }

  @Test func `each connection has a limit of its own`() {
    let hub = Self.hub(Self.limit(1))
    let clients = ["1.1", "1.2"].map { Self.client(hub, $0) }
    for client in clients {
      #expect(client.answers(to: Self.ping) == [Self.pong])
      #expect(client.answers(to: Self.ping) == [Self.error])
    }
  }

  @Test func `events of others still arrive above the limit`() {
    let hub = Self.hub(Self.limit(1))
    let client = Self.client(hub)
    client.subscribe("a")
    #expect(client.answers(to: Self.ping) == [Self.error])
    hub.publish(name: "e", channel: "a", data: "1")
    #expect(client.texts() == [#"{"event":"e","channel":"a","data":"1"}"#])
  }

  @Test func `terminate_on_limit ends the connection, without an error and a close frame`() {
    let hub = Self.hub(Self.limit(2, ends: true))
    let client = Self.client(hub)
    client.wire.send(text: Self.ping)
    client.wire.send(text: #"{"event":"pusher:subscribe","data":{"channel":"a"}}"#)
    client.wire.send(text: Self.ping)
    client.wire.send(text: Self.ping)
    client.deliverInput()
    let received = client.received()
    #expect(received.count == 2, "\(received)")
    #expect(received.first == .text(Self.pong))
    #expect(client.session.isFinished)
    #expect(hub.connectionCount == 0)
  }

  @Test func `what is above the limit is logged with the limit`() {
    let hub = Self.hub(Self.limit(1))
    let client = Self.client(hub)
    _ = hub.takeLog()
    client.send(Self.ping)
    #expect(hub.takeLog().isEmpty)
    client.send(Self.ping)
    let reason = "above the rate limit of messages: 1 in 10 s"
    #expect(hub.takeLog() == [.clientError(socketID: "1.1", reason: reason)])
  }

  // MARK: Apps

  @Test func `an app that is read again keeps its windows, unless the limit has changed`() {
    var limits = ServerLimits()
    limits.messageRate = Self.limit(1)
    var rates = ClientRates(limits)
    let now = Instant(nanoseconds: 0)
    func admits() -> Bool { rates.messages?.admit(at: now) ?? true }
    #expect(admits() && !admits())
    rates.renew(limits)
    #expect(!admits())
    limits.messageRate = Self.limit(2)
    rates.renew(limits)
    #expect(admits() && admits() && !admits())
    limits.messageRate = nil
    rates.renew(limits)
    #expect(admits())
  }

  @Test func `the limit of an app stands in place of the server's`() {
    var server = ServerLimits()
    server.messageRate = Self.limit(1)
    var app = AppLimits()
    #expect(app.applied(to: server).messageRate == Self.limit(1))
    app.messageRate = Self.limit(2, ends: true)
    #expect(app.applied(to: server).messageRate == Self.limit(2, ends: true))
  }
}
