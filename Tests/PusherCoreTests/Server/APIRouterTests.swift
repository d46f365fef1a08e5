import PusherCore
import PusherServer
import Testing

struct `HTTP API, calls and statuses` {
  private let applications = Applications([
    .forTests(), Application(id: "4", key: "off", secret: "s", isEnabled: false),
  ])
  private var hub: Hub { applications.hubs[0] }

  private func get(_ path: String) -> HTTPAnswer { applications.get("/apps/3/" + path) }

  private func post(_ path: String, _ body: String) -> HTTPAnswer {
    applications.post("/apps/3/" + path, body)
  }

  private func trigger(_ body: String) -> HTTPAnswer { post("events", body) }

  private func client(_ socketID: String, _ channels: String...) -> HubClient {
    let client = HubClient(hub, socketID)
    for channel in channels { client.authorize(channel, channelData: #"{"user_id":"u"}"#) }
    _ = client.texts()
    return client
  }

  private func signedIn(_ userID: String) -> HubClient {
    let client = client("1.1")
    client.signIn(#"{"id":"\#(userID)"}"#)
    _ = client.texts()
    return client
  }

  // MARK: Events

  @Test func `the documented call reaches the subscribers`() {
    let client = client("1.1", "project-3")
    let answer = trigger(#"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#)
    #expect(answer == .json([:]))
    client.expect(#"{"event":"foo","channel":"project-3","data":"{\"some\":\"data\"}"}"#)
  }

  @Test func `a call waits until it is known whether the other nodes can be reached`() {
    let client = client("1.1", "c")
    func begin(_ body: String, secret: String = Application.forTests().secret) -> CallProgress {
      APIRouter(applications).begin(
        .signed("POST", "/apps/3/events", body: body, secret: secret),
        seconds: Applications.seconds, isHeld: true, at: Instant(nanoseconds: 0))
    }
    var held: [(Instant) -> CallProgress] = []
    for body in [#"{"name":"e","channels":["c"],"data":"1"}"#, "{"] {
      if case .pauses(let next) = begin(body) { held.append(next) }
    }
    func status(_ progress: CallProgress) -> Int? {
      if case .answer(let answer) = progress { answer.status } else { nil }
    }
    #expect(status(begin("{}", secret: "wrong")) == 401)
    #expect(held.count == 2 && client.texts().isEmpty)
    #expect(held.map { status($0(Instant(nanoseconds: 0))) } == [200, 400])
    #expect(client.texts() == [#"{"event":"e","channel":"c","data":"1"}"#])
  }

  @Test func `one channel may be named alone, and a socket left out`() {
    let clients = [client("1.1", "c"), client("1.2", "c")]
    #expect(trigger(#"{"name":"e","channel":"c","data":"","socket_id":"1.2"}"#).status == 200)
    #expect(clients.map { $0.texts().count } == [1, 0])
  }

  @Test(arguments: [
    (#"{"channels":["c"],"data":""}"#, 400, "the event's name is missing or not a string"),
    (#"{"name":"","channels":["c"],"data":""}"#, 400, "an event name cannot be empty"),
    (
      #"{"name":"e","channels":["c"],"data":{"k":1}}"#, 400,
      "data must be a string; encode an object as a JSON string"
    ),
    (#"{"name":"e","data":""}"#, 400, "the event names no channel"),
    (#"{"name":"e","channels":[],"data":""}"#, 400, "the event names no channel"),
    (#"{"name":"e","channels":[1],"data":""}"#, 400, "a channel name is not a string"),
    (
      #"{"name":"e","channels":["private-encrypted-a","b"],"data":""}"#, 400,
      "an event for an encrypted channel can have no other channel"
    ),
    (
      #"{"name":"e","channel":"c","data":"","socket_id":"1"}"#, 400,
      "Invalid socket_id: it must be two numbers joined by a dot"
    ),
    ("{", 400, "the body is incomplete JSON"), ("[]", 400, "the body is not a JSON object"),
    (
      #"{"name":"e","channels":["c"],"data":"\#(String(repeating: "x", count: 10_241))"}"#, 413,
      "The data content of this event has 10241 bytes and exceeds the allowed maximum (10240 bytes)"
    ),
  ])
  func `a call that fails is refused with its reason`(body: String, status: Int, reason: String) {
    #expect(trigger(body) == .refusal(status, reason))
  }

  @Test func `events at the limits are taken, and those beyond are refused`() {
    let data = String(repeating: "x", count: 10_240)
    let channels = (0..<100).map { #""c\#($0)""# }.joined(separator: ",")
    #expect(trigger(#"{"name":"e","channels":[\#(channels)],"data":"\#(data)"}"#).status == 200)
    #expect(
      trigger(#"{"name":"e","channels":[\#(channels),"x"],"data":""}"#)
        == .refusal(400, "an event has at most 100 channels; this one has 101"))
  }

  @Test func `information about the channels is given when asked for`() {
    let others = [client("1.1", "presence-a"), client("1.2", "presence-a", "b")]
    let answer = trigger(
      #"{"name":"e","channels":["presence-a","b"],"data":"","info":"user_count,subscription_count"}"#
    )
    #expect(
      answer.body
        == #"{"channels":{"presence-a":{"user_count":1,"subscription_count":2},"#
        + #""b":{"subscription_count":1}}}"#)
    #expect(others.map { $0.texts().count } == [1, 2])
  }

  @Test func `a batch is sent whole or not at all`() {
    let client = client("1.1", "a", "b")
    let good = #"{"name":"e","channel":"a","data":"1"},{"name":"f","channel":"b","data":"2"}"#
    #expect(post("batch_events", #"{"batch":[\#(good)]}"#).body == "{}")
    client.expect(
      #"{"event":"e","channel":"a","data":"1"}"#, #"{"event":"f","channel":"b","data":"2"}"#)
    let bad = post("batch_events", #"{"batch":[\#(good),{"name":"x"}]}"#)
    #expect(bad.status == 400 && bad.body.hasPrefix("event 3: "))
    #expect(client.texts() == [])
    let many = Array(repeating: #"{"name":"e","channel":"a","data":""}"#, count: 11)
    #expect(
      post("batch_events", #"{"batch":[\#(many.joined(separator: ","))]}"#)
        == .refusal(400, "a batch has at most 10 events; this one has 11"))
  }

  @Test func `a batch answers for each event when one asks`() {
    let client = client("1.1", "a")
    let answer = post(
      "batch_events",
      #"{"batch":[{"name":"e","channel":"a","data":"","info":"subscription_count"},"#
        + #"{"name":"e","channel":"b","data":""}]}"#)
    #expect(answer.body == #"{"batch":[{"subscription_count":1},{}]}"#)
    #expect(client.texts().count == 1)
  }

  // MARK: Authentication

  private static let event = #"{"name":"e","channels":["c"],"data":""}"#

  @Test(arguments: [-601, -600, 0, 600, 601])
  func `a timestamp counts for ten minutes`(offset: Int64) {
    let time = Applications.seconds + offset
    let answer = applications.answer(
      .signed("POST", "/apps/3/events", body: Self.event, timestamp: time))
    let reason =
      "Timestamp expired: Given timestamp (\(time)) not within 600s of server time (1353088179)"
    #expect(answer == ((-600...600) ~= offset ? .json([:]) : .refusal(401, reason)))
  }

  @Test func `a wrong secret is told what had to be signed`() {
    let client = client("1.1", "c")
    let answer = applications.answer(
      .signed("POST", "/apps/3/events", body: Self.event, secret: "wrong"))
    #expect(answer.status == 401)
    #expect(
      answer.body.hasPrefix(
        #"Invalid signature: you should have sent HmacSHA256Hex("POST\n/apps/3/events\nauth_key="#))
    #expect(!answer.body.contains("7ad3773142a6692b25b8"))
    #expect(client.texts() == [])
  }

  private static let bare = HTTPRequestReader.Request(
    head: HTTPRequestHead(method: "GET", target: "/apps/3/channels"))
  private static let stopUser = "/users/u@1/terminate_connections"

  @Test(
    arguments: [
      (
        .signed("POST", "/apps/3/events", body: event, key: "other"),
        .refusal(401, "Unknown auth_key: this is not the key of app 3")
      ),
      (
        .signed("POST", "/apps/3/events", body: event).sending("{}"),
        .refusal(401, "Invalid body_md5: the body's MD5 is 99914b932bd37a50b983c5e7c90ae93b")
      ),
      (
        .signed("POST", "/apps/3/events").sending(event),
        .refusal(401, "a call with a body needs body_md5")
      ),
      (bare, .refusal(401, "this call needs auth_key and auth_signature")),
      (.signed("GET", "/apps/9/channels"), .refusal(404, "Unknown app: 9")),
      (
        .signed("GET", "/apps/4/channels", key: "off", secret: "s"),
        .refusal(403, "The app is disabled")
      ),
      (.signed("GET", "/apps/3/events"), .refusal(405, "GET is not allowed here", allow: "POST")),
    ] as [(HTTPRequestReader.Request, HTTPAnswer)])
  func `what is missing or does not belong together is named`(
    request: HTTPRequestReader.Request, answer: HTTPAnswer
  ) {
    #expect(applications.answer(request) == answer)
  }

  @Test(
    arguments: [
      (.signed("GET", "/apps/3/nothing"), 404), (.signed("GET", "/"), 404),
      (.signed("GET", "/apps/3/channels/c/users/more"), 404),
      (.signed("DELETE", "/apps/3/channels"), 405),
      (.signed("GET", "/apps/3/channels/a%20b"), 400),
      (
        .signed("POST", "/apps/3/events", body: ##"{"name":"e","channels":["#x"],"data":"2"}"##),
        400
      ),
      (.signed("POST", "/apps/3/users/u%401/events", body: #"{"name":"e"}"#), 400),
      (.signed("GET", "/apps/3/users/u%401/events"), 405),
      (.signed("POST", stopUser, body: "{}", key: "other"), 404),
      (.signed("POST", stopUser, body: "{}", secret: "wrong"), 401),
      (.signed("POST", stopUser + "/x", body: "{}"), 404),
      (.signed("POST", "/users/u@1/events", body: "{}"), 404), (.signed("GET", stopUser), 405),
    ] as [(HTTPRequestReader.Request, Int)])
  func `unknown paths, methods and apps differ`(request: HTTPRequestReader.Request, status: Int) {
    let answer = applications.answer(request)
    #expect(answer.status == status)
    #expect((answer.allow != nil) == (status == 405))
  }

  // MARK: Clients and channels

  @Test(arguments: [
    ("channels", #"{"channels":{"news":{},"presence-a":{},"presence-b@c,d;e":{}}}"#),
    (
      "channels?filter_by_prefix=presence-a&info=user_count",
      #"{"channels":{"presence-a":{"user_count":1}}}"#
    ),
    (
      "channels/presence-b@c,d;e?info=user_count,subscription_count",
      #"{"occupied":true,"user_count":1,"subscription_count":1}"#
    ),
    ("channels/presence-b%40c%2Cd%3Be/users", #"{"users":[{"id":"u"}]}"#),
    ("channels/none", #"{"occupied":false}"#),
    ("channels?info=user_count", "user_count needs a filter_by_prefix that begins with presence-"),
    ("channels/none/users", "only presence channels have users"),
    ("channels/none?info=user_count", "only presence channels have a user_count"),
  ])
  func `channels are listed, filtered, counted, and tell their users`(path: String, body: String) {
    let clients = [
      client("1.1", "presence-a", "news"), client("1.2", "presence-a", "presence-b@c,d;e"),
    ]
    let answer = get(path)
    #expect(answer.body == body)
    #expect(answer.status == (body.hasPrefix("{") ? 200 : 400))
    #expect(clients.allSatisfy { !$0.session.isFinished })
  }

  @Test func `an event for a user, and the end of a user's connections`() {
    let client = signedIn("u@1")
    client.subscribe("#server-to-user-u@1")
    _ = client.texts()
    let note = #"{"name":"note","data":"1","channels":["news"]}"#
    #expect(post("users/u%401/events", note) == .json([:]))
    #expect(trigger(##"{"name":"e","channels":["#server-to-user-u@1"],"data":"2"}"##).status == 200)
    client.expect(
      ##"{"event":"note","channel":"#server-to-user-u@1","data":"1"}"##,
      ##"{"event":"e","channel":"#server-to-user-u@1","data":"2"}"##)
    #expect(post("users/u%401/terminate_connections", "{}") == .json([:]))
    #expect(client.closeCode() == 4009)
  }

  @Test func `a user is let go without an app in the path too, that of the key`() {
    let client = signedIn("u@1")
    #expect(applications.post(Self.stopUser, "{}") == .json([:]))
    #expect(client.closeCode() == 4009)
  }
}
