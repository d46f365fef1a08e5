/// Learns what happens to a client's connection and channels; every method has a default that does nothing.
///
/// All calls come on the client's callback thread, one at a time and in the order in which things happened; see
/// ``Pusher``. The client refers to its delegate weakly, so a delegate may keep its client.
///
/// An actor, or a class of the main actor, is a ``PusherAsyncDelegate`` instead.
public protocol PusherDelegate: PusherDelegateSignatures, Sendable {
  /// The state changed.
  func changedConnectionState(from old: ConnectionState, to new: ConnectionState)

  /// The server confirmed a subscription; also after each reconnect.
  func subscribedToChannel(name: String)

  /// A subscription failed; subscribing to the channel again makes another attempt.
  ///
  /// - Parameters:
  ///   - name: The channel's name.
  ///   - response: What the authorisation endpoint answered, if it was asked.
  ///   - data: The body of that answer.
  ///   - error: What failed.
  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)

  /// The server knows the user now; also after each reconnect.
  ///
  /// - Parameters:
  ///   - userId: The user's id.
  ///   - userData: What was signed.
  func signedIn(userId: String, userData: JSONValue)

  /// The sign-in failed; ``PusherUser/signIn()`` makes another attempt, and so does the next reconnect.
  ///
  /// - Parameters:
  ///   - response: What the authentication endpoint answered, if it was asked.
  ///   - data: The body of that answer.
  ///   - error: What failed.
  func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)

  /// Users of the signed-in user's watchlist came or went.
  func watchlistChanged(_ event: PusherWatchlistEvent)

  /// The server told how many subscriptions a channel has.
  func subscriptionCountChanged(channelName: String, count: Int)

  /// Messages for a developer; signatures and shared secrets are left out.
  func debugLog(message: String)

  /// The server sent a `pusher:error`; by itself it ends nothing.
  func receivedError(error: PusherError)

  /// An event on a `private-encrypted-` channel could not be decrypted and was dropped.
  func failedToDecryptEvent(eventName: String, channelName: String, data: String?)

  /// A first connection is about to be made; `false` keeps the client disconnected.
  func connectionWillConnect(_ connection: PusherConnection) -> Bool

  /// The server greeted the socket.
  func connectionDidConnect(_ connection: PusherConnection)

  /// A connection that was made has ended.
  ///
  /// - Parameters:
  ///   - connection: The connection that has ended.
  ///   - error: What ended it; `nil` after `disconnect()`.
  ///   - willAttemptReconnect: Whether another attempt follows without further calls.
  func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool)

  /// An attempt to connect failed.
  ///
  /// - Parameters:
  ///   - connection: The connection that did not come about.
  ///   - error: A ``ConnectionLoss``, or a ``PusherConfigurationError`` when nothing could be sent.
  ///   - willAttemptReconnect: Whether another attempt follows without further calls.
  func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool)

  /// Another attempt is planned after `delay`: return the delay to use, or `nil` to stay disconnected.
  func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration)
    -> Duration?

  /// An authorisation request is about to be sent, and may be changed.
  func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)

  /// A request that asks who the user is, is about to be sent, and may be changed.
  func willAuthenticateUser(request: inout AuthRequest)

  /// All channels are subscribed again after a reconnect; events sent within this time were missed.
  func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)
}

extension PusherDelegate {
  /// Does nothing.
  public func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
  where FormerState == Never {}
  /// Does nothing.
  public func subscribedToChannel(name: String)
  where LabelledName == Never, FormerSuccess == Never {}
  /// Does nothing.
  public func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  )
  where
    FailedName == String, FailedResponse == AuthResponse?, FailedData == String?,
    FailedError == SubscriptionFailure, FormerError == Never
  {}
  /// Does nothing.
  public func signedIn(userId: String, userData: JSONValue)
  where SignedInID == String, SignedInData == JSONValue {}
  /// Does nothing.
  public func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)
  where SignInResponse == AuthResponse?, SignInData == String?, SignInError == SubscriptionFailure {
  }
  /// Does nothing.
  public func watchlistChanged(_ event: PusherWatchlistEvent)
  where WatchlistEvent == PusherWatchlistEvent {}
  /// Does nothing.
  public func subscriptionCountChanged(channelName: String, count: Int)
  where Count == Int {}
  /// Does nothing.
  public func debugLog(message: String) {}
  /// Does nothing.
  public func receivedError(error: PusherError)
  where ReceivedError == PusherError {}
  /// Does nothing.
  public func failedToDecryptEvent(eventName: String, channelName: String, data: String?)
  where UndecryptedData == String? {}
  /// Lets the connection be made.
  public func connectionWillConnect(_ connection: PusherConnection) -> Bool
  where WillConnect == Bool { true }
  /// Does nothing.
  public func connectionDidConnect(_ connection: PusherConnection) {}
  /// Does nothing.
  public func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  )
  where DisconnectError == ConnectionLoss? {}
  /// Does nothing.
  public func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool
  )
  where ConnectError == any Error {}
  /// Keeps the delay.
  public func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration)
    -> Duration?
  where ReconnectDelay == Duration, WillReconnect == Duration? { delay }
  /// Changes nothing.
  public func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)
  where ChannelRequest == Never {}
  /// Changes nothing.
  public func willAuthenticateUser(request: inout AuthRequest)
  where UserRequest == Never {}
  /// Does nothing.
  public func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)
  where MissedTime == Duration {}
}

/// A `pusher:error` of the server.
public struct PusherError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server's words.
  public var message: String
  /// The code, which many errors do not have.
  public var code: Int?

  /// An error.
  public init(message: String, code: Int? = nil) {
    self.message = message
    self.code = code
  }

  /// Message and code.
  public var description: String { code.map { "\(message) (\($0))" } ?? message }
}

/// Learns of a presence channel's members, as an alternative to closures.
///
/// The calls come on the client's callback thread; the channel refers to its delegate weakly.
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
