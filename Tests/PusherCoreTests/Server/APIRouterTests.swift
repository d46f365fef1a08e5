import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite("HTTP API, calls and statuses")
struct APIRouterTests {
  private let applications = Applications(
    [
      .forTests(),
      Application(id: "4", key: "off", secret: "s", isEnabled: false),
    ], random: SeededGenerator(seed: 1))
  private var hub: Hub { applications.hubs[0] }
  private static let now: Int64 = 1_353_088_179

  private func call(
    _ method: String, _ path: String, _ parameters: [APIRequest.Parameter] = [],
    body: String? = nil, key: String = "278d425bdf160c739803",
    secret: String = "7ad3773142a6692b25b8", timestamp: Int64 = now, sentBody: String? = nil
  ) -> HTTPAnswer {
    APIRouter(applications).answer(
      request(
        method, path, parameters, body: body, key: key, secret: secret, timestamp: timestamp,
        sentBody: sentBody), seconds: Self.now, at: Instant(nanoseconds: 0))
  }

  private func request(
    _ method: String, _ path: String, _ parameters: [APIRequest.Parameter] = [],
    body: String? = nil, key: String = "278d425bdf160c739803",
    secret: String = "7ad3773142a6692b25b8", timestamp: Int64 = now, sentBody: String? = nil
  ) -> HTTPRequestReader.Request {
    let request = APIRequest(
      method: method, path: path, parameters: parameters, body: body.map { Array($0.utf8) })
    let signed = request.signed(key: key, secret: secret, timestamp: timestamp)
    let head = HTTPRequestHead(method: method, target: signed.target, headers: signed.headers)
    let sent = sentBody.map { Array($0.utf8) } ?? signed.body ?? []
    return HTTPRequestReader.Request(head: head, body: sent)
  }

  private func trigger(_ body: String, secret: String = "7ad3773142a6692b25b8") -> HTTPAnswer {
    call("POST", "/apps/3/events", body: body, secret: secret)
  }

  private func client(_ socketID: String, _ channels: String...) -> HubClient {
    let client = HubClient(hub, socketID)
    for channel in channels { client.authorize(channel, channelData: #"{"user_id":"u"}"#) }
    _ = client.texts()
    return client
  }

  private func signedIn(_ userID: String) -> HubClient {
    let client = client("1.1")
    let userData = #"{"id":"\#(userID)"}"#
    let auth = SubscriptionSignature(
      key: hub.application.key, secret: hub.application.secret
    ).signIn(socketID: "1.1", userData: userData)
    client.send(
      ClientCommand(service: .pusher).signIn(
        Authorization(PusherUserAuth(auth: auth, userData: userData))))
    _ = client.texts()
    return client
  }

  // MARK: Events

  @Test func `the documented call reaches the subscribers`() {
    let client = client("1.1", "project-3")
    let answer = trigger(
      #"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#)
    #expect(answer.status == 200)
    #expect(answer.body == "{}")
    #expect(
      client.texts() == [
        #"{"event":"foo","channel":"project-3","data":"{\"some\":\"data\"}"}"#
      ])
  }

  @Test func `a call waits until it is known whether the other nodes can be reached`() {
    let client = client("1.1", "c")
    var held: [(Instant) -> CallProgress] = []
    for body in [#"{"name":"e","channels":["c"],"data":"1"}"#, "{"] {
      let request = request("POST", "/apps/3/events", body: body)
      let progress = APIRouter(applications).begin(
        request, seconds: Self.now, isHeld: true, at: Instant(nanoseconds: 0))
      if case .pauses(let next) = progress { held.append(next) }
    }
    let forged = APIRouter(applications).begin(
      request("POST", "/apps/3/events", body: "{}", secret: "wrong"), seconds: Self.now,
      isHeld: true, at: Instant(nanoseconds: 0))
    if case .answer(let answer) = forged { #expect(answer.status == 401) } else { Issue.record() }
    #expect(held.count == 2 && client.texts().isEmpty)
    let answers = held.compactMap { next -> Int? in
      if case .answer(let answer) = next(Instant(nanoseconds: 0)) { answer.status } else { nil }
    }
    #expect(answers == [200, 400])
    #expect(client.texts() == [#"{"event":"e","channel":"c","data":"1"}"#])
  }

  @Test func `one channel may be named alone, and a socket left out`() {
    let clients = [client("1.1", "c"), client("1.2", "c")]
    #expect(trigger(#"{"name":"e","channel":"c","data":"","socket_id":"1.2"}"#).status == 200)
    #expect(clients.map { $0.texts().count } == [1, 0])
    #expect(
      trigger(#"{"name":"e","channel":"c","data":"","socket_id":"1"}"#)
        == .refusal(400, "Invalid socket_id: it must be two numbers joined by a dot"))
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
    ("{", 400, "the body is incomplete JSON"), ("[]", 400, "the body is not a JSON object"),
    (
      #"{"name":"e","channels":["c"],"data":"\#(String(repeating: "x", count: 10_241))"}"#, 413,
      "The data content of this event has 10241 bytes and exceeds the allowed maximum (10240 bytes)"
    ),
  ])
  func `a call that cannot be done is refused with its reason`(
    body: String, status: Int, reason: String
  ) {
    #expect(trigger(body) == .refusal(status, reason))
  }

  @Test func `the limits themselves are allowed`() {
    let data = String(repeating: "x", count: 10_240)
    let channels = (0..<100).map { #""c\#($0)""# }.joined(separator: ",")
    #expect(
      trigger(#"{"name":"e","channels":[\#(channels)],"data":"\#(data)"}"#).status == 200)
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
    let answer = call("POST", "/apps/3/batch_events", body: #"{"batch":[\#(good)]}"#)
    #expect(answer.body == "{}")
    #expect(
      client.texts() == [
        #"{"event":"e","channel":"a","data":"1"}"#, #"{"event":"f","channel":"b","data":"2"}"#,
      ])
    let bad = call(
      "POST", "/apps/3/batch_events", body: #"{"batch":[\#(good),{"name":"x"}]}"#)
    #expect(bad.status == 400)
    #expect(bad.body.hasPrefix("event 3: "))
    #expect(client.texts() == [])
    let many = Array(repeating: #"{"name":"e","channel":"a","data":""}"#, count: 11)
    #expect(
      call(
        "POST", "/apps/3/batch_events", body: #"{"batch":[\#(many.joined(separator: ","))]}"#)
        == .refusal(400, "a batch has at most 10 events; this one has 11"))
  }

  @Test func `a batch answers for each event when one asks`() {
    let client = client("1.1", "a")
    let answer = call(
      "POST", "/apps/3/batch_events",
      body: #"{"batch":[{"name":"e","channel":"a","data":"","info":"subscription_count"},"#
        + #"{"name":"e","channel":"b","data":""}]}"#)
    #expect(answer.body == #"{"batch":[{"subscription_count":1},{}]}"#)
    #expect(client.texts().count == 1)
  }

  // MARK: Authentication

  private static let event = #"{"name":"e","channels":["c"],"data":""}"#

  @Test(arguments: [-601, -600, 0, 600, 601])
  func `a timestamp counts for ten minutes`(offset: Int64) {
    let answer = call(
      "POST", "/apps/3/events", body: Self.event, timestamp: Self.now + offset)
    let isFresh = (-600...600).contains(offset)
    #expect(answer.status == (isFresh ? 200 : 401))
    #expect(
      isFresh
        || answer.body
          == "Timestamp expired: Given timestamp (\(Self.now + offset)) not within 600s "
          + "of server time (1353088179)"
    )
  }

  @Test func `a wrong secret is told what had to be signed`() {
    let client = client("1.1", "c")
    let answer = call("POST", "/apps/3/events", body: Self.event, secret: "wrong")
    #expect(answer.status == 401)
    #expect(
      answer.body.hasPrefix(
        #"Invalid signature: you should have sent HmacSHA256Hex("POST\n/apps/3/events\nauth_key="#))
    #expect(!answer.body.contains("7ad3773142a6692b25b8"))
    #expect(client.texts() == [])
  }

  @Test func `what is missing or does not belong together is named`() {
    #expect(
      call("POST", "/apps/3/events", body: Self.event, key: "other")
        == .refusal(401, "Unknown auth_key: this is not the key of app 3"))
    #expect(
      call("POST", "/apps/3/events", body: Self.event, sentBody: "{}").body
        == "Invalid body_md5: the body's MD5 is 99914b932bd37a50b983c5e7c90ae93b")
    #expect(
      call("POST", "/apps/3/events", sentBody: Self.event)
        == .refusal(401, "a call with a body needs body_md5"))
    let bare = HTTPRequestHead(method: "GET", target: "/apps/3/channels")
    #expect(
      APIRouter(applications).answer(
        .init(head: bare), seconds: Self.now, at: Instant(nanoseconds: 0))
        == .refusal(401, "this call needs auth_key and auth_signature"))
  }

  @Test func `unknown apps, paths and methods are told apart`() {
    #expect(call("GET", "/apps/9/channels") == .refusal(404, "Unknown app: 9"))
    #expect(
      call("GET", "/apps/4/channels", key: "off", secret: "s")
        == .refusal(403, "The app is disabled"))
    #expect(call("GET", "/apps/3/nothing").status == 404)
    #expect(call("GET", "/").status == 404)
    #expect(call("GET", "/apps/3/channels/c/users/more").status == 404)
    #expect(
      call("GET", "/apps/3/events")
        == .refusal(405, "GET is not allowed here", allow: "POST"))
    #expect(call("DELETE", "/apps/3/channels").allow == "GET")
  }

  // MARK: Clients and channels

  @Test func `channels are listed, filtered and counted`() {
    let others = [client("1.1", "presence-a", "news"), client("1.2", "presence-a", "private-x")]
    #expect(
      call("GET", "/apps/3/channels").body
        == #"{"channels":{"news":{},"presence-a":{},"private-x":{}}}"#)
    #expect(
      call(
        "GET", "/apps/3/channels",
        [.init("filter_by_prefix", "presence-"), .init("info", "user_count")]
      ).body == #"{"channels":{"presence-a":{"user_count":1}}}"#)
    #expect(
      call("GET", "/apps/3/channels", [.init("info", "user_count")])
        == .refusal(400, "user_count needs a filter_by_prefix that begins with presence-"))
    #expect(others.count == 2)
  }

  @Test func `one channel tells whether it is occupied, and its users`() {
    let other = client("1.1", "presence-a@b,c;d")
    #expect(
      call(
        "GET", "/apps/3/channels/presence-a@b,c;d",
        [.init("info", "user_count,subscription_count")]
      ).body == #"{"occupied":true,"user_count":1,"subscription_count":1}"#)
    #expect(
      call("GET", "/apps/3/channels/presence-a%40b%2Cc%3Bd/users").body
        == #"{"users":[{"id":"u"}]}"#)
    #expect(call("GET", "/apps/3/channels/none").body == #"{"occupied":false}"#)
    #expect(
      call("GET", "/apps/3/channels/none/users")
        == .refusal(400, "only presence channels have users"))
    #expect(
      call("GET", "/apps/3/channels/none", [.init("info", "user_count")])
        == .refusal(400, "only presence channels have a user_count"))
    #expect(call("GET", "/apps/3/channels/a%20b").status == 400)
    #expect(other.session.isFinished == false)
  }

  @Test func `an event for a user, and the end of a user's connections`() {
    let client = signedIn("u@1")
    client.subscribe("#server-to-user-u@1")
    _ = client.texts()
    let sent = call(
      "POST", "/apps/3/users/u%401/events",
      body: #"{"name":"note","data":"1","channels":["news"]}"#)
    #expect(sent.status == 200 && sent.body == "{}")
    #expect(trigger(##"{"name":"e","channels":["#server-to-user-u@1"],"data":"2"}"##).status == 200)
    #expect(
      client.texts() == [
        ##"{"event":"note","channel":"#server-to-user-u@1","data":"1"}"##,
        ##"{"event":"e","channel":"#server-to-user-u@1","data":"2"}"##,
      ])
    #expect(trigger(##"{"name":"e","channels":["#other"],"data":"2"}"##).status == 400)
    #expect(call("POST", "/apps/3/users/u%401/events", body: #"{"name":"e"}"#).status == 400)
    #expect(call("GET", "/apps/3/users/u%401/events").status == 405)
    #expect(call("POST", "/apps/3/users/u%401/terminate_connections", body: "{}").body == "{}")
    guard case .closed(let code, _)? = client.received().last else {
      Issue.record("still open")
      return
    }
    #expect(code == 4009)
  }

  @Test func `a user is let go without an app in the path too, that of the key`() {
    let client = signedIn("u@1")
    let path = "/users/u@1/terminate_connections"
    #expect(call("POST", path, body: "{}", key: "other").status == 404)
    #expect(call("POST", path, body: "{}", secret: "wrong").status == 401)
    #expect(call("POST", path + "/x", body: "{}").status == 404)
    #expect(call("POST", "/users/u@1/events", body: "{}").status == 404)
    #expect(call("GET", path).status == 405)
    #expect(call("POST", path, body: "{}") == .json(.object([])))
    guard case .closed(let code, _)? = client.received().last else {
      Issue.record("still open")
      return
    }
    #expect(code == 4009)
  }

  @Test func `the last event of a cache channel can be asked for`() {
    #expect(trigger(#"{"name":"e","channels":["cache-a"],"data":"1"}"#).status == 200)
    #expect(
      call("GET", "/apps/3/channels/cache-a", [.init("info", "cache")]).body
        == #"{"occupied":false,"cache":{"data":"1","ttl":1800}}"#)
  }
}
