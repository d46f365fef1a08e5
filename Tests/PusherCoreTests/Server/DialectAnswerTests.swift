import PusherCore
import PusherServer
import Testing

struct `What the HTTP APIs of servers answer differently` {
  /// An app with a client on `c`, who is user 7 of `presence-a`.
  private static func applications(_ dialect: Dialect) -> Applications {
    let applications = dialect.applications()
    let client = dialect.client(of: applications.hubs[0])
    client.subscribe("c")
    client.authorize("presence-a", channelData: #"{"user_id":"7","user_info":{"name":"Ada"}}"#)
    return applications
  }

  private static func get(_ dialect: Dialect, _ path: String) -> HTTPAnswer {
    applications(dialect).get("/apps/3/" + path)
  }

  private static func post(_ dialect: Dialect, _ path: String, _ body: String) -> HTTPAnswer {
    applications(dialect).post("/apps/3/" + path, body)
  }

  /// The statuses of Pusher, Reverb and soketi.
  private static func statuses(_ path: String, _ body: String) -> [Int] {
    Dialect.allCases.map { post($0, path, body).status }
  }

  private static let event = #"{"name":"e","channel":"c","data":"1"}"#

  // MARK: Events

  @Test(arguments: [
    (Dialect.pusher, "{}", "{}", "{}"), (.reverb, "{}", #"{"batch":{}}"#, "{}"),
    (.soketi, #"{"ok":true}"#, #"{"ok":true}"#, #"{"ok":true}"#),
  ])
  func `events, a batch and an end of connections`(
    dialect: Dialect, event: String, batch: String, terminate: String
  ) {
    #expect(Self.post(dialect, "events", Self.event).body == event)
    #expect(Self.post(dialect, "batch_events", #"{"batch":[\#(Self.event)]}"#).body == batch)
    #expect(Self.post(dialect, "users/9/terminate_connections", "{}").body == terminate)
  }

  /// Members after the name and the channel.
  @Test(arguments: [
    (#""data":{"k":1}"#, [400, 422, 200]), (#""data":[1]"#, [400, 422, 200]),
    (#""data":7"#, [400, 422, 200]), (#""data":"""#, [200, 422, 400]),
    (#""data":null"#, [400, 422, 400]), (#""data":0"#, [400, 422, 400]),
    (#""data":false"#, [400, 422, 400]), (#""data":{}"#, [400, 422, 200]),
    (#""data":"1","socket_id":"1""#, [400, 200, 200]),
    (#""data":"1","socket_id":"1.1""#, [200, 200, 200]),
    (#""data":"1","socket_id":1234"#, [400, 422, 200]),
    (#""data":"1","socket_id":null"#, [200, 422, 200]),
    (#""data":"1","socket_id":"""#, [400, 200, 200]),
  ])
  func `data of a wrong kind, and a malformed socket_id`(members: String, statuses: [Int]) {
    #expect(Self.statuses("events", #"{"name":"e","channel":"c",\#(members)}"#) == statuses)
  }

  @Test func `soketi passes an object on as one`() {
    let applications = Self.applications(.soketi)
    let hub = applications.hubs[0]
    let client = Dialect.soketi.client("1.9", of: hub)
    client.subscribe("cache-c")
    _ = client.texts()
    let body = #"{"name":"e","channel":"cache-c","data":{"k":[1.10,"ä"]}}"#
    #expect(applications.post("/apps/3/events", body).status == 200)
    let event = #"{"event":"e","channel":"cache-c","data":{"k":[1.10,"ä"]}}"#
    #expect(client.texts() == [event])
    let late = Dialect.soketi.client("1.8", of: hub)
    late.subscribe("cache-c")
    #expect(late.texts().last == event)
  }

  /// Bodies of an event or of a batch.
  private static let wrong: [(String, String)] = [
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
    (#"batch {}"#, #"{"batch":["The batch field is required."]}"#),
    (#"batch {"batch":"x"}"#, #"{"batch":["The batch field must be an array."]}"#),
    (
      #"batch {"batch":[{"name":"e","channel":"c","data":"1"},{"channel":"c","data":{"k":1},"socket_id":1}]}"#,
      #"{"batch.1.name":["The batch.1.name field is required."],"#
        + #""batch.1.data":["The batch.1.data field must be a string."],"#
        + #""batch.1.socket_id":["The batch.1.socket id field must be a string."]}"#
    ),
    (
      #"batch {"batch":[{"name":"e","data":"1"}]}"#,
      #"{"batch.0.channel":["The batch.0.channel field is required when channels is not present."]}"#
    ),
  ]

  @Test(arguments: wrong)
  func `Reverb names each wrong field of an event or a batch`(body: String, expected: String) {
    let isBatch = body.hasPrefix("batch ")
    let answer = Self.post(
      .reverb, isBatch ? "batch_events" : "events", String(body.dropFirst(isBatch ? 6 : 0)))
    #expect(answer.status == 422 && answer.isJSON)
    #expect(answer.body == expected)
  }

  @Test(arguments: [(Dialect.pusher, 10_240), (.reverb, 10_000), (.soketi, 102_400)])
  func `each dialect limits the data of an event`(dialect: Dialect, limit: Int) {
    let statuses = [limit, limit + 1].map { count in
      let data = String(repeating: "x", count: count)
      return Self.post(dialect, "events", #"{"name":"e","channel":"c","data":"\#(data)"}"#).status
    }
    #expect(statuses == [200, 413])
  }

  // MARK: Channels and users

  private static let soketiList =
    #"{"channels":{"c":{"subscription_count":1,"occupied":true},"#
    + #""presence-a":{"subscription_count":1,"occupied":true}}}"#
  private static let soketiPresence = #"{"subscription_count":1,"occupied":true,"user_count":1}"#
  private static let reverbCounts =
    #"{"channels":{"c":{"subscription_count":1},"presence-a":{"user_count":1}}}"#
  private static let ada = #"{"users":[{"id":"7","user_info":{"name":"Ada"}}]}"#

  @Test(arguments: [
    (Dialect.soketi, "channels", soketiList), (.soketi, "channels/presence-a", soketiPresence),
    (.soketi, "channels/none", #"{"subscription_count":0,"occupied":false}"#),
    (.reverb, "channels/presence-a/users", #"{"users":[{"id":"7"}]}"#),
    (.soketi, "channels/presence-a/users", #"{"users":[{"id":"7"}]}"#),
    (.soketi, "channels/presence-a/users?with_user_info=1", ada),
    (.pusher, "channels/presence-a/users?with_user_info=1", #"{"users":[{"id":"7"}]}"#),
    (.reverb, "channels/c?info=user_count", #"{"occupied":true}"#),
    (.reverb, "channels?info=user_count", #"{"channels":{"c":{},"presence-a":{"user_count":1}}}"#),
    (.reverb, "channels?info=user_count,subscription_count", reverbCounts),
    (.reverb, "channels/none?info=user_count,subscription_count", #"{"occupied":false}"#),
    (.reverb, "connections", #"{"connections":1}"#),
  ])
  func `channels, users and counts differ by server`(dialect: Dialect, path: String, body: String) {
    #expect(Self.get(dialect, path).body == body)
  }

  @Test func `soketi passes over the info that an event asks for`() {
    let asked = #"{"name":"e","channel":"c","data":"{}","info":"subscription_count"}"#
    #expect(Self.post(.soketi, "events", asked).body == #"{"ok":true}"#)
  }

  @Test(arguments: [
    ("channels/c?info=user_count", [400, 200, 200]),
    ("channels?info=user_count", [400, 200, 200]),
    ("channels/none/users", [400, 404, 400]), ("channels/presence-none/users", [200, 404, 200]),
  ])
  func `counts and users of other channels are refused or not`(path: String, statuses: [Int]) {
    #expect(Dialect.allCases.map { Self.get($0, path).status } == statuses)
  }

  @Test func `each server refuses users of a channel without them in its own words`() throws {
    let path = "channels/none/users"
    #expect(Self.get(.pusher, path).body == "only presence channels have users")
    #expect(Self.get(.reverb, path) == .json([:], status: 404))
    #expect(Self.get(.reverb, "channels/c/users") == .json([:], status: 400))
    let refusal: JSONValue = ["error": "only presence channels have users", "code": 400]
    #expect(Self.get(.soketi, path) == .json(refusal, status: 400))
    #expect(Self.get(.soketi, "channels/presence-none/users") == .json(["users": []]))
  }

  @Test(arguments: [(Dialect.pusher, #""7""#), (.reverb, "7"), (.soketi, "7")])
  func `a user's number stays a number with Reverb and soketi`(dialect: Dialect, id: String) {
    let applications = Self.applications(dialect)
    dialect.client("1.3", of: applications.hubs[0])
      .authorize("presence-b", channelData: #"{"user_id":7}"#)
    let answer = applications.get("/apps/3/channels/presence-b/users")
    #expect(answer.body == #"{"users":[{"id":\#(id)}]}"#)
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"data":"{\"k\":1}","ttl":1800}"#),
    (.reverb, #"{"event":"e","data":"{\"k\":1}","channel":"cache-a"}"#),
  ])
  func `info=cache is the whole message with Reverb`(dialect: Dialect, cache: String) {
    let applications = dialect.applications()
    dialect.client(of: applications.hubs[0]).subscribe("cache-a")
    applications.hubs[0].publish(name: "e", channel: "cache-a", data: #"{"k":1}"#)
    #expect(
      applications.get("/apps/3/channels/cache-a?info=cache").body
        == #"{"occupied":true,"cache":\#(cache)}"#)
    #expect(
      applications.get("/apps/3/channels?info=cache").body
        == #"{"channels":{"cache-a":{"cache":\#(cache)}}}"#)
  }

  // MARK: Refusals and pages

  @Test func `soketi refuses in JSON`() {
    let refusal: JSONValue = ["error": "Unknown app: 9", "code": 404]
    #expect(Dialect.soketi.applications().get("/apps/9/channels") == .json(refusal, status: 404))
    #expect(!Dialect.pusher.applications().get("/apps/9/channels").isJSON)
  }

  @Test func `Reverb takes old calls, and Pusher has no count of connections`() {
    let old = HTTPRequestReader.Request.signed(
      "GET", "/apps/3/channels", timestamp: Applications.seconds - 3600)
    #expect(Dialect.reverb.applications().answer(old).status == 200)
    #expect(Dialect.pusher.applications().answer(old).status == 401)
    #expect(Self.get(.pusher, "connections").status == 404)
  }

  @Test func `each server has its page for those who watch it`() {
    func page(_ dialect: Dialect, _ path: String) -> HTTPAnswer {
      dialect.applications().answer(.init(head: HTTPRequestHead(method: "GET", target: path)))
    }
    #expect(page(.reverb, "/up").body == #"{"health":"OK"}"#)
    #expect(page(.soketi, "/").body == "OK")
    #expect(page(.soketi, "/ready").body == "OK")
    for path in ["/up", "/", "/ready"] { #expect(page(.pusher, path).status == 404) }
  }
}
