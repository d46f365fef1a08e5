import PusherCore
import Testing

@Suite struct SessionSubscriptionTests {
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
    for request in harness.connect().requests { harness.answer(request, .success(auth)) }
    return harness
  }

  @Test func `a public channel is subscribed at once on a connection`() {
    var harness = SessionHarness.connected()
    #expect(
      harness.perform { $0.subscribe("c", at: $1) } == [SessionHarness.subscribe("c")])
    #expect(harness.succeed("c") == [.report(.subscribed(channel: "c", presence: nil))])
    #expect(harness.session.isFullySubscribed)
    #expect(harness.session.channels == ["c"])
  }

  @Test func `subscribing twice is subscribing once, in every state`() {
    var harness = SessionHarness(channels: ["c", "c"])
    #expect(harness.connect().count == 3)
    #expect(harness.perform { $0.subscribe("c", at: $1) } == [])
    harness.succeed("c")
    #expect(harness.perform { $0.subscribe("c", at: $1) } == [])
    #expect(harness.session.channels == ["c"])
  }

  @Test(arguments: ["private-c", "presence-c", "private-cache-c"])
  func `a channel with a prefix is signed for the socket first`(channel: String) {
    var (harness, requests) = asking(channel)
    #expect(requests.map(\.channel) == [channel])
    #expect(requests.map(\.socketID) == ["1.2"])
    #expect(
      harness.answer(requests[0], .success(auth)) == [
        SessionHarness.subscribe(channel, auth: "K:S")
      ])
    #expect(harness.answer(requests[0], .success(auth)) == [])
  }

  @Test func `soketi's confirmation without data counts`() {
    var harness = SessionHarness(channels: ["c"])
    harness.connect()
    #expect(
      harness.receive(#"{"event":"pusher_internal:subscription_succeeded","channel":"c"}"#)
        == [.report(.subscribed(channel: "c", presence: nil))])
  }

  @Test func `a confirmation nobody waits for is ignored`() {
    var harness = SessionHarness.connected(channels: ["c"])
    #expect(harness.succeed("other") == [])
    #expect(harness.succeed("c") == [])
    var (asking, _) = asking("private-c")
    #expect(asking.succeed("private-c") == [])
    #expect(!asking.session.isFullySubscribed)
  }

  @Test func `an answer for an earlier socket is ignored`() {
    var (harness, old) = asking("private-c")
    harness.lose(.network("reset"))
    #expect(harness.answer(old[0], .success(auth)) == [])
    #expect(harness.advance(.seconds(2)) == [.dial])
    #expect(harness.answer(old[0], .success(auth)) == [])
    let fresh = harness.greet(socketID: "3.4").requests
    #expect(fresh.map(\.socketID) == ["3.4"])
    #expect(harness.answer(old[0], .success(auth)) == [])
    #expect(harness.answer(old[0], .failure(.refused(status: 403, "no"))) == [])
    #expect(
      harness.answer(fresh[0], .success(auth)) == [
        SessionHarness.subscribe("private-c", auth: "K:S")
      ])
  }

  @Test func `a repeated socket id on a new connection does not make an old answer fresh`() {
    var (harness, old) = asking("private-c")
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    harness.greet(socketID: "1.2")
    #expect(harness.answer(old[0], .success(auth)) == [])
  }

  @Test func `an answer for a channel that was left is ignored`() {
    var (harness, requests) = asking("private-c")
    #expect(harness.perform { $0.unsubscribe("private-c", at: $1) } == [])
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
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    #expect(harness.greet(socketID: "3.4").requests.map(\.channel) == ["private-c"])
  }

  @Test(arguments: [(503, Fault.peer), (nil, .network)] as [(Int?, Fault)])
  func `a signer out of reach is asked three times, with a wait between`(
    status: Int?, fault: Fault
  ) throws {
    var (harness, requests) = asking("private-c")
    for upper in [2, 4] {
      let outputs = harness.answer(requests[0], .failure(.unavailable(status: status, "busy")))
      guard case .authorizationDelayed("private-c", "busy", let delay) = outputs.events.first else {
        Issue.record("\(outputs)")
        return
      }
      #expect(outputs.count == 1)
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

  @Test func `a channel that was joined before waits for its signer as long as it takes`() {
    var harness = requested("private-c")
    harness.succeed("private-c")
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    var requests = harness.greet(socketID: "3.4").requests
    for _ in 0..<50 {
      let outputs = harness.answer(requests[0], .failure(.unavailable(status: 503, "deploy")))
      guard case .authorizationDelayed(_, _, let delay) = outputs.events.first else {
        Issue.record("\(outputs)")
        return
      }
      requests = harness.advance(delay).requests
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
    var harness = SessionHarness(channels: ["c"])
    harness.connect()
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
    let failed = { (outputs: [SessionOutput]) in
      outputs.events.compactMap {
        if case .subscriptionFailed(let channel, _) = $0 { channel } else { nil }
      }
    }
    #expect(failed(harness.error(code: 4009)) == ["private-b"])
    #expect(failed(harness.error(code: 4200, "Invalid message format")) == [])
    #expect(failed(harness.error(code: 4009)) == ["private-d"])
    #expect(failed(harness.error(code: 4009)) == [])
    #expect(harness.succeed("c").events.count == 1)
  }

  @Test
  func `Pusher's text about a signature names the channel, also one that begins like another`() {
    var harness = requested("private-a", "private-ab", "presence-p")
    let text = { (channel: String) in
      "Invalid signature: Expected HMAC SHA256 hex digest of 1.2:\(channel), but got 00"
    }
    let failed = { (outputs: [SessionOutput]) in
      outputs.events.compactMap {
        if case .subscriptionFailed(let channel, let failure) = $0 {
          "\(channel) \(failure.type) \(failure.status ?? 0)"
        } else {
          nil
        }
      }
    }
    #expect(failed(harness.error(code: nil, text("private-ab"))) == ["private-ab AuthError 401"])
    #expect(failed(harness.error(code: nil, text("presence-p:{}"))) == ["presence-p AuthError 401"])
    #expect(failed(harness.error(code: nil, "Existing subscription to channel private-a")) == [])
    #expect(failed(harness.error(code: nil, text("private-a"))) == ["private-a AuthError 401"])
    #expect(failed(harness.error(code: nil, text("private-a"))) == [])
  }

  @Test func `ipe's text names the channel, as a whole word and the longest of several`() {
    var harness = requested("private-a", "private-a.", "private-ab")
    let text = { (channel: String) in "Auth value for subscription to \(channel) is invalid" }
    let failed = { (outputs: [SessionOutput]) in
      outputs.events.compactMap {
        if case .subscriptionFailed(let channel, _) = $0 { channel } else { nil }
      }
    }
    #expect(failed(harness.error(code: nil, text("private-abc"))) == [])
    #expect(failed(harness.error(code: nil, text("xprivate-a"))) == [])
    #expect(failed(harness.error(code: nil, text("private-a."))) == ["private-a."])
    #expect(failed(harness.error(code: nil, text("private-a.,"))) == ["private-a"])
    #expect(
      failed(harness.error(code: nil, text("private-a, which is not private-ab,")))
        == ["private-ab"])
    #expect(failed(harness.error(code: nil, text("private-ab"))) == [])
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
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    for request in harness.greet(socketID: "3.4").requests {
      harness.answer(request, .success(auth))
    }
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
    #expect(before.perform { $0.unsubscribe("c", at: $1) } == [])
    #expect(before.connect().count == 2)

    var requested = SessionHarness(channels: ["c"])
    requested.connect()
    #expect(
      requested.perform { $0.unsubscribe("c", at: $1) } == [SessionHarness.unsubscribe("c")])
    #expect(requested.succeed("c") == [])

    var joined = SessionHarness.connected(channels: ["c"])
    #expect(joined.perform { $0.unsubscribe("c", at: $1) } == [SessionHarness.unsubscribe("c")])
    #expect(joined.perform { $0.unsubscribe("c", at: $1) } == [])
    #expect(joined.session.channels == [])

    var (delayed, requests) = asking("private-c")
    delayed.answer(requests[0], .failure(.unavailable(status: nil, "busy")))
    #expect(delayed.perform { $0.unsubscribe("private-c", at: $1) } == [])
    #expect(delayed.advance(.seconds(5)) == [])

    var failed = SessionHarness(channels: ["c"])
    failed.connect()
    failed.advance(.seconds(10))
    #expect(failed.perform { $0.unsubscribe("c", at: $1) } == [])
    #expect(failed.perform { $0.subscribe("c", at: $1) } == [SessionHarness.subscribe("c")])

    var lost = SessionHarness.connected(channels: ["c"])
    lost.lose(.network("reset"))
    #expect(lost.perform { $0.unsubscribe("c", at: $1) } == [])
    #expect(lost.perform { $0.unsubscribe("unknown", at: $1) } == [])

    var ended = SessionHarness.connected(channels: ["c"])
    _ = ended.perform { $0.disconnect(at: $1) }
    #expect(ended.perform { $0.unsubscribe("c", at: $1) } == [])
  }
}

@Suite struct SessionPresenceTests {
  private let auth = PusherAuth(auth: "K:S", channelData: "{}")

  private func member(_ id: String, _ info: JSONValue = .null) -> PusherPresenceChannelMember {
    PusherPresenceChannelMember(userId: id, userInfo: info)
  }

  private func join(_ harness: inout SessionHarness, _ presence: String) -> [SessionEvent] {
    let requests = harness.greet(socketID: "1.2").requests
    harness.answer(requests[0], .success(auth))
    return harness.succeed("presence-c", presence: presence).events
  }

  private func joined(_ presence: String) -> SessionHarness {
    var harness = SessionHarness(channels: ["presence-c"])
    _ = harness.perform { $0.connect(at: $1) }
    _ = join(&harness, presence)
    return harness
  }

  @Test func `a presence channel is joined with its members`() {
    var harness = SessionHarness(channels: ["presence-c"])
    _ = harness.perform { $0.connect(at: $1) }
    let events = join(&harness, #"{"ids":["1"],"hash":{"1":{"n":"A"}},"count":1}"#)
    guard case .subscribed("presence-c", let roster?) = events.first else {
      Issue.record("\(events)")
      return
    }
    #expect(roster.members == [member("1", .object([.init("n", .string("A"))]))])
  }

  @Test func `members come and go, also ones never seen`() {
    var harness = joined(#"{"ids":["1"],"hash":{"1":{"n":"A"}},"count":1}"#)
    let event = { (name: String, data: String) in
      #"{"event":"pusher_internal:\#(name)","channel":"presence-c","data":"\#(data)"}"#
    }
    #expect(
      harness.receive(event("member_added", #"{\"user_id\":2,\"user_info\":true}"#))
        == [.report(.memberAdded(channel: "presence-c", member("2", .bool(true))))])
    #expect(
      harness.receive(event("member_removed", #"{\"user_id\":\"1\"}"#))
        == [
          .report(
            .memberRemoved(channel: "presence-c", member("1", .object([.init("n", .string("A"))]))))
        ])
    #expect(
      harness.receive(event("member_removed", #"{\"user_id\":\"9\"}"#))
        == [.report(.memberRemoved(channel: "presence-c", member("9")))])
  }

  @Test func `after a loss the roster is replaced, and who came and went meanwhile is told`() {
    var harness = joined(#"{"ids":["1","2"],"hash":{"1":{},"2":{}},"count":2}"#)
    harness.lose(.network("reset"))
    harness.advance(.seconds(2))
    let events = join(&harness, #"{"ids":["2","3"],"hash":{"2":{},"3":{}},"count":2}"#)
    guard case .subscribed("presence-c", let roster?) = events.first else {
      Issue.record("\(events)")
      return
    }
    #expect(roster.members.map(\.userId) == ["2", "3"])
    #expect(
      Array(events.dropFirst()) == [
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
    var harness = joined(#"{"ids":["1"],"hash":{"1":{}},"count":1}"#)
    #expect(
      harness.succeed(
        "presence-c", presence: #"{"ids":["1","2"],"hash":{"1":{},"2":null},"count":2}"#)
        == [.report(.memberAdded(channel: "presence-c", member("2")))])
  }

  @Test(arguments: ["[]", "null", #"{"ids":[],"hash":[],"count":0}"#])
  func `an empty presence channel has an empty roster, as PHP writes it, too`(presence: String) {
    var harness = SessionHarness(channels: ["presence-c"])
    _ = harness.perform { $0.connect(at: $1) }
    #expect(
      join(&harness, presence) == [.subscribed(channel: "presence-c", presence: PresenceRoster())])
  }
}
