import PusherCore
import TestSupport
import Testing

struct `Session: the page on authenticating users` {
  private static let user = PusherUserAuth(auth: "k:s", userData: #"{"id":"7"}"#)
  private static let signIn = SessionOutput.send(
    #"{"event":"pusher:signin","data":{"auth":"k:s","user_data":"{\"id\":\"7\"}"}}"#)
  private static let success =
    #"{"event":"pusher:signin_success","data":{"user_data":"{\"id\":\"7\"}"}}"#

  private func harness(
    _ channels: [String] = ["a"], _ options: SessionOptions = SessionOptions()
  ) -> SessionHarness {
    var harness = SessionHarness(options, channels: channels)
    _ = harness.signIn()
    return harness
  }

  private func question(in outputs: [SessionOutput]) throws -> AuthorizationRequest {
    for case .authorize(let request) in outputs where request.channel == nil { return request }
    throw Missing()
  }

  private struct Missing: Error {}

  private func answer(
    _ harness: inout SessionHarness, _ request: AuthorizationRequest,
    _ result: Result<PusherUserAuth, AuthorizationFailure> = .success(user)
  ) -> [SessionOutput] {
    harness.perform { $0.authorized(request, result.map(Authorization.init), at: $1) }
  }

  private func asking(_ channels: [String] = ["a"]) throws -> SessionHarness {
    var harness = harness(channels)
    let request = try question(in: harness.connect())
    #expect(request.socketID == "1.2")
    #expect(answer(&harness, request) == [Self.signIn])
    return harness
  }

  @Test func `the user signs in before the channels, and has a channel too`() throws {
    var harness = try asking(["a", "b"])
    #expect(!harness.session.isFullySubscribed)
    let outputs = harness.receive(Self.success)
    let userData = JSONValue.object([.init("id", .string("7"))])
    #expect(
      outputs == [
        .report(.signedIn(userID: "7", userData: userData)),
        .subscribe("#server-to-user-7"), .subscribe("a"),
        .subscribe("b"),
      ])
    for channel in ["a", "b", "#server-to-user-7"] { harness.succeed(channel) }
    #expect(harness.session.isFullySubscribed)
  }

  @Test func `every connection is signed in anew, with a fresh signature`() throws {
    var harness = try asking([])
    harness.receive(Self.success)
    harness.succeed("#server-to-user-7")
    harness.advance(.seconds(10))
    harness.lose(.network("gone"))
    harness.advance(.seconds(2))
    let request = try question(in: harness.greet(socketID: "3.4"))
    #expect(request.socketID == "3.4")
    #expect(answer(&harness, request) == [Self.signIn])
    #expect(harness.receive(Self.success).contains(.subscribe("#server-to-user-7")))
    let start = Instant(nanoseconds: 0)
    #expect(harness.succeed("#server-to-user-7").events.last == .gap(from: start, to: harness.now))
    // Another user has another channel.
    harness.advance(.seconds(10))
    _ = answer(&harness, try question(in: harness.renew()))
    harness.receive(#"{"event":"pusher:signin_success","data":{"user_data":"{\"id\":8}"}}"#)
    #expect(harness.session.channels == ["#server-to-user-8"])
  }

  @Test func `an answer for an earlier connection counts for nothing`() throws {
    var harness = harness()
    let request = try question(in: harness.connect())
    harness.lose(.network("gone"))
    #expect(answer(&harness, request).isEmpty)
    harness.advance(.seconds(2))
    harness.greet()
    #expect(answer(&harness, request).isEmpty)
  }

  @Test(arguments: [
    (AuthorizationFailure.refused(status: 403, "no"), Fault.you, Int?(403)),
    (.unusable("not JSON"), .peer, nil),
  ])
  func `a refused question fails the sign-in, and the channels are joined without it`(
    failure: AuthorizationFailure, fault: Fault, status: Int?
  ) throws {
    var harness = harness()
    let request = try question(in: harness.connect())
    let outputs = answer(&harness, request, .failure(failure))
    #expect(
      outputs == [
        .report(
          .signInFailed(
            SubscriptionFailure(
              type: "AuthError", message: failure.reason, status: status, fault: fault))),
        .subscribe("a"),
      ])
    harness.succeed("a")
    #expect(!harness.session.isFullySubscribed)
  }

  @Test func `a signer that is out of reach is asked three times`() throws {
    var harness = harness()
    var outputs = harness.connect()
    for round in 0..<3 {
      if round > 0 {
        guard case .signInDelayed("down", _) = outputs.events.first else {
          Issue.record("\(outputs)")
          return
        }
        outputs = harness.advance(.seconds(5))
      }
      outputs = answer(
        &harness, try question(in: outputs), .failure(.unavailable(status: nil, "down")))
    }
    #expect(outputs.signInFailure?.fault == .network)
  }

  @Test(arguments: [
    #"{"event":"pusher:error","data":{"code":4009,"message":"Connection not authorized."}}"#,
    #"{"event":"pusher:error","data":{"code":null,"message":"Invalid signature: 1.2::user::{}"}}"#,
    #"{"event":"pusher:signin_error","data":{"error":"no","status":401}}"#,
  ])
  func `the server's refusal is the sign-in's, not a channel's`(message: String) throws {
    var harness = try asking(["private-a"])
    let outputs = harness.receive(message)
    #expect(outputs.signInFailure?.status == 401 && outputs.signInFailure?.fault == .you)
    #expect(outputs.requests.map(\.channel) == ["private-a"])
  }

  @Test func `a server that knows no sign-in says so`() throws {
    var harness = try asking()
    let failure = harness.error(code: 4200, "Unknown event").signInFailure
    #expect(failure?.message == "Unknown event" && failure?.fault == .peer)
  }

  @Test func `an unanswered sign-in is given up after the time for a connection`() throws {
    var harness = try asking()
    let outputs = harness.advance(.seconds(10))
    #expect(
      outputs.signInFailure
        == SubscriptionFailure(type: "Timeout", message: "no answer within 10 s", fault: .network))
    #expect(outputs.contains(.subscribe("a")))
  }

  @Test func `an answer that names no user is a failure`() throws {
    var harness = try asking()
    let outputs = harness.receive(#"{"event":"pusher:signin_success","data":{}}"#)
    #expect(outputs.signInFailure != nil)
  }

  @Test func `a sign-in on a running connection leaves its channels alone`() throws {
    var harness = SessionHarness.connected(channels: ["a"])
    let request = try question(in: harness.signIn())
    #expect(answer(&harness, request) == [Self.signIn])
    let outputs = harness.receive(Self.success)
    #expect(!outputs.contains(.subscribe("a")))
    #expect(harness.signIn().isEmpty)
  }

  @Test func `the watchlist's users who come and go are reported, and nothing else`() {
    var harness = SessionHarness.connected()
    let outputs = harness.receive(
      #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":["#
        + #"{\"name\":\"online\",\"user_ids\":[\"a\",2]},{\"name\":\"offline\",\"user_ids\":[\"c\"]},"#
        + #"{\"name\":\"asleep\",\"user_ids\":[\"d\"]},{\"name\":\"online\",\"user_ids\":[]}]}"}"#)
    #expect(
      outputs.events == [
        .watchlist(.init(name: "online", userIds: ["a", "2"])),
        .watchlist(.init(name: "offline", userIds: ["c"])),
      ])
  }

  @Test func `an error about the rate of client events ends and explains nothing`() {
    var harness = SessionHarness.connected(channels: ["a"])
    let outputs = harness.receive(
      #"{"event":"pusher:error","channel":"a","data":{"code":4301,"message":"too fast"}}"#)
    #expect(outputs == [.report(.error(code: 4301, message: "too fast"))])
    #expect(harness.lose(.network("gone")).loss == .init(loss: .network("gone"), code: nil))
  }
}
