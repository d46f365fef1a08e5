import Foundation
import PusherCore
import PusherServer
import TestSupport
import Testing

/// Sign-in, user events and the watchlist.
///
/// Source: Pusher's page "Authenticating users".
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `The user of a client` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  private func pusher(_ method: UserAuthMethod, _ delegate: RecordingDelegate? = nil) -> Pusher {
    service.pusher(delegate: delegate ?? self.delegate) { $0.userAuthMethod = method }
  }

  private func inline(_ userData: JSONValue) -> UserAuthMethod {
    .inline(secret: Application.forTests().secret, userData: userData)
  }

  private static func answer(_ request: LocalEndpoint.Request) -> (Int, String) {
    let data = #"{"id":"7","user_info":{"n":1}}"#
    return (200, LocalService.signUser(request.form["socket_id"] ?? "", data).jsonText)
  }

  @Test func `signIn signs the user in, and the user's data is known`() async throws {
    let pusher = pusher(inline(["id": "7", "user_info": ["name": "Ada"]]))
    let told = Gathered<String?>()
    pusher.bind(eventName: "pusher:signin_success") { told.add($0.data) }
    pusher.signIn()
    #expect(!pusher.user.isSignedIn)
    pusher.connect()
    let data = #"{"id":"7","user_info":{"name":"Ada"}}"#
    #expect(try await delegate.signedIn.wait() == ["7 \(data)"])
    #expect(pusher.user.isSignedIn && pusher.user.userId == "7")
    #expect(pusher.user.userData?["user_info"]?["name"] == "Ada")
    #expect(
      try await told.wait() == [JSONValue.object([.init("user_data", .string(data))]).jsonText])
    #expect(delegate.subscribed.values.isEmpty)
  }

  @Test func `events for the user reach the handlers of user`() async throws {
    let pusher = pusher(inline(["id": "7"]))
    let named = Gathered<PusherEvent>()
    let all = Gathered<String>()
    let everywhere = Gathered<String>()
    let binding = pusher.user.bind(eventName: "paid") { named.add($0) }
    pusher.user.bind { all.add($0.eventName) }
    pusher.bind(eventName: "paid") { everywhere.add($0.channelName ?? "") }
    pusher.connect()
    pusher.user.signIn()
    _ = try await delegate.signedIn.wait()
    while try await service.api.channels()["#server-to-user-7"] == nil { await Task.yield() }
    try await service.api.sendToUser("7", "paid", data: #"{"n":1}"#)
    #expect(try await named.wait().first?.data == #"{"n":1}"#)
    #expect(try await everywhere.wait() == ["#server-to-user-7"])
    #expect(pusher.user.removeBinding(binding))
    try await service.api.sendToUser("7", "other", data: "{}")
    try await all.wait { $0.contains("other") }
    try await service.api.sendToUser("7", "paid", data: "{}")
    try await all.wait { $0.count { $0 == "paid" } == 2 }
    #expect(named.values.count == 1)
  }

  @Test func `the watchlist tells who is online and who goes offline`() async throws {
    let pusher = pusher(inline(["id": "7", "watchlist": ["8"]]))
    let changes = Gathered<PusherWatchlistEvent>()
    let online = Gathered<[String]>()
    pusher.user.watchlist.bind { changes.add($0) }
    pusher.user.watchlist.bind(eventName: "online") { online.add($0.userIds) }
    pusher.connect()
    pusher.user.signIn()
    _ = try await changes.wait()
    let other = self.pusher(inline(["id": "8"]), RecordingDelegate())
    other.user.signIn()
    other.connect()
    _ = try await changes.wait(for: 2)
    other.disconnect()
    let expected = [("offline", false), ("online", true), ("offline", false)]
    let told = try await changes.wait(for: 3)
    #expect(told.map(\.name) == expected.map(\.0) && told.map(\.isOnline) == expected.map(\.1))
    #expect(told.allSatisfy { $0.userIds == ["8"] })
    #expect(online.values == [["8"]])
    #expect(try await delegate.watchlist.wait(for: 3) == told)
  }

  @Test func `an endpoint gets the socket id, and the request can be changed`() async throws {
    let endpoint = try LocalEndpoint(Self.answer)
    let delegate = RecordingDelegate(changeRequest: {
      $0.setValue("token", forHTTPHeaderField: "Authorization")
    })
    let pusher = pusher(.endpoint(authEndpoint: endpoint.url), delegate)
    pusher.connect()
    pusher.user.signIn()
    #expect(try await delegate.signedIn.wait().first?.hasPrefix("7 ") == true)
    let request = try #require(endpoint.requests.values.first)
    #expect(request.form == ["socket_id": pusher.connection.socketId ?? ""])
    #expect(request.head.contains("Authorization: token") && delegate.asked.values == ["user"])
  }

  @Test func `an endpoint's no reaches failedToSignIn, and signIn tries again`() async throws {
    let asked = Gathered<Int>()
    let endpoint = try LocalEndpoint { request in
      asked.add(0)
      return asked.values.count == 1 ? (403, "not you") : Self.answer(request)
    }
    let pusher = pusher(.endpoint(authEndpoint: endpoint.url))
    pusher.connect()
    pusher.user.signIn()
    let failed = try #require(try await delegate.signInFailed.wait().first)
    #expect(failed.response?.statusCode == 403 && failed.data == "not you")
    #expect(failed.error.status == 403 && pusher.user.failure == failed.error)
    pusher.user.signIn()
    _ = try await delegate.signedIn.wait()
    #expect(pusher.user.failure == nil)
  }

  @Test func `an authenticator answers on any thread, and nil is a no`() async throws {
    final class Own: UserAuthenticator {
      let isKnown: Bool
      init(isKnown: Bool) { self.isKnown = isKnown }
      func fetchUserAuth(
        socketID: String, completionHandler: @escaping @Sendable (PusherUserAuth?) -> Void
      ) {
        let auth = isKnown ? LocalService.signUser(socketID, #"{"id":"9"}"#) : nil
        Thread.detachNewThread { completionHandler(auth) }
      }
    }
    let known = pusher(.authenticator(authenticator: Own(isKnown: true)))
    known.signIn()
    known.connect()
    #expect(try await delegate.signedIn.wait() == [#"9 {"id":"9"}"#])
    let unknown = pusher(.authenticator(authenticator: Own(isKnown: false)))
    unknown.signIn()
    unknown.connect()
    #expect(
      try await delegate.signInFailed.wait().first?.error.message == "the authenticator refused")
  }

  @Test func `sign-in without a method or id or with a wrong secret fails clearly`() async throws {
    let cases: [(UserAuthMethod, String)] = [
      (.noMethod, "no sign-in method is set (userAuthMethod)"),
      (inline(["name": "x"]), "the user's data has no id"),
      (.inline(secret: "wrong", userData: ["id": "7"]), "Invalid signature"),
    ]
    for (method, message) in cases {
      let delegate = RecordingDelegate()
      let pusher = pusher(method, delegate)
      pusher.user.signIn()
      pusher.connect()
      let failed = try await delegate.signInFailed.wait()
      #expect(failed.first?.error.message.hasPrefix(message) == true)
      #expect(!pusher.user.isSignedIn)
    }
    #expect(UserAuthMethod.inline(secret: "hush", userData: [:]).description == "inline")
  }

  @Test func `the user is signed in again after a reconnect and after connect`() async throws {
    let pusher = pusher(inline(["id": "7"]))
    pusher.user.signIn()
    pusher.connect()
    _ = try await delegate.signedIn.wait()
    let next = try await service.restart()
    _ = try await delegate.signedIn.wait(for: 2)
    pusher.disconnect()
    try await condition("it is disconnected") {
      pusher.connection.connectionState == .disconnected
    }
    #expect(pusher.user.userId == nil && pusher.user.userData == nil)
    pusher.connect()
    _ = try await delegate.signedIn.wait(for: 3)
    #expect(pusher.user.userId == "7" && next.port == service.port)
  }

  @Test func `the channel of a user is joined by signing in alone`() {
    let channel = service.pusher().subscribe("#server-to-user-7")
    #expect(channel.failure?.message == "sign in to subscribe to the channel of a user")
  }
}
