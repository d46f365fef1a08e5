/// The user of a client's connection: signing in, the user's own events, and the watchlist.
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

  init(_ connection: PusherConnection) {
    self.connection = connection
  }

  private var state: UserState { connection.userState }

  /// Wants the user signed in: at once or as soon as there is a connection, and again after each reconnect.
  ///
  /// ``PusherClientOptions/userAuthMethod`` authenticates the user. The delegate learns the result by
  /// ``PusherDelegate/signedIn(userId:userData:)`` or ``PusherDelegate/failedToSignIn(response:data:error:)``. After a
  /// failure another call makes another attempt; nothing happens while the user is signed in. Channels are subscribed
  /// after the sign-in, even if it fails.
  public func signIn() {
    state.noteAsked()
    connection.post(.signIn)
  }

  /// Whether the server has confirmed the user on the present connection.
  public var isSignedIn: Bool { userId != nil }

  /// The user's id; `nil` while the user is not signed in.
  public var userId: String? { state.status.withLock { $0.userId } }

  /// The signed data, as the server returned it: `id`, and if the app tells them `user_info` and `watchlist`.
  ///
  /// `nil` while the user is not signed in.
  public var userData: JSONValue? { state.status.withLock { $0.userData } }

  /// Why the user is not signed in, when the last attempt failed.
  public var failure: SubscriptionFailure? { state.status.withLock { $0.failure } }

  /// The users that this user watches.
  public var watchlist: PusherWatchlist { PusherWatchlist(connection) }

  // MARK: Bindings, which outlive connections and users

  /// Calls `eventCallback` for every event that is sent to the user.
  ///
  /// The handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
  /// ``PusherEventBindings/bind(to:eventCallback:)`` has an owner instead.
  @discardableResult
  public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> PusherBinding {
    state.bindings.bind(to: nil, eventCallback)
  }

  /// Calls `eventCallback` for the user's events of one name.
  ///
  /// The handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
  /// ``PusherEventBindings/bind(eventName:to:eventCallback:)`` has an owner instead.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding {
    state.bindings.bind(to: eventName, eventCallback)
  }

  /// What is bound to the user's events.
  public var handlers: PusherHandlers {
    PusherHandlers(list: state.bindings, connection: connection)
  }
}

/// The users that a signed-in user watches: those in the user's data as `watchlist`.
///
/// A handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
public struct PusherWatchlist: Sendable {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) {
    self.connection = connection
  }

  private var bindings: BindingList { connection.userState.watchlist }

  /// Calls `eventCallback` for every change.
  @discardableResult
  public func bind(
    eventCallback: @escaping @Sendable (PusherWatchlistEvent) -> Void
  ) -> PusherBinding {
    bindings.bind(to: nil) { eventCallback(PusherWatchlistEvent($0)) }
  }

  /// Calls `eventCallback` for the changes of one kind, `online` or `offline`; there are no others.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherWatchlistEvent) -> Void
  ) -> PusherBinding {
    bindings.bind(to: eventName) { eventCallback(PusherWatchlistEvent($0)) }
  }

  /// Unbinds one handler, whatever it is bound to; answers whether it was bound.
  @discardableResult
  public func removeBinding(_ binding: PusherBinding) -> Bool {
    bindings.unbind(binding)
  }

  /// Unbinds all handlers.
  public func unbindAll() {
    bindings.unbindAll()
  }
}

/// Users of the watchlist who came online or went offline.
public struct PusherWatchlistEvent: Sendable, Equatable {
  /// `online` or `offline`.
  public var name: String
  /// The users; after a sign-in and after a reconnect every user of the watchlist is named once.
  public var userIds: [String]

  /// A change, for tests of handlers.
  public init(name: String, userIds: [String]) {
    self.name = name
    self.userIds = userIds
  }

  /// Whether they came online.
  public var isOnline: Bool { name == "online" }

  /// Hands reports of the session to the handlers.
  fileprivate init(_ event: PusherEvent) {
    name = event.eventName
    userIds = (event.jsonObject?["user_ids"]?.elements ?? []).compactMap(\.text)
  }
}

/// A client's user and its state.
final class UserState: Sendable {
  let bindings = BindingList()
  let watchlist = BindingList()
  let status = Locked(Status())

  struct Status {
    var isWanted = false
    var userId: String?
    var userData: JSONValue?
    var failure: SubscriptionFailure?
  }

  var isWanted: Bool { status.withLock { $0.isWanted } }

  func noteAsked() {
    status.withLock { status in
      status.isWanted = true
      status.failure = nil
    }
  }

  func noteSignedIn(_ userId: String, _ userData: JSONValue) {
    status.withLock { $0 = Status(isWanted: true, userId: userId, userData: userData) }
  }

  func noteFailed(_ failure: SubscriptionFailure) {
    status.withLock { $0 = Status(isWanted: true, failure: failure) }
  }

  func noteLost() {
    status.withLock { status in
      status.userId = nil
      status.userData = nil
    }
  }

  /// The client is gone.
  func end() {
    noteLost()
    bindings.unbindAll()
    watchlist.unbindAll()
  }
}
