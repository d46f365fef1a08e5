import TestSupport
import Testing

@testable import PusherCore

/// A `pusher:error` with code 4301 is a rate limit only if its words say so.
struct ErrorSubjectTests {
  private static let off = "The app does not have client messaging enabled."

  @Test(
    arguments: [
      // Reverb
      (4301, "Rate limit exceeded", .rateLimit), (4301, off, .clientEvent),
      (4009, "The client is not a member of the specified channel.", .clientEvent),
      (4200, "Invalid message format", .other), (4201, "Pong reply not received in time", .other),
      // soketi
      (4301, "The rate limit for sending client events exceeded the quota.", .rateLimit),
      (4301, "Event name is too long. Maximum allowed size is 200.", .clientEvent),
      (4301, "The event data should be less than 100 KB.", .clientEvent),
      // Pusher
      (4301, "Client event rejected due to rate limit", .rateLimit),
      (
        nil, "Client event rejected - only supported on private and presence channels", .clientEvent
      ),
      (
        nil,
        "To send client events, you must enable this feature in the Settings page of your dashboard.",
        .clientEvent
      ),
      // Others
      (4301, "too fast", .rateLimit), (4301, "Too many messages", .rateLimit),
      (4301, "", .clientEvent), (nil, "", .other), (4009, "Rate limit of signatures", .other),
    ] as [(Int?, String, ErrorSubject)])
  func `an error's words tell its subject`(code: Int?, message: String, subject: ErrorSubject) {
    #expect(ErrorSubject(code: code, message: message) == subject)
    guard let code else { return }
    #expect(ErrorSubject(.closed(code: code, reason: message)) == subject)
  }

  /// A session on one private channel, with another channel unanswered, after a client event.
  private func whispering(_ other: String = "b") throws -> SessionHarness {
    var harness = SessionHarness(channels: ["private-a", other])
    harness.sign(harness.connect().requests)
    harness.succeed("private-a")
    let event = try ClientEvent(channel: "private-a", name: "client-x", data: .null)
    _ = harness.perform { _ = $0.trigger(event, at: $1) }
    return harness
  }

  @Test func `a refused client event holds no subscription, and is no rate limit`() throws {
    var harness = try whispering()
    #expect(
      harness.error(code: 4301, Self.off).events == [
        .error(code: 4301, message: Self.off), .clientEventRefused(message: Self.off),
      ])
    #expect(harness.succeed("b") == [.subscribed("b")])
    #expect(harness.advance(.seconds(100)).events.isEmpty)
    #expect(harness.lose(.network("gone")).loss == .init(loss: .network("gone"), code: nil))
  }

  @Test func `a sign-in that waits for its answer is not held by a refused client event`() throws {
    var harness = try whispering()
    harness.succeed("b")
    let request = try #require(harness.signIn().requests.first)
    let user = Authorization(PusherUserAuth(auth: "K:S", userData: #"{"id":"7"}"#))
    _ = harness.perform { $0.authorized(request, .success(user), at: $1) }
    #expect(
      harness.error(code: 4301, Self.off).events.last == .clientEventRefused(message: Self.off))
    #expect(harness.session.signIn.state.isRequested)
  }

  @Test func `each refusal counts for one client event that was sent`() throws {
    var harness = try whispering()
    let refusal = SessionEvent.clientEventRefused(message: Self.off)
    let named =
      #"{"event":"pusher:error","channel":"private-a","data":{"code":4301,"message":"\#(Self.off)"}}"#
    #expect(harness.receive(named).events.last == refusal)
    #expect(!harness.receive(named).events.contains(refusal))
  }

  @Test func `a member that the server does not know is no refusal of another channel`() throws {
    var harness = try whispering("private-b")
    let words = "The client is not a member of the specified channel."
    let outputs = harness.error(code: 4009, words)
    #expect(outputs.failures.isEmpty)
    #expect(outputs.events.last == .clientEventRefused(message: words))
  }
}
