import Testing

/// Valid handlers and delegates are called; methods that would never be called do not compile, and
/// the compiler names the fix.
@Suite struct `What the compiler says of handlers and delegates` {
  private static let failedToSubscribe =
    "write failedToSubscribeToChannel(name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)"

  /// Delegate methods that the client would never call, and the compiler's advice.
  private static let neverCalled = [
    (
      "func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {}",
      failedToSubscribe
    ),
    (
      "func failedToSubscribeToChannel(name: String, response: AuthResponse?, data: String?, error: (any Error)?) {}",
      failedToSubscribe
    ),
    (
      "func failedToSignIn(response: AuthResponse?, data: String?, error: any Error) {}",
      "write failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)"
    ),
    (
      "func signedIn(userId: String, userData: Any) {}",
      "write signedIn(userId: String, userData: JSONValue)"
    ),
    (
      "func watchlistChanged(_ event: Any) {}",
      "write watchlistChanged(_ event: PusherWatchlistEvent)"
    ),
    (
      "func subscriptionCountChanged(channelName: String, count: Int?) {}",
      "write subscriptionCountChanged(channelName: String, count: Int)"
    ),
    ("func receivedError(error: any Error) {}", "write receivedError(error: PusherError)"),
    (
      "func failedToDecryptEvent(eventName: String, channelName: String, data: String) {}",
      "write failedToDecryptEvent(eventName: String, channelName: String, data: String?)"
    ),
    (
      "func connectionWillConnect(_ connection: PusherConnection) {}",
      "write connectionWillConnect(_ connection: PusherConnection) -> Bool"
    ),
    (
      "func connectionDidDisconnect(_ connection: PusherConnection, error: (any Error)?, willAttemptReconnect: Bool) {}",
      "write connectionDidDisconnect(_ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool)"
    ),
    (
      "func connectionDidFail(_ connection: PusherConnection, error: (any Error)?, willAttemptReconnect: Bool) {}",
      "write connectionDidFail(_ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool)"
    ),
    (
      "func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Double) -> Double? { nil }",
      "write connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration) -> Duration?"
    ),
    (
      "func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Double) {}",
      "write connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)"
    ),
    (
      "func connectionDroppedEvents(_ connection: PusherConnection, count: UInt) {}",
      "write connectionDroppedEvents(_ connection: PusherConnection, count: Int)"
    ),
    (
      "func willAuthorizeChannel(_ channel: PusherChannel, request: AuthRequest) {}",
      "write willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)"
    ),
    (
      "func willAuthenticateUser(request: AuthRequest) {}",
      "write willAuthenticateUser(request: inout AuthRequest)"
    ),
    ("func subscribedToChannel(channelName: String) {}", "write subscribedToChannel(name: String)"),
    (
      "func subscriptionDidSucceed(channelName: String) {}",
      "write subscribedToChannel(name: String)"
    ),
    (
      "func subscriptionDidFail(channelName: String, response: URLResponse?, data: String?, error: NSError?) {}",
      failedToSubscribe
    ),
    (
      "func connectionStateDidChange(from old: ConnectionState, to new: ConnectionState) {}",
      "write changedConnectionState(from old: ConnectionState, to new: ConnectionState)"
    ),
  ]

  @Test func `a delegate's method that would never be called is an error that says what to write`()
    throws
  {
    let found = try SampleCompiler.diagnostics(
      of: Self.neverCalled.enumerated().map { "final class D\($0): PusherDelegate { \($1.0) }" })
    for ((method, message), lines) in zip(Self.neverCalled, found) {
      #expect(
        lines.contains { $0.contains(": error: ") && $0.hasSuffix(message) }, "\(method): \(lines)")
    }
  }

  @Test func `methods in their right form, all or none, are no error`() throws {
    let all = Self.neverCalled.compactMap { $0.1.split(separator: "write ").last }
    let methods = Set(all).map { method in
      method.hasSuffix("Bool") && method.contains("-> Bool")
        ? "func \(method) { true }"
        : method.contains("->") ? "func \(method) { nil }" : "func \(method) {}"
    }
    let found = try SampleCompiler.diagnostics(of: [
      "final class All: PusherDelegate {\n\(methods.joined(separator: "\n"))\n}",
      "final class None: PusherDelegate {}",
      "final class Other: PusherDelegate { func debugLog(message: String) {} ; func reset(error: String) {} }",
    ])
    #expect(found == [[], [], []])
    #expect(methods.count == 17)
  }

  @Test func `a delegate that nobody else holds is a warning`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      "final class D: PusherDelegate {}\nfunc a(_ p: Pusher) { p.delegate = D() }",
      "final class E: PusherDelegate {}\nfunc b(_ p: Pusher) { p.connection.delegate = E() }",
      "final class F: PusherDelegate {}\nfunc c(_ p: Pusher, _ f: F) { p.delegate = f }",
    ])
    for lines in found.prefix(2) {
      #expect(
        lines.contains {
          $0.contains("will be immediately deallocated because property 'delegate'")
        })
    }
    #expect(found.last == [])
  }

  @Test func `handlers with and without a type find the one function that is meant`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      """
      func d(_ pusher: Pusher, _ channel: PusherChannel) {
        channel.bind(eventName: "e", callback: { (data: Any?) -> Void in _ = data as? [String: AnyObject] })
        channel.bind(eventName: "e", callback: { data in _ = data?["price"]?.text })
        channel.bind(eventName: "e", callback: { data in print("Subscribed!") })
        channel.bind(eventName: "e") { (data: Any?) in _ = data as? [String: Any] }
        channel.bind(eventName: "e") { event in _ = event.channelName }
        channel.bind(eventName: "e") { event in print(event) }
        channel.bind(eventName: "e") { print($0.eventName) }
        channel.bind { event in print(event.eventName) }
        pusher.bind({ (message: Any?) in _ = message as? [String: AnyObject] })
        pusher.bind(callback: { (message: Any?) in _ = message as? [String: AnyObject] })
        pusher.bind(callback: { message in _ = message?["event"] })
        pusher.bind { (message: Any?) in _ = message as? [String: AnyObject] }
        pusher.bind { event in print(event.eventName) }
        pusher.bind(eventName: "e") { event in print(event.eventName) }
      }
      """
    ])
    #expect(found == [[]])
  }

  @Test func `labels that the pages leave out are named by the compiler`() throws {
    let found = try SampleCompiler.diagnostics(of: [
      #"func f(_ pusher: Pusher) { pusher.subscribeToPresenceChannel("presence-a", onMemberAdded: nil) }"#,
      #"func g(_ pusher: Pusher) { _ = pusher.connection.channels.findPresence("presence-a") }"#,
    ])
    #expect(
      found[0].contains { $0.hasSuffix("error: missing argument label 'channelName:' in call") })
    #expect(found[1].contains { $0.hasSuffix("error: missing argument label 'name:' in call") })
  }
}
