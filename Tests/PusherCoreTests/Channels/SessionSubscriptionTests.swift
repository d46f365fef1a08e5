import PusherCore
import Testing

struct SessionSubscriptionTests {
  private let auth = PusherAuth(auth: "K:S")

  private func asking(
    _ channels: String...
  ) -> (harness: SessionHarness, requests: [AuthorizationRequest]) {
    var harness = SessionHarness(channels: channels)
    let requests = harness.connect().requests
    return (harness, requests)
  }

  private func requested(_ channels: String...) -> SessionHarness {
    var harness = SessionHarness(channels: channels)
    harness.sign(harness.connect().requests)
    return harness
  }

  @Test func `a public channel is subscribed at once on a connection`() {
    var harness = SessionHarness.connected()
    #expect(harness.subscribe("c") == [.subscribe("c")])
    #expect(harness.succeed("c") == [.subscribed("c")])
    #expect(harness.session.isFullySubscribed)
    #expect(harness.session.channels == ["c"])
  }

  @Test func `subscribing twice is subscribing once, in every state`() {
    var harness = SessionHarness(channels: ["c", "c"])
    #expect(harness.connect().count == 3)
    #expect(harness.subscribe("c") == [])
    harness.succeed("c")
    #expect(harness.subscribe("c") == [])
    #expect(harness.session.channels == ["c"])
  }

  @Test(arguments: ["private-c", "presence-c", "private-cache-c"])
  func `a channel with a prefix is signed for the socket first`(channel: String) {
    var (harness, requests) = asking(channel)
    #expect(requests.map { [$0.channel, $0.socketID] } == [[channel, "1.2"]])
    #expect(harness.answer(requests[0], .success(auth)) == [.subscribe(channel, auth: "K:S")])
    #expect(harness.answer(requests[0], .success(auth)) == [])
  }

  @Test func `a confirmation nobody waits for is ignored`() {
    var harness = SessionHarness.connected(channels: ["c"])
    #expect(harness.succeed("other") == [])
    #expect(harness.succeed("c") == [])
    var (asking, _) = asking("private-c")
    #expect(asking.succeed("private-c") == [])
    #expect(!asking.session.isFullySubscribed)
  }

  /// A repeated socket id on the new connection does not make an old answer fresh.
  @Test(arguments: ["3.4", "1.2"])
  func `an answer for an earlier socket is ignored`(socketID: String) {
    var (harness, old) = asking("private-c")
    harness.lose(.network("reset"))
    #expect(harness.answer(old[0], .success(auth)) == [])
    #expect(harness.advance(.seconds(2)) == [.dial])
    #expect(harness.answer(old[0], .success(auth)) == [])
    let fresh = harness.greet(socketID: socketID).requests
    #expect(fresh.map(\.socketID) == [socketID])
    #expect(harness.answer(old[0], .success(auth)) == [])
    #expect(harness.answer(old[0], .failure(.refused(status: 403, "no"))) == [])
    #expect(harness.answer(fresh[0], .success(auth)) == [.subscribe("private-c", auth: "K:S")])
  }

  @Test func `an answer for a channel that was left is ignored`() {
    var (harness, requests) = asking("private-c")
    #expect(harness.unsubscribe("private-c") == [])
    #expect(harness.answer(requests[0], .success(auth)) == [])
  }

  @Test(
    arguments: [
      (AuthorizationFailure.refused(status: 403, "no"), 403, Fault.you),
      (.refused(status: nil, "no"), nil, .you),
      (.unusable("no"), nil, .peer),
    ] as [(AuthorizationFailure, Int?, Fault)])
  func `a refused or useless signature fails the channel, not the session`(
    failure: AuthorizationFailure, status: Int?, fault: Fault
  ) {
    var (harness, requests) = asking("private-c", "d")
    #expect(
      harness.answer(requests[0], .failure(failure)) == [
        .report(
          .subscriptionFailed(
            channel: "private-c",
            SubscriptionFailure(type: "AuthError", message: "no", status: status, fault: fault)))
      ])
    #expect(harness.succeed("d").events.count == 1)
    #expect(!harness.session.isFullySubscribed)
    #expect(harness.renew(socketID: "3.4").requests.map(\.channel) == ["private-c"])
  }

  @Test(arguments: [(503, Fault.peer), (nil, .network)] as [(Int?, Fault)])
  func `a signer out of reach is asked three times with waits`(status: Int?, fault: Fault) throws {
    var (harness, requests) = asking("private-c")
    for upper in [2, 4] {
      let outputs = harness.answer(requests[0], .failure(.unavailable(status: status, "busy")))
      let delay = try #require(outputs.questionDelay)
      #expect(
        outputs == [
          .report(.authorizationDelayed(channel: "private-c", reason: "busy", retryIn: delay))
        ])
      #expect(delay >= .seconds(1) && delay <= .seconds(upper))
      #expect(harness.advance(delay - .nanoseconds(1)) == [])
      requests = harness.advance(.nanoseconds(1)).requests
      #expect(requests.map(\.channel) == ["private-c"])
    }
    #expect(
      harness.answer(requests[0], .failure(.unavailable(status: status, "busy"))).failures == [
        SubscriptionFailure(type: "AuthError", message: "busy", status: status, fault: fault)
      ])
    #expect(harness.advance(.seconds(60)).requests.isEmpty)
  }

  @Test func `a channel that was joined before waits for its signer as long as it takes`() throws {
    var harness = SessionHarness.joined("private-c")
    var requests = harness.renew(socketID: "3.4").requests
    for _ in 0..<50 {
      let outputs = harness.answer(requests[0], .failure(.unavailable(status: 503, "deploy")))
      requests = harness.advance(try #require(outputs.questionDelay)).requests
      harness.session.noteActivity(at: harness.now)
    }
    harness.answer(requests[0], .success(auth))
    #expect(harness.succeed("private-c").events.count == 2, "joined again, and the gap")
  }

  @Test func `a delayed question dies with its connection`() {
    var (harness, requests) = asking("private-c")
    harness.answer(requests[0], .failure(.unavailable(status: nil, "busy")))
    harness.lose(.closed(code: 4100, reason: ""))
    #expect(harness.advance(.seconds(1)).requests.isEmpty)
  }

  @Test func `a subscription without an answer fails after the time of a connection`() {
    var harness = requested("c")
    #expect(harness.advance(.seconds(10) - .nanoseconds(1)) == [])
    #expect(
      harness.advance(.nanoseconds(1)).failures == [
        SubscriptionFailure(type: "Timeout", message: "no answer within 10 s", fault: .network)
      ])
    #expect(harness.advance(.seconds(60)) == [])
  }

  @Test func `soketi's refusal names the channel`() {
    var harness = requested("private-a", "private-b")
    let text =
      #"{"event":"pusher:subscription_error","channel":"private-b","data":{"type":"AuthError","error":"no","status":401}}"#
    #expect(
      harness.receive(text) == [
        .report(
          .subscriptionFailed(
            channel: "private-b",
            SubscriptionFailure(type: "AuthError", message: "no", status: 401)))
      ])
    #expect(harness.receive(text) == [])
    #expect(harness.succeed("private-a").events.count == 1)
    #expect(harness.receive(text.replacing("private-b", with: "private-a")) == [])
  }

  @Test func `Reverb's 4009 without a channel means the first question without an answer`() {
    var harness = requested("c", "private-a", "private-b", "private-d")
    harness.succeed("private-a")
    let failed = [(4009, "no"), (4200, "Invalid message format"), (4009, "no"), (4009, "no")].map {
      harness.error(code: $0, $1).failedChannels
    }
    #expect(failed == [["private-b"], [], ["private-d"], []])
    #expect(harness.succeed("c").events.count == 1)
  }

  /// Answers each text with an error; returns the channels that it refused.
  private func refused(_ harness: inout SessionHarness, _ texts: [String]) -> [[String]] {
    texts.map { harness.error(code: nil, $0).failedChannels }
  }

  @Test func `Pusher's text about a signature names the channel, also a longer one`() {
    var harness = requested("private-a", "private-ab", "presence-p")
    func text(_ channel: String) -> String {
      "Invalid signature: Expected HMAC SHA256 hex digest of 1.2:\(channel), but got 00"
    }
    let failure = harness.error(code: nil, text("private-ab")).failures.first
    #expect(failure?.type == "AuthError" && failure?.status == 401)
    let texts = [
      text("presence-p:{}"), "Existing subscription to channel private-a", text("private-a"),
      text("private-a"),
    ]
    #expect(refused(&harness, texts) == [["presence-p"], [], ["private-a"], []])
  }

  @Test func `ipe's text names the channel, as a whole word and the longest of several`() {
    var harness = requested("private-a", "private-a.", "private-ab")
    let names = [
      "private-abc", "xprivate-a", "private-a.", "private-a.,",
      "private-a, which is not private-ab,", "private-ab",
    ]
    #expect(
      refused(&harness, names.map { "Auth value for subscription to \($0) is invalid" })
        == [[], [], ["private-a."], ["private-a"], ["private-ab"], []])
  }

  @Test func `a text that may be a refusal explains why no answer came, and is no other's`() {
    var harness = requested("private-a", "private-b", "news")
    harness.error(code: nil, "Existing subscription to channel private-b")
    harness.error(code: nil, "Server is tired")
    let failures = harness.advance(.seconds(10)).failures
    #expect(failures.map(\.type) == ["Timeout", "Timeout", "SubscriptionError"])
    #expect(
      failures.last?.message
        == "no confirmation within 10 s; the server said: Existing subscription to channel private-b"
    )
  }

  @Test func `what was said of a question on an earlier connection explains nothing on this one`() {
    var harness = requested("private-a")
    harness.error(code: nil, "tired")
    harness.sign(harness.renew(socketID: "3.4").requests)
    #expect(harness.advance(.seconds(10)).failures.map(\.type) == ["Timeout"])
  }

  @Test func `sockudo's error names the channel beside its data`() {
    var harness = requested("private-a", "private-b")
    let text =
      #"{"event":"pusher:error","channel":"private-b","data":{"code":4009,"message":"no"}}"#
    #expect(harness.receive(text).failures.count == 1)
    #expect(harness.succeed("private-a").events.count == 1)
    #expect(harness.receive(text).failures.isEmpty)
  }

  @Test func `leaving a channel is said to the server only when it was asked to join`() {
    var before = SessionHarness(channels: ["c"])
    #expect(before.unsubscribe("c") == [])
    #expect(before.connect().count == 2)

    var unanswered = requested("c")
    #expect(unanswered.unsubscribe("c") == [.unsubscribe("c")])
    #expect(unanswered.succeed("c") == [])

    var joined = SessionHarness.connected(channels: ["c"])
    #expect(joined.unsubscribe("c") == [.unsubscribe("c")])
    #expect(joined.unsubscribe("c") == [])
    #expect(joined.session.channels == [])

    var (delayed, requests) = asking("private-c")
    delayed.answer(requests[0], .failure(.unavailable(status: nil, "busy")))
    #expect(delayed.unsubscribe("private-c") == [])
    #expect(delayed.advance(.seconds(5)) == [])

    var failed = requested("c")
    failed.advance(.seconds(10))
    #expect(failed.unsubscribe("c") == [])
    #expect(failed.subscribe("c") == [.subscribe("c")])

    var lost = SessionHarness.connected(channels: ["c"])
    lost.lose(.network("reset"))
    #expect(lost.unsubscribe("c") == [])
    #expect(lost.unsubscribe("unknown") == [])

    var ended = SessionHarness.connected(channels: ["c"])
    ended.disconnect()
    #expect(ended.unsubscribe("c") == [])
  }
}

struct SessionPresenceTests {
  private let auth = PusherAuth(auth: "K:S", channelData: "{}")

  private func member(_ id: String, _ info: JSONValue = .null) -> PusherPresenceChannelMember {
    PusherPresenceChannelMember(userId: id, userInfo: info)
  }

  private func join(_ harness: inout SessionHarness, _ presence: String) -> [SessionOutput] {
    harness.answer(harness.greet().requests[0], .success(auth))
    return harness.succeed("presence-c", presence: presence)
  }

  private func joined(_ presence: String) -> (SessionHarness, [SessionOutput]) {
    var harness = SessionHarness(channels: ["presence-c"])
    harness.dial()
    let outputs = join(&harness, presence)
    return (harness, outputs)
  }

  @Test func `members come and go, also ones never seen`() {
    var (harness, outputs) = joined(#"{"ids":["1"],"hash":{"1":{"n":"A"}},"count":1}"#)
    let first = member("1", .object([.init("n", .string("A"))]))
    #expect(outputs.roster?.members == [first])
    func told(_ name: String, _ data: String) -> [SessionEvent] {
      harness.receive(
        #"{"event":"pusher_internal:\#(name)","channel":"presence-c","data":"\#(data)"}"#
      ).events
    }
    #expect(
      told("member_added", #"{\"user_id\":2,\"user_info\":true}"#)
        == [.memberAdded(channel: "presence-c", member("2", .bool(true)))])
    #expect(
      told("member_removed", #"{\"user_id\":\"1\"}"#)
        == [.memberRemoved(channel: "presence-c", first)])
    #expect(
      told("member_removed", #"{\"user_id\":\"9\"}"#)
        == [.memberRemoved(channel: "presence-c", member("9"))])
  }

  @Test func `after a loss the roster is replaced, and who came and went meanwhile is told`() {
    var (harness, _) = joined(#"{"ids":["1","2"],"hash":{"1":{},"2":{}},"count":2}"#)
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    let outputs = join(&harness, #"{"ids":["2","3"],"hash":{"2":{},"3":{}},"count":2}"#)
    #expect(outputs.roster?.members.map(\.userId) == ["2", "3"])
    #expect(
      Array(outputs.events.dropFirst()) == [
        .memberRemoved(channel: "presence-c", member("1", .object([]))),
        .memberAdded(channel: "presence-c", member("3", .object([]))),
        .gap(from: Instant(nanoseconds: 0), to: harness.now),
      ])
    // Nothing from the old list may be reported a second time.
    harness.lose(.network("reset"))
    harness.advance(.seconds(4))
    let again = join(&harness, #"{"ids":["2","3"],"hash":{"2":{},"3":{}},"count":2}"#)
    #expect(again.count == 2)
  }

  @Test func `a second confirmation on the same connection tells only the difference`() {
    var (harness, _) = joined(#"{"ids":["1"],"hash":{"1":{}},"count":1}"#)
    #expect(
      harness.succeed(
        "presence-c", presence: #"{"ids":["1","2"],"hash":{"1":{},"2":null},"count":2}"#)
        == [.report(.memberAdded(channel: "presence-c", member("2")))])
  }

  @Test(arguments: ["[]", "null", #"{"ids":[],"hash":[],"count":0}"#])
  func `an empty presence channel has an empty roster, as PHP writes it, too`(presence: String) {
    #expect(
      joined(presence).1.events
        == [.subscribed(channel: "presence-c", presence: PresenceRoster())])
  }
}
