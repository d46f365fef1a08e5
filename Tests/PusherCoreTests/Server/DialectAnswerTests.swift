import PusherCore
import PusherServer
import Testing

@Suite struct `What the HTTP APIs of servers answer differently` {
  private static let now: Int64 = 1_353_088_179

  private static func applications(_ dialect: Dialect) -> Applications {
    let applications = Applications(
      [.forTests()], limits: dialect.limits, dialect: dialect, random: SeededGenerator(seed: 1))
    let client = HubClient(applications.hubs[0], "1.1")
    client.subscribe("c")
    client.authorize(
      "presence-a", channelData: #"{"user_id":"7","user_info":{"name":"Ada"}}"#)
    return applications
  }

  private static func call(
    _ dialect: Dialect, _ method: String, _ path: String,
    _ parameters: [APIRequest.Parameter] = [], body: String? = nil, age: Int64 = 0
  ) -> HTTPAnswer {
    let request = APIRequest(
      method: method, path: path, parameters: parameters, body: body.map { Array($0.utf8) })
    let signed = request.signed(
      key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8", timestamp: now - age)
    let head = HTTPRequestHead(method: method, target: signed.target, headers: signed.headers)
    return APIRouter(applications(dialect)).answer(
      HTTPRequestReader.Request(head: head, body: signed.body ?? []), seconds: now,
      at: Instant(nanoseconds: 0))
  }

  private static func page(_ dialect: Dialect, _ path: String) -> HTTPAnswer {
    APIRouter(applications(dialect)).answer(
      HTTPRequestReader.Request(
        head: HTTPRequestHead(method: "GET", target: path, headers: HTTPHeaders([])), body: []),
      seconds: now, at: Instant(nanoseconds: 0))
  }

  @Test(arguments: [
    (Dialect.pusher, "{}", "{}", "{}"), (.reverb, "{}", #"{"batch":{}}"#, "{}"),
    (.soketi, #"{"ok":true}"#, #"{"ok":true}"#, #"{"ok":true}"#),
  ])
  func `events, a batch and an end of connections`(
    dialect: Dialect, event: String, batch: String, terminate: String
  ) {
    let one = #"{"name":"e","channel":"c","data":"{}"}"#
    #expect(Self.call(dialect, "POST", "/apps/3/events", body: one).body == event)
    #expect(
      Self.call(dialect, "POST", "/apps/3/batch_events", body: #"{"batch":[\#(one)]}"#).body
        == batch)
    #expect(
      Self.call(dialect, "POST", "/apps/3/users/9/terminate_connections", body: "{}").body
        == terminate)
  }

  @Test func `soketi passes over what is asked for, and always counts`() {
    let asked = #"{"name":"e","channel":"c","data":"{}","info":"subscription_count"}"#
    #expect(Self.call(.soketi, "POST", "/apps/3/events", body: asked).body == #"{"ok":true}"#)
    #expect(
      Self.call(.soketi, "GET", "/apps/3/channels").body
        == #"{"channels":{"c":{"subscription_count":1,"occupied":true},"#
        + #""presence-a":{"subscription_count":1,"occupied":true,"user_count":1}}}"#)
    #expect(
      Self.call(.soketi, "GET", "/apps/3/channels/none").body
        == #"{"subscription_count":0,"occupied":false}"#)
    #expect(Self.call(.pusher, "GET", "/apps/3/channels/none").body == #"{"occupied":false}"#)
  }

  @Test func `soketi tells of users if asked`() {
    let path = "/apps/3/channels/presence-a/users"
    let wish = [APIRequest.Parameter("with_user_info", "1")]
    for dialect in Dialect.allCases {
      #expect(Self.call(dialect, "GET", path).body == #"{"users":[{"id":"7"}]}"#)
    }
    #expect(
      Self.call(.soketi, "GET", path, wish).body
        == #"{"users":[{"id":"7","user_info":{"name":"Ada"}}]}"#)
    #expect(Self.call(.pusher, "GET", path, wish).body == #"{"users":[{"id":"7"}]}"#)
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"k":1}"#, 400), (.reverb, #"{"k":1}"#, 422), (.soketi, #"{"k":1}"#, 400),
    (.pusher, #""""#, 200), (.reverb, #""""#, 200), (.soketi, #""""#, 400),
  ])
  func `data that is no string, and data that is empty`(
    dialect: Dialect, data: String, status: Int
  ) {
    let body = #"{"name":"e","channel":"c","data":\#(data)}"#
    #expect(Self.call(dialect, "POST", "/apps/3/events", body: body).status == status)
  }

  @Test(arguments: [(Dialect.pusher, 10_240), (.reverb, 10_000), (.soketi, 102_400)])
  func `so much data an event may have`(dialect: Dialect, limit: Int) {
    let statuses = [limit, limit + 1].map { count in
      let data = String(repeating: "x", count: count)
      return Self.call(
        dialect, "POST", "/apps/3/events",
        body: #"{"name":"e","channel":"c","data":"\#(data)"}"#
      ).status
    }
    #expect(statuses == [200, 413])
  }

  @Test func `soketi refuses in JSON`() throws {
    let answer = Self.call(.soketi, "GET", "/apps/9/channels")
    #expect(answer.status == 404 && answer.isJSON)
    let value = try JSONParser.parse(answer.body)
    #expect(value["code"] == .integer(404))
    #expect(value["error"] == .string("Unknown app: 9"))
    #expect(!Self.call(.pusher, "GET", "/apps/9/channels").isJSON)
  }

  @Test func `Reverb counts connections and takes old calls`() {
    #expect(
      Self.call(.reverb, "GET", "/apps/3/connections").body == #"{"connections":1}"#)
    #expect(Self.call(.pusher, "GET", "/apps/3/connections").status == 404)
    #expect(Self.call(.reverb, "GET", "/apps/3/channels", age: 3600).status == 200)
    #expect(Self.call(.pusher, "GET", "/apps/3/channels", age: 3600).status == 401)
  }

  @Test func `each has its page for those who watch it`() {
    #expect(Self.page(.reverb, "/up").body == #"{"health":"OK"}"#)
    #expect(Self.page(.soketi, "/").body == "OK")
    #expect(Self.page(.soketi, "/ready").body == "OK")
    for path in ["/up", "/", "/ready"] { #expect(Self.page(.pusher, path).status == 404) }
  }
}
