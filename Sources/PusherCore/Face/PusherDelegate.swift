/// Gets reports about a client's connection and channels; all methods have defaults.
///
/// The client's callback thread makes all calls, one at a time and in order; see ``Pusher``. The
/// reference to the delegate is weak, so a delegate may keep its client. An actor, or a class of
/// the main actor, needs ``PusherAsyncDelegate`` instead.
public protocol PusherDelegate: AnyObject, Sendable {
  /// The state changed.
  func changedConnectionState(from old: ConnectionState, to new: ConnectionState)

  /// The server confirmed a subscription, also after each reconnect.
  func subscribedToChannel(name: String)

  /// A subscription failed; subscribing to the channel again makes another attempt.
  ///
  /// `response` and `data` are the answer of the authorisation endpoint, if it was asked.
  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)

  /// The server knows the user, also after each reconnect; `userData` is the signed data.
  func signedIn(userId: String, userData: JSONValue)

  /// The sign-in failed; ``PusherUser/signIn()`` and the next reconnect make another attempt.
  ///
  /// `response` and `data` are the answer of the authentication endpoint, if it was asked.
  func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)

  /// Users of the signed-in user's watchlist went online or offline.
  func watchlistChanged(_ event: PusherWatchlistEvent)

  /// The server reported the number of subscriptions of a channel.
  func subscriptionCountChanged(channelName: String, count: Int)

  /// Gets messages for developers, without signatures and shared secrets.
  func debugLog(message: String)

  /// The server sent a `pusher:error`, which ends nothing on its own.
  func receivedError(error: PusherError)

  /// An event on a `private-encrypted-` channel could not be decrypted and was dropped.
  func failedToDecryptEvent(eventName: String, channelName: String, data: String?)

  /// A first connection is about to start; `false` keeps the client disconnected.
  func connectionWillConnect(_ connection: PusherConnection) -> Bool

  /// The server greeted the socket.
  func connectionDidConnect(_ connection: PusherConnection)

  /// An established connection ended; `error` is `nil` after `disconnect()`.
  func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool)

  /// An attempt failed with a ``ConnectionLoss``, or could not start: ``PusherConfigurationError``.
  func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool)

  /// Another attempt follows after `delay`: return the delay to use, or `nil` to stay disconnected.
  func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration)
    -> Duration?

  /// An authorisation request is about to be sent and may be changed.
  func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)

  /// A user authentication request is about to be sent and may be changed.
  func willAuthenticateUser(request: inout AuthRequest)

  /// All channels are subscribed again after a reconnect; events sent within this time were missed.
  func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)

  /// Readers of ``PusherEventBindings/events(buffering:)`` were too slow, and their full buffers
  /// dropped this number of events since the last call.
  ///
  /// The first call comes immediately, further ones at most once a second.
  func connectionDroppedEvents(_ connection: PusherConnection, count: Int)
}

extension PusherDelegate {
  /// Does nothing.
  public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
  /// Does nothing.
  public func subscribedToChannel(name: String) {}
  /// Does nothing.
  public func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) {}
  /// Does nothing.
  public func signedIn(userId: String, userData: JSONValue) {}
  /// Does nothing.
  public func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure) {}
  /// Does nothing.
  public func watchlistChanged(_ event: PusherWatchlistEvent) {}
  /// Does nothing.
  public func subscriptionCountChanged(channelName: String, count: Int) {}
  /// Does nothing.
  public func debugLog(message: String) {}
  /// Does nothing.
  public func receivedError(error: PusherError) {}
  /// Does nothing.
  public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
  /// Allows the connection.
  public func connectionWillConnect(_ connection: PusherConnection) -> Bool { true }
  /// Does nothing.
  public func connectionDidConnect(_ connection: PusherConnection) {}
  /// Does nothing.
  public func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  ) {}
  /// Does nothing.
  public func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool
  ) {}
  /// Keeps the delay.
  public func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration)
    -> Duration?
  { delay }
  /// Changes nothing.
  public func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest) {}
  /// Changes nothing.
  public func willAuthenticateUser(request: inout AuthRequest) {}
  /// Does nothing.
  public func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration) {
  }
  /// Does nothing.
  public func connectionDroppedEvents(_ connection: PusherConnection, count: Int) {}
}

/// A `pusher:error` of the server.
public struct PusherError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Text of the error.
  public var message: String
  /// Code of the error, which many errors lack.
  public var code: Int?

  /// Creates an error.
  public init(message: String, code: Int? = nil) { (self.message, self.code) = (message, code) }

  /// Message and code.
  public var description: String { code.map { "\(message) (\($0))" } ?? message }
}

/// Gets changes of a presence channel's members, on the callback thread; the reference is weak.
public protocol PusherPresenceChannelDelegate: AnyObject, Sendable {
  /// The channel was subscribed, and its members are known.
  func presenceChannelDidSubscribe(_ channel: PusherPresenceChannel)
  /// A member joined.
  func presenceChannel(
    _ channel: PusherPresenceChannel, memberAdded member: PusherPresenceChannelMember)
  /// A member left.
  func presenceChannel(
    _ channel: PusherPresenceChannel, memberRemoved member: PusherPresenceChannelMember)
}
