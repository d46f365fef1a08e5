import PusherCore
import PusherServer
import TestSupport
import Testing

/// Every Swift block of PusherSwift's README (7.x), compiled and run.
///
/// A comment explains each change to a block. All blocks use the local server's host, handlers that
/// record instead of print, `AuthRequest` for `URLRequest`, and `JSONValue` for `Any`.
/// EventflitSwift's README has the same blocks with other names.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `PusherSwift's README` {
  let service: LocalService
  let printed = Gathered<String>()
  init() throws { service = try LocalService() }

  private final class AuthRequestBuilder: AuthRequestBuilderProtocol {
    let url: String
    init(url: String) { self.url = url }
    func requestFor(socketID: String, channelName: String) -> AuthRequest? {
      var request = AuthRequest(url: url)
      request.httpMethod = "POST"
      // The page uses `channel.name`, but its function has no `channel`.
      request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)"
      request.addValue("myToken", forHTTPHeaderField: "Authorization")
      return request
    }
  }

  private struct Own: Authorizer {
    // The page's completion handler is not escaping, so it could not answer later.
    func fetchAuthValue(
      socketID: String, channelName: String,
      completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
      completionHandler(nil)
    }
  }

  @Test(arguments: [
    AuthMethod.endpoint(authEndpoint: "http://localhost:9292/pusher/auth"),
    .authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: "http://localhost")),
    .inline(secret: "secret"), .authorizer(authorizer: Own()), .noMethod,
  ])
  func `options with an authorisation method, and reconnection properties`(method: AuthMethod) {
    let options = PusherClientOptions(authMethod: method)
    let pusher = Pusher(key: "APP_KEY", options: options)
    #expect(pusher.key == "APP_KEY")
    // The page names 6 and nil: PusherSwift's defaults until 5.1, and `RetrySettings.pusherSwift`.
    // These are the defaults since 6.0.
    #expect(pusher.connection.reconnectAttemptsMax == nil)
    #expect(pusher.connection.maxReconnectGapInSeconds == 120)
    pusher.connection.reconnectAttemptsMax = 6
    pusher.connection.maxReconnectGapInSeconds = nil
    #expect(pusher.connection.options.retries == .pusherSwift)
  }

  @Test func `an authenticated channel by a request builder`() async throws {
    let endpoint = try LocalEndpoint(LocalEndpoint.sign)
    let options = service.options(
      AuthMethod.authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: endpoint.url))
    )
    let pusher = Pusher(key: Application.forTests().key, options: options)
    pusher.subscribe("private-a")
    try await pusher.joined()
    #expect(endpoint.requests.values.first?.head.contains("Authorization: myToken") == true)
  }

  @Test func `connecting, and a connection delegate with every function`() async throws {
    // Stands for the page's view controller, which a server does not have.
    final class DummyDelegate: PusherDelegate {
      let seen = Gathered<String>()
      func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        seen.add("state \(new)")
      }

      func debugLog(message: String) {
        seen.add("log")
      }

      func subscribedToChannel(name: String) {
        seen.add("subscribed \(name)")
      }

      // `AuthResponse` and `SubscriptionFailure` replace URLResponse and NSError.
      func failedToSubscribeToChannel(
        name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
      ) {
        seen.add("failed \(name)")
      }
    }
    let delegate = DummyDelegate()
    let pusher = service.pusher()
    pusher.connection.delegate = delegate
    pusher.subscribe("a")
    pusher.subscribe("private-b")
    pusher.connect()
    let wanted = ["state connecting", "state connected", "log", "subscribed a", "failed private-b"]
    try await delegate.seen.wait { wanted.allSatisfy($0.contains) }
  }

  @Test func `subscribing to every kind of channel, and with own auth values`() async throws {
    let pusher = service.signingPusher()
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    let myChannel = pusher.subscribe("my-channel")
    let myPrivateChannel = pusher.subscribe("private-my-channel")
    let myPresenceChannel = pusher.subscribeToPresenceChannel(channelName: "presence-my-channel")
    let myOtherPresenceChannel = pusher.subscribe("presence-my-channel")
    _ = try await delegate.subscribed.wait(for: 3)
    #expect(myChannel.isSubscribed && myPrivateChannel.isSubscribed)
    #expect(myPresenceChannel.memberCount == 1)
    // "unless you choose to cast the channel object":
    #expect(myOtherPresenceChannel as? PusherPresenceChannel === myPresenceChannel)

    let channelName = "presence-channel"
    let own = LocalService.sign(try #require(pusher.connection.socketId), channelName)
    let (yourAuthString, yourOptionalChannelDataString) = (own.auth, own.channelData)
    let pusherAuth = PusherAuth(auth: yourAuthString, channelData: yourOptionalChannelDataString)
    let chan = pusher.subscribe(channelName, auth: pusherAuth)
    _ = try await delegate.subscribed.wait(for: 4)
    #expect(chan.isSubscribed)
  }

  /// The `DummyDelegate` that looks for a presence channel.
  private final class PresenceDelegate: PusherDelegate {
    let printed: Gathered<String>
    // The page uses an undefined client. The reference is weak so that the client does not keep
    // itself alive.
    let channels: @Sendable () -> PusherChannels?
    init(_ printed: Gathered<String>, _ channels: @escaping @Sendable () -> PusherChannels?) {
      (self.printed, self.channels) = (printed, channels)
    }
    // The page uses `subscriptionDidSucceed`, its name until 4.0, and an undefined `channelName`.
    func subscribedToChannel(name: String) {
      if name == "presence-channel" {
        if let presChan = channels()?.findPresence(name: name) {
          // in here you can now have access to the channel's members and myId properties
          printed.add("found \(presChan.members.count) \(presChan.myId ?? "no id")")
        }
      }
    }
  }

  @Test func `a presence channel with a userDataFetcher and changing members`() async throws {
    let (pusher, printed) = (service.signingPusher(), printed)
    pusher.connection.userDataFetcher = { () -> PusherPresenceChannelMember in
      PusherPresenceChannelMember(userId: "123", userInfo: ["twitter": "hamchapman"])
    }
    // The page holds the delegate only through the connection, whose reference is weak.
    let delegate = PresenceDelegate(printed) { [weak pusher] in pusher?.connection.channels }
    pusher.connection.delegate = delegate
    let onMemberChange = { @Sendable (member: PusherPresenceChannelMember) in
      printed.add("change of \(member.userId)")
    }
    let chan = pusher.subscribeToPresenceChannel(
      channelName: "presence-channel", onMemberAdded: onMemberChange,
      onMemberRemoved: onMemberChange)

    chan.bind(
      eventName: "pusher:subscription_succeeded",
      callback: { data in
        printed.add("Subscribed!")
        printed.add("I can now access myId: \(chan.myId ?? "no id")")
        printed.add("And here are the channel members: \(chan.members.map(\.userId))")
      })
    pusher.connect()
    #expect(
      try await Set(printed.wait(for: 4)) == [
        "Subscribed!", "I can now access myId: 123",
        "And here are the channel members: [\"123\"]", "found 1 123",
      ])
    #expect(
      chan.me()
        == PusherPresenceChannelMember(userId: "123", userInfo: ["twitter": "hamchapman"]))
    let other = service.signingPusher()
    other.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "other") }
    other.subscribe("presence-channel")
    other.connect()
    #expect(try await printed.wait(for: 5).last == "change of other")
    #expect(chan.memberCount == 2)
    other.disconnect()
    #expect(try await printed.wait(for: 6).last == "change of other")
    #expect(chan.memberCount == 1)
  }

  @Test func `global events, per-channel events and errors`() async throws {
    let (pusher, printed) = (service.signingPusher(), printed)

    // As on the page, with a second `let`, which Swift 3 requires.
    pusher.bind(callback: { (data: Any?) -> Void in
      if let data = data as? [String: AnyObject] {
        if let commenter = data["commenter"] as? String, let message = data["message"] as? String {
          printed.add("\(commenter) wrote \(message)")
        }
      }
    })
    pusher.bind({ (message: Any?) in
      if let message = message as? [String: AnyObject], let eventName = message["event"] as? String,
        eventName == "pusher:error"
      {
        if let data = message["data"] as? [String: AnyObject],
          let errorMessage = data["message"] as? String
        {
          printed.add("Error message: \(errorMessage)")
        }
      }
    })
    let myChannel = pusher.subscribe("private-my-channel")
    myChannel.bind(
      eventName: "new-price",
      callback: { (data: Any?) -> Void in
        if let data = data as? [String: AnyObject] {
          if let price = data["price"] as? String, let company = data["company"] as? String {
            printed.add("\(company) is now priced at \(price)")
          }
        }
      })
    for _ in 0..<12 { try myChannel.trigger(eventName: "x", data: nil) }
    try await pusher.joined()
    #expect(try await printed.wait().first?.hasPrefix("Error message: ") == true)
    for (name, data) in [
      ("c", #"{"commenter":"Bob","message":"hi"}"#),
      ("new-price", #"{"company":"A","price":"1.10"}"#),
    ] {
      try await service.trigger(name, "private-my-channel", data)
    }
    let lines = try await printed.wait { $0.count { !$0.hasPrefix("Error") } == 2 }
    #expect(lines.filter { !$0.hasPrefix("Error") } == ["Bob wrote hi", "A is now priced at 1.10"])
  }
}
