import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite struct `What the HTTP APIs of servers answer differently` {
  private static let now: Int64 = 1_353_088_179

  private static func applications(_ dialect: Dialect) -> Applications {
    let applications = Applications(
      [.forTests()], limits: dialect.limits, dialect: dialect, random: SeededGenerator(seed: 1))
    let client = HubClient(applications.hubs[0], "1.1", dialect: dialect)
    client.subscribe("c")
    client.authorize(
      "presence-a", channelData: #"{"user_id":"7","user_info":{"name":"Ada"}}"#)
    return applications
  }

  private static func call(
    _ dialect: Dialect, _ method: String, _ path: String,
    _ parameters: [APIRequest.Parameter] = [], body: String? = nil, age: Int64 = 0,
    to served: Applications? = nil
  ) -> HTTPAnswer {
    let request = APIRequest(
      method: method, path: path, parameters: parameters, body: body.map { Array($0.utf8) })
    let signed = request.signed(
      key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8", timestamp: now - age)
    let head = HTTPRequestHead(method: method, target: signed.target, headers: signed.headers)
    return APIRouter(served ?? applications(dialect)).answer(
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
        + #""presence-a":{"subscription_count":1,"occupied":true}}}"#)
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
    (#"{"k":1}"#, [400, 422, 200]), (#"[1]"#, [400, 422, 200]), ("7", [400, 422, 200]),
    (#""""#, [200, 422, 400]), ("null", [400, 422, 400]), ("0", [400, 422, 400]),
    ("false", [400, 422, 400]), ("{}", [400, 422, 200]),
  ])
  func `data that is no string, and data that is empty`(data: String, statuses: [Int]) {
    let body = #"{"name":"e","channel":"c","data":\#(data)}"#
    for (dialect, status) in zip(Dialect.allCases, statuses) {
      #expect(
        Self.call(dialect, "POST", "/apps/3/events", body: body).status == status, "\(dialect)")
    }
  }

  @Test func `soketi passes an object on as one`() {
    let applications = Self.applications(.soketi)
    let client = HubClient(applications.hubs[0], "1.9", dialect: .soketi)
    client.subscribe("cache-c")
    _ = client.texts()
    let body = #"{"name":"e","channel":"cache-c","data":{"k":[1.10,"ä"]}}"#
    #expect(
      Self.call(.soketi, "POST", "/apps/3/events", body: body, to: applications).status == 200)
    let event = #"{"event":"e","channel":"cache-c","data":{"k":[1.10,"ä"]}}"#
    #expect(client.texts() == [event])
    let late = HubClient(applications.hubs[0], "1.8", dialect: .soketi)
    late.subscribe("cache-c")
    #expect(late.texts().last == event)
  }

  @Test(arguments: [
    (
      #"{"name":"e","channel":"c","data":{"k":1}}"#,
      #"{"data":["The data field must be a string."]}"#
    ),
    (#"{"name":"e","channel":"c"}"#, #"{"data":["The data field is required."]}"#),
    (#"{"name":"e","channel":"c","data":" "}"#, #"{"data":["The data field is required."]}"#),
    (#"{"channel":"c","data":"1"}"#, #"{"name":["The name field is required."]}"#),
    (
      #"{"name":"e","data":"1"}"#,
      #"{"channels":["The channels field is required when channel is not present."],"#
        + #""channel":["The channel field is required when channels is not present."]}"#
    ),
    (
      #"{"name":"e","channels":"c","data":"1"}"#,
      #"{"channels":["The channels field must be an array."]}"#
    ),
    (
      #"{"name":"e","channel":["c"],"data":"1"}"#,
      #"{"channel":["The channel field must be a string."]}"#
    ),
    (
      #"{"name":7,"channel":"c","data":"1","socket_id":1234,"info":null}"#,
      #"{"name":["The name field must be a string."],"#
        + #""socket_id":["The socket id field must be a string."],"#
        + #""info":["The info field must be a string."]}"#
    ),
  ])
  func `Reverb says field by field in JSON what is wrong with an event`(
    body: String, expected: String
  ) {
    let answer = Self.call(.reverb, "POST", "/apps/3/events", body: body)
    #expect(answer.status == 422)
    #expect(answer.isJSON)
    #expect(answer.body == expected)
  }

  @Test(arguments: [
    (#"{}"#, #"{"batch":["The batch field is required."]}"#),
    (#"{"batch":"x"}"#, #"{"batch":["The batch field must be an array."]}"#),
    (
      #"{"batch":[{"name":"e","channel":"c","data":"1"},{"channel":"c","data":{"k":1},"socket_id":1}]}"#,
      #"{"batch.1.name":["The batch.1.name field is required."],"#
        + #""batch.1.data":["The batch.1.data field must be a string."],"#
        + #""batch.1.socket_id":["The batch.1.socket id field must be a string."]}"#
    ),
    (
      #"{"batch":[{"name":"e","data":"1"}]}"#,
      #"{"batch.0.channel":["The batch.0.channel field is required when channels is not present."]}"#
    ),
  ])
  func `Reverb says it event by event of a batch`(body: String, expected: String) {
    let answer = Self.call(.reverb, "POST", "/apps/3/batch_events", body: body)
    #expect(answer.status == 422)
    #expect(answer.body == expected)
  }

  @Test(arguments: [
    (Dialect.pusher, HTTPAnswer.refusal(400, "only presence channels have users")),
    (.reverb, .json(.object([]), status: 404)),
    (
      .soketi,
      .json(
        .object([
          .init("error", .string("only presence channels have users")),
          .init("code", .integer(400)),
        ]), status: 400)
    ),
  ])
  func `users of an unknown channel`(dialect: Dialect, expected: HTTPAnswer) {
    #expect(Self.call(dialect, "GET", "/apps/3/channels/none/users") == expected)
    let presence = Self.call(dialect, "GET", "/apps/3/channels/presence-none/users")
    #expect(
      presence == (dialect == .reverb ? expected : .json(.object([.init("users", .array([]))]))))
    if dialect == .reverb {
      #expect(
        Self.call(dialect, "GET", "/apps/3/channels/c/users") == .json(.object([]), status: 400))
    }
  }

  @Test(arguments: [(Dialect.pusher, [400, 400]), (.reverb, [200, 200]), (.soketi, [200, 200])])
  func `a count of users of a public channel is refused by Pusher alone`(
    dialect: Dialect, statuses: [Int]
  ) {
    let wish = [APIRequest.Parameter("info", "user_count")]
    let answers = ["/apps/3/channels/c", "/apps/3/channels"].map {
      Self.call(dialect, "GET", $0, wish)
    }
    #expect(answers.map(\.status) == statuses)
    guard dialect == .reverb else { return }
    #expect(answers[0].body == #"{"occupied":true}"#)
    #expect(answers[1].body == #"{"channels":{"c":{},"presence-a":{"user_count":1}}}"#)
    let both = [APIRequest.Parameter("info", "user_count,subscription_count")]
    #expect(
      Self.call(dialect, "GET", "/apps/3/channels", both).body
        == #"{"channels":{"c":{"subscription_count":1},"presence-a":{"user_count":1}}}"#)
    #expect(
      Self.call(dialect, "GET", "/apps/3/channels/none", both).body == #"{"occupied":false}"#)
  }

  @Test(arguments: [
    (#""1""#, [400, 200, 200]), (#""1.1""#, [200, 200, 200]), ("1234", [400, 422, 200]),
    ("null", [200, 422, 200]), (#""""#, [400, 200, 200]),
  ])
  func `a malformed socket_id in a trigger`(socketID: String, statuses: [Int]) {
    let body = #"{"name":"e","channel":"c","data":"1","socket_id":\#(socketID)}"#
    for (dialect, status) in zip(Dialect.allCases, statuses) {
      #expect(
        Self.call(dialect, "POST", "/apps/3/events", body: body).status == status, "\(dialect)")
    }
  }

  @Test func `eleven events are too many for Pusher and soketi, and not for Reverb`() {
    let many = Array(repeating: #"{"name":"e","channel":"c","data":"1"}"#, count: 11)
    let body = #"{"batch":[\#(many.joined(separator: ","))]}"#
    let statuses = Dialect.allCases.map {
      Self.call($0, "POST", "/apps/3/batch_events", body: body).status
    }
    #expect(statuses == [400, 200, 400])
  }

  @Test(arguments: [(Dialect.pusher, #""7""#), (.reverb, "7"), (.soketi, "7")])
  func `a user's number stays a number with Reverb and soketi`(dialect: Dialect, id: String) {
    let applications = Self.applications(dialect)
    HubClient(applications.hubs[0], "1.3", dialect: dialect).authorize(
      "presence-b", channelData: #"{"user_id":7}"#)
    let answer = Self.call(dialect, "GET", "/apps/3/channels/presence-b/users", to: applications)
    #expect(answer.body == #"{"users":[{"id":\#(id)}]}"#)
  }

  @Test(arguments: [(Dialect.pusher, 10_240), (.reverb, 10_000), (.soketi, 102_400)])
  func `each dialect limits the data of an event`(dialect: Dialect, limit: Int) {
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
