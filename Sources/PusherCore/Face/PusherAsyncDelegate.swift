/// Gets reports about a client's connection and channels in asynchronous methods.
///
/// An actor or a class of the main actor can be the delegate: see <doc:ThreadsAndLifetime>. All
/// methods have empty defaults. Tasks of the client make the calls, one at a time and in order;
/// they report the past. While more than 1024 wait, the socket is not read, as with
/// ``PusherBuffering/suspending(_:)``. When the client is released, the task is cancelled and
/// waiting calls are dropped.
///
/// The reference to the delegate is weak. Immediate decisions, such as whether to reconnect, need a
/// ``PusherDelegate``; a client may have both.
public protocol PusherAsyncDelegate: AnyObject, Sendable {
  /// The state changed.
  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) async

  /// The server confirmed a subscription, also after each reconnect.
  func subscribedToChannel(name: String) async

  /// A subscription failed; ``PusherDelegate`` explains the parameters.
  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure) async

  /// A member joined a presence channel.
  func memberAdded(_ member: PusherPresenceChannelMember, to channel: PusherPresenceChannel) async

  /// A member left a presence channel.
  func memberRemoved(_ member: PusherPresenceChannelMember, from channel: PusherPresenceChannel)
    async

  /// The server knows the user, also after each reconnect.
  func signedIn(userId: String, userData: JSONValue) async

  /// The sign-in failed; see ``PusherDelegate/failedToSignIn(response:data:error:)``.
  func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure) async

  /// Users of the signed-in user's watchlist went online or offline.
  func watchlistChanged(_ event: PusherWatchlistEvent) async

  /// The server reported the number of subscriptions of a channel.
  func subscriptionCountChanged(channelName: String, count: Int) async

  /// Gets messages for developers, without signatures and shared secrets.
  func debugLog(message: String) async

  /// The server sent a `pusher:error`, which ends nothing on its own.
  func receivedError(error: PusherError) async

  /// An event on a `private-encrypted-` channel could not be decrypted and was dropped.
  func failedToDecryptEvent(eventName: String, channelName: String, data: String?) async

  /// The server greeted the socket.
  func connectionDidConnect(_ connection: PusherConnection) async

  /// An established connection ended; `error` is `nil` after `disconnect()`.
  func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool) async

  /// An attempt to connect failed; ``PusherDelegate`` explains the error.
  func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool) async

  /// All channels are subscribed again after a reconnect; events sent within the gap were missed.
  func connectionMayHaveMissedEvents(_ connection: PusherConnection, in gap: PusherGap) async

  /// Slow readers did not get this number of events; ``PusherDelegate`` explains when.
  func connectionDroppedEvents(_ connection: PusherConnection, count: Int) async
}

extension PusherAsyncDelegate {
  /// Does nothing.
  public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) async {}
  /// Does nothing.
  public func subscribedToChannel(name: String) async {}
  /// Does nothing.
  public func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) async {}
  /// Does nothing.
  public func memberAdded(
    _ member: PusherPresenceChannelMember, to channel: PusherPresenceChannel
  ) async {}
  /// Does nothing.
  public func memberRemoved(
    _ member: PusherPresenceChannelMember, from channel: PusherPresenceChannel
  ) async {}
  /// Does nothing.
  public func signedIn(userId: String, userData: JSONValue) async {}
  /// Does nothing.
  public func failedToSignIn(
    response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) async {}
  /// Does nothing.
  public func watchlistChanged(_ event: PusherWatchlistEvent) async {}
  /// Does nothing.
  public func subscriptionCountChanged(channelName: String, count: Int) async {}
  /// Does nothing.
  public func debugLog(message: String) async {}
  /// Does nothing.
  public func receivedError(error: PusherError) async {}
  /// Does nothing.
  public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) async {}
  /// Does nothing.
  public func connectionDidConnect(_ connection: PusherConnection) async {}
  /// Does nothing.
  public func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  ) async {}
  /// Does nothing.
  public func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool
  ) async {}
  /// Does nothing.
  public func connectionMayHaveMissedEvents(_ connection: PusherConnection, in gap: PusherGap) async
  {}
  /// Does nothing.
  public func connectionDroppedEvents(_ connection: PusherConnection, count: Int) async {}
}
