/// The user of a client's connection: sign-in, user events and watchlist.
///
/// ```swift
/// pusher.user.bind(eventName: "invoice-paid") { event in show(event.data) }
/// pusher.user.watchlist.bind(eventName: "online") { event in greet(event.userIds) }
/// pusher.user.signIn()
/// ```
///
/// It can be used from any thread. Source: Pusher's page "Authenticating users".
public struct PusherUser: PusherEventBindings {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) { self.connection = connection }

  /// Signs the user in, immediately or as soon as there is a connection, and again after each
  /// reconnect.
  ///
  /// ``PusherClientOptions/userAuthMethod`` authenticates the user. The delegate gets
  /// ``PusherDelegate/signedIn(userId:userData:)`` or
  /// ``PusherDelegate/failedToSignIn(response:data:error:)``. A call after a failure makes another
  /// attempt; a call for a signed-in user does nothing. Channels are subscribed after the sign-in,
  /// even if it fails.
  public func signIn() {
    connection.noteSignInAsked()
    connection.post { $0.signIn() }
  }

  /// True if the server has confirmed the user on the current connection.
  public var isSignedIn: Bool { userId != nil }

  /// User id; `nil` while the user is not signed in.
  public var userId: String? { connection.state.withLock { $0.user.userId } }

  /// Signed data from the server, with `id` and optionally `user_info` and `watchlist`.
  public var userData: JSONValue? { connection.state.withLock { $0.user.userData } }

  /// Failure of the last sign-in.
  public var failure: SubscriptionFailure? { connection.state.withLock { $0.user.failure } }

  /// Users that this user watches.
  public var watchlist: PusherWatchlist { PusherWatchlist(connection) }

  // MARK: Bindings, which outlive connections and users

  /// Calls `eventCallback` for every event sent to the user.
  @discardableResult public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void)
    -> PusherBinding
  { connection.userBindings.bind(to: nil, eventCallback) }

  /// Calls `eventCallback` for the user's events of this name.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding { connection.userBindings.bind(to: eventName, eventCallback) }

  /// Handlers bound to the user's events.
  public var handlers: PusherHandlers {
    PusherHandlers(list: connection.userBindings, connection: connection)
  }
}

/// Users that the signed-in user watches: `watchlist` in the user's data.
public struct PusherWatchlist: Sendable {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) { self.connection = connection }

  private var bindings: BindingList { connection.watchlist }

  /// Calls `eventCallback` for every change.
  @discardableResult public func bind(
    eventCallback: @escaping @Sendable (PusherWatchlistEvent) -> Void
  ) -> PusherBinding { bindings.bind(to: nil) { eventCallback(PusherWatchlistEvent($0)) } }

  /// Calls `eventCallback` for the changes `online` or `offline`; there are no others.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherWatchlistEvent) -> Void
  ) -> PusherBinding { bindings.bind(to: eventName) { eventCallback(PusherWatchlistEvent($0)) } }

  /// Unbinds one handler, and returns whether it was bound.
  @discardableResult
  public func removeBinding(_ binding: PusherBinding) -> Bool { bindings.unbind(binding) }

  /// Unbinds all handlers.
  public func unbindAll() { bindings.unbindAll() }
}

extension PusherWatchlistEvent {
  fileprivate init(_ event: PusherEvent) {
    let userIDs = event.jsonObject?["user_ids"]?.elements ?? []
    self.init(name: event.eventName, userIds: userIDs.compactMap(\.text))
  }
}

extension PusherConnection {
  func noteSignInAsked() {
    state.withLock { ($0.user.isWanted, $0.user.failure) = (true, nil) }
  }

  func noteSignedIn(_ userId: String, _ userData: JSONValue) {
    state.withLock { $0.user = UserStatus(isWanted: true, userId: userId, userData: userData) }
  }

  func noteSignInFailed(_ failure: SubscriptionFailure) {
    state.withLock { $0.user = UserStatus(isWanted: true, failure: failure) }
  }

  func noteUserLost() { state.withLock { ($0.user.userId, $0.user.userData) = (nil, nil) } }
}

struct UserStatus {
  var isWanted = false
  var userId: String?
  var userData: JSONValue?
  var failure: SubscriptionFailure?
}
