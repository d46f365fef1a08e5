import PusherCore
import Testing

@testable import PusherServer

struct `Limits of one app` {
  private static func applications(_ change: (inout AppLimits) -> Void) -> Applications {
    var app = Application.forTests()
    change(&app.limits)
    return Applications([app])
  }

  @Test func `what an app leaves out is the server's`() {
    var server = ServerLimits()
    #expect(AppLimits().applied(to: server) == server)
    var limits = AppLimits()
    (limits.subscriptions, limits.presenceMembers, limits.eventData) = (1, 2, 3)
    (limits.clientEventsPerSecond, limits.cachedEvents) = (4, 5)
    limits.messageRate = MessageRateLimit()
    (server.subscriptions, server.presenceMembers, server.sizes.eventData) = (1, 2, 3)
    (server.clientEventsPerSecond, server.cachedEvents) = (4, 5)
    server.messageRate = MessageRateLimit()
    #expect(limits.applied(to: ServerLimits()) == server)
  }

  @Test func `calls bring so many events within a second, one for each channel`() {
    let applications = Self.applications { $0.eventsPerSecond = 3 }
    func send(_ channels: Int, at milliseconds: Int64) -> HTTPAnswer {
      let names = (0..<channels).map { #""c\#($0)""# }.joined(separator: ",")
      let body = #"{"name":"e","channels":[\#(names)],"data":"x"}"#
      return applications.answer(
        .signed("POST", "/apps/3/events", body: body),
        at: Instant(nanoseconds: milliseconds * 1_000_000))
    }
    #expect(send(2, at: 0).status == 200)
    #expect(send(2, at: 500) == .refusal(403, "over quota: the app may send 3 events a second"))
    // Refused requests do not count.
    #expect(send(1, at: 900).status == 200)
    #expect(send(1, at: 999).status == 403)
    #expect(send(3, at: 1000).status == 200)
    #expect(send(4, at: 9000).status == 403)
  }

  @Test func `calls bring so many bytes within a second, all events of a batch or none`() {
    let applications = Self.applications { $0.bytesPerSecond = 10 }
    let client = applications.hubs[0].client()
    client.subscribe("a")
    _ = client.texts()
    func batch(_ sizes: Int...) -> Int {
      let events = sizes.map { size in
        #"{"name":"e","channel":"a","data":"\#(String(repeating: "x", count: size))"}"#
      }
      let body = #"{"batch":[\#(events.joined(separator: ","))]}"#
      return applications.post("/apps/3/batch_events", body).status
    }
    #expect(batch(5, 6) == 403)
    #expect(client.texts().isEmpty)
    #expect(batch(5, 5) == 200)
    #expect(client.texts().count == 2)
    #expect(batch(1) == 403)
  }
}

/// Reverb's `rate_limiting`: `ensureWithinRateLimit` of Laravel Reverb 1.9, and the `RateLimiter`
/// of Laravel.
struct `Reverb's rate limit on messages` {
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
    Dialect.reverb.hub { $0.limits.messageRate = limit }
  }

  private static func client(_ limit: MessageRateLimit) -> HubClient {
    Dialect.reverb.client(of: hub(limit))
  }

  private static func isServed(_ client: HubClient) -> Bool {
    let answers = client.answers(to: ping)
    #expect(answers == [pong] || answers == [error])
    return answers == [pong]
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
    var window = FixedWindow(2, in: .seconds(10))
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
    var window = FixedWindow(1, in: .seconds(1_000_000_000))
    let late = Instant(nanoseconds: .max - 1)
    let admitted = (0..<3).map { _ in window.admit(at: late) }
    #expect(admitted == [true, false, false])
  }

  // MARK: Sessions

  @Test func `every message counts, and one above the limit gets an error without a channel`() {
    let client = Self.client(Self.limit(5))
    client.subscribe("a")
    client.send(#"{"event":"pusher:pong","data":{}}"#)
    client.send(#"{"event":"client-x","channel":"none","data":{}}"#)
    client.send("nonsense")
    client.send(binary: Array(Self.ping.utf8))
    #expect(client.texts().last == Self.pong)
    #expect(!Self.isServed(client))
    #expect(client.answers(to: "nonsense") == [Self.error])
    client.subscribe("b")
    #expect(client.texts() == [Self.error])
    #expect(!client.session.subscriptions.contains("b"))
    #expect(client.session.isOpen)
  }

  @Test func `control frames do not count`() {
    let client = Self.client(Self.limit(1))
    for _ in 0..<3 { client.ping() }
    #expect(Self.isServed(client) && !Self.isServed(client))
  }

  @Test func `after its time the client is served again`() {
    let client = Self.client(Self.limit(1))
    #expect(Self.isServed(client))
    client.now = client.now.advanced(by: .milliseconds(9999))
    #expect(!Self.isServed(client))
    client.now = client.now.advanced(by: .milliseconds(1))
    #expect(Self.isServed(client))
  }

  @Test func `each connection has a limit of its own`() {
    let hub = Self.hub(Self.limit(1))
    for client in ["1.1", "1.2"].map({ Dialect.reverb.client($0, of: hub) }) {
      #expect(Self.isServed(client) && !Self.isServed(client))
    }
  }

  @Test func `events of others still arrive above the limit`() {
    let client = Self.client(Self.limit(1))
    client.subscribe("a")
    #expect(!Self.isServed(client))
    client.hub.publish(name: "e", channel: "a", data: "1")
    #expect(client.texts() == [#"{"event":"e","channel":"a","data":"1"}"#])
  }

  @Test func `terminate_on_limit ends the connection, without an error and a close frame`() {
    let client = Self.client(Self.limit(2, ends: true))
    client.wire.send(text: Self.ping)
    client.wire.send(text: #"{"event":"pusher:subscribe","data":{"channel":"a"}}"#)
    client.wire.send(text: Self.ping)
    client.wire.send(text: Self.ping)
    client.deliverInput()
    let received = client.received()
    #expect(received.count == 2, "\(received)")
    #expect(received.first == .text(Self.pong))
    #expect(client.session.isFinished && client.hub.connectionCount == 0)
  }

  @Test func `what is above the limit is logged with the limit`() {
    let client = Self.client(Self.limit(1))
    _ = client.hub.takeLog()
    client.send(Self.ping)
    #expect(client.hub.takeLog().isEmpty)
    client.send(Self.ping)
    let reason = "above the rate limit of messages: 1 in 10 s"
    #expect(client.hub.takeLog() == [.clientError(socketID: "1.1", reason: reason)])
  }

  // MARK: Apps

  @Test func `an app that is read again keeps its windows, unless the limit has changed`() {
    var limits = ServerLimits()
    limits.messageRate = Self.limit(1)
    var rates = ClientRates(limits)
    let now = Instant(nanoseconds: 0)
    func admits() -> Bool { rates.messages.admit(at: now) }
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
}
