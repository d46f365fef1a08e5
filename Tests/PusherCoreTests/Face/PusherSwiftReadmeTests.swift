import PusherCore
import PusherServer
import TestSupport
import Testing

/// Every Swift block of PusherSwift's README (7.x), in order, compiled and run.
///
/// `BothReadmesTests.swift` has the blocks that EventflitSwift's README shares.
///
/// A comment explains each change to a block. All blocks use the local server's host, handlers that
/// record instead of print, `AuthRequest` for `URLRequest`, and `JSONValue` for `Any`.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `PusherSwift's README` {
  let service: LocalService
  let printed = Gathered<String>()
  init() throws { service = try LocalService() }

  private var key: String { Application.forTests().key }

  @Test func `the enum AuthMethod has the five cases`() {
    // The page shows the declaration; this test uses each case.
    struct Builder: AuthRequestBuilderProtocol {
      func requestFor(socketID: String, channelName: String) -> AuthRequest? { nil }
    }
    struct Own: Authorizer {
      // The page's completion handler is not escaping, so it could not answer later.
      func fetchAuthValue(
        socketID: String, channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
      ) {
        completionHandler(nil)
      }
    }
    let methods: [AuthMethod] = [
      .endpoint(authEndpoint: "http://localhost:9292/pusher/auth"),
      .authRequestBuilder(authRequestBuilder: Builder()), .inline(secret: "secret"),
      .authorizer(authorizer: Own()), .noMethod,
    ]
    #expect(methods.count == 5)
  }

  @Test func `PusherAuth holds auth and channelData`() {
    let auth = PusherAuth(auth: "key:signature")
    #expect(auth.channelData == nil)
    #expect(PusherAuth(auth: "a", channelData: "{}").channelData == "{}")
  }

  @Test func `options with a cluster`() async throws {
    var options = PusherClientOptions(
      host: .cluster("eu")
    )
    let proxy = try WatchingProxy(&options)
    let pusher = Pusher(key: "APP_KEY", options: options)
    pusher.connect()
    #expect(try await proxy.destination() == "ws-eu.pusher.com:443")
  }

  @Test func `options with an endpoint`() {
    let options = PusherClientOptions(
      authMethod: .endpoint(authEndpoint: "http://localhost:9292/pusher/auth")
    )

    let pusher = Pusher(key: "APP_KEY", options: options)
    #expect(pusher.key == "APP_KEY")
  }

  @Test func `an authenticated channel by a request builder`() async throws {
    let endpoint = try LocalEndpoint { request in
      let application = Application.forTests()
      let auth = SubscriptionSignature(key: application.key, secret: application.secret)
        .authorize(
          socketID: request.form["socket_id"] ?? "", channel: request.form["channel_name"] ?? "")
      return (200, #"{"auth":"\#(auth.auth)"}"#)
    }
    let options = service.options(
      AuthMethod.authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: endpoint.url))
    )
    let pusher = Pusher(
      key: key,
      options: options
    )
    let delegate = RecordingDelegate(of: pusher)
    pusher.subscribe("private-a")
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    #expect(endpoint.requests.values.first?.head.contains("Authorization: myToken") == true)
  }

  @Test func `connecting`() async throws {
    let pusher = Pusher(key: key, options: service.options())
    let delegate = RecordingDelegate()
    pusher.connection.delegate = delegate
    pusher.connect()
    _ = try await delegate.connected.wait()
  }

  @Test func `the connection delegate, all functions optional`() async throws {
    // Stands for the page's view controller, which a server does not have.
    final class Controller: PusherDelegate {
      let states = Gathered<ConnectionState>()
      func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        states.add(new)
      }
    }
    let controller = Controller()
    let pusher = Pusher(key: key, options: service.options())
    pusher.connection.delegate = controller
    pusher.connect()
    #expect(try await controller.states.wait(for: 2) == [.connecting, .connected])
  }

  @Test func `a delegate with every function`() async throws {
    final class DummyDelegate: PusherDelegate {
      let seen = Gathered<String>()
      func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        seen.add("state")
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
    let wanted = ["state", "log", "subscribed a", "failed private-b"]
    try await delegate.seen.wait { wanted.allSatisfy($0.contains) }
  }

  @Test func `reconnection properties`() {
    let pusher = Pusher(key: "APP_KEY")
    // The page names 6 and nil: PusherSwift's defaults until 5.1, and `RetrySettings.pusherSwift`.
    // These are the defaults since 6.0.
    #expect(pusher.connection.reconnectAttemptsMax == nil)
    #expect(pusher.connection.maxReconnectGapInSeconds == 120)
    pusher.connection.reconnectAttemptsMax = 6
    pusher.connection.maxReconnectGapInSeconds = nil
    #expect(pusher.connection.reconnectAttemptsMax == 6)
    #expect(pusher.connection.maxReconnectGapInSeconds == nil)
    #expect(pusher.connection.options.retries == .pusherSwift)
  }

  @Test func `subscribing with self-provided auth values`() async throws {
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    _ = try await delegate.connected.wait()
    let application = Application.forTests()
    let own = SubscriptionSignature(key: application.key, secret: application.secret).authorize(
      socketID: try #require(pusher.connection.socketId), channel: "presence-channel",
      channelData: #"{"user_id":"1"}"#)
    let (yourAuthString, yourOptionalChannelDataString) = (own.auth, own.channelData)
    let channelName = "presence-channel"

    let pusherAuth = PusherAuth(auth: yourAuthString, channelData: yourOptionalChannelDataString)
    let chan = pusher.subscribe(channelName, auth: pusherAuth)
    _ = try await delegate.subscribed.wait()
    #expect(chan.isSubscribed)
  }

  @Test func `global events`() async throws {
    let printed = printed
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher)
    pusher.subscribe("my-channel")

    // As on the page, with a second `let`, which Swift 3 requires.
    pusher.bind(callback: { (data: Any?) -> Void in
      if let data = data as? [String: AnyObject] {
        if let commenter = data["commenter"] as? String, let message = data["message"] as? String {
          printed.add("\(commenter) wrote \(message)")
        }
      }
    })
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    try await service.trigger("c", "my-channel", #"{"commenter":"Bob","message":"hi"}"#)
    #expect(try await printed.wait() == ["Bob wrote hi"])
  }

  @Test func `per-channel events`() async throws {
    let printed = printed
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher)
    let myChannel = pusher.subscribe("my-channel")

    myChannel.bind(
      eventName: "new-price",
      callback: { (data: Any?) -> Void in
        if let data = data as? [String: AnyObject] {
          if let price = data["price"] as? String, let company = data["company"] as? String {
            printed.add("\(company) is now priced at \(price)")
          }
        }
      })
    pusher.connect()
    _ = try await delegate.subscribed.wait()
    try await service.trigger("new-price", "my-channel", #"{"company":"A","price":"1.10"}"#)
    #expect(try await printed.wait() == ["A is now priced at 1.10"])
  }

  @Test func `receiving errors`() async throws {
    let printed = printed
    let pusher = service.signingPusher()
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
    let channel = pusher.subscribe("private-a")
    for _ in 0..<12 { try channel.trigger(eventName: "x", data: nil) }
    pusher.connect()
    #expect(try await printed.wait().first?.hasPrefix("Error message: ") == true)
  }
}
