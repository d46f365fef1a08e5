import PusherCore
import TestSupport
import Testing

@testable import PusherServer

@Suite("Limits of one app")
struct AppLimitsTests {
  private static func applications(_ change: (inout AppLimits) -> Void) -> Applications {
    var app = Application.forTests()
    change(&app.limits)
    return Applications([app], random: SeededGenerator(seed: 1))
  }

  private static func hub(_ change: (inout AppLimits) -> Void) -> Hub {
    applications(change).hubs[0]
  }

  private static func call(
    _ applications: Applications, _ path: String, _ body: String,
    at now: Instant = Instant(nanoseconds: 0)
  ) -> HTTPAnswer {
    let app = applications.hubs[0].application
    let signed = APIRequest(method: "POST", path: path, body: Array(body.utf8)).signed(
      key: app.key, secret: app.secret, timestamp: 1_353_088_179)
    let head = HTTPRequestHead(method: "POST", target: signed.target, headers: signed.headers)
    return APIRouter(applications).answer(
      HTTPRequestReader.Request(head: head, body: signed.body ?? []), seconds: 1_353_088_179,
      at: now)
  }

  @Test func `what an app leaves out is the server's`() {
    var server = ServerLimits()
    #expect(AppLimits().applied(to: server) == server)
    var limits = AppLimits()
    (limits.subscriptions, limits.presenceMembers, limits.eventData) = (1, 2, 3)
    (limits.clientEventsPerSecond, limits.cachedEvents) = (4, 5)
    (server.subscriptions, server.presenceMembers, server.sizes.eventData) = (1, 2, 3)
    (server.clientEventsPerSecond, server.cachedEvents) = (4, 5)
    #expect(limits.applied(to: ServerLimits()) == server)
  }

  @Test func `a socket may subscribe to so many channels`() {
    let client = HubClient(Self.hub { $0.subscriptions = 1 }, "1.1")
    client.subscribe("a")
    _ = client.texts()
    client.subscribe("b")
    #expect(client.texts().contains { $0.contains("a connection has at most 1 subscriptions") })
  }

  @Test func `a presence channel takes so many members`() {
    let hub = Self.hub { $0.presenceMembers = 1 }
    let clients = (1...2).map { HubClient(hub, "1.\($0)") }
    for (number, client) in clients.enumerated() {
      _ = client.texts()
      client.authorize("presence-a", channelData: #"{"user_id":"\#(number)"}"#)
    }
    #expect(clients[0].texts().contains { $0.contains("subscription_succeeded") })
    #expect(clients[1].texts().contains { $0.contains("4004") })
  }

  @Test func `an event's data has so many bytes`() {
    let applications = Self.applications { $0.eventData = 3 }
    func status(_ data: String) -> Int {
      Self.call(applications, "/apps/3/events", #"{"name":"e","channel":"a","data":"\#(data)"}"#)
        .status
    }
    #expect(status("abc") == 200 && status("abcd") == 413)
  }

  @Test func `calls bring so many events within a second, one for each channel`() {
    let applications = Self.applications { $0.eventsPerSecond = 3 }
    func send(_ channels: Int, at seconds: Double) -> HTTPAnswer {
      let names = (0..<channels).map { #""c\#($0)""# }.joined(separator: ",")
      return Self.call(
        applications, "/apps/3/events", #"{"name":"e","channels":[\#(names)],"data":"x"}"#,
        at: Instant(nanoseconds: 0).advanced(by: .milliseconds(Int(seconds * 1000))))
    }
    #expect(send(2, at: 0).status == 200)
    let refused = send(2, at: 0.5)
    #expect(refused.status == 403)
    #expect(refused.body == "over quota: the app may send 3 events a second")
    // Refused requests do not count.
    #expect(send(1, at: 0.9).status == 200)
    #expect(send(1, at: 0.999).status == 403)
    #expect(send(3, at: 1).status == 200)
    #expect(send(4, at: 9).status == 403)
  }

  @Test func `and so many bytes, all events of a batch or none`() {
    let applications = Self.applications { $0.bytesPerSecond = 10 }
    let client = HubClient(applications.hubs[0], "1.1")
    client.subscribe("a")
    _ = client.texts()
    func batch(_ sizes: Int...) -> Int {
      let events = sizes.map { size in
        #"{"name":"e","channel":"a","data":"\#(String(repeating: "x", count: size))"}"#
      }
      let body = #"{"batch":[\#(events.joined(separator: ","))]}"#
      return Self.call(applications, "/apps/3/batch_events", body).status
    }
    #expect(batch(5, 6) == 403)
    #expect(client.texts().isEmpty)
    #expect(batch(5, 5) == 200)
    #expect(client.texts().count == 2)
    #expect(batch(1) == 403)
  }
}
