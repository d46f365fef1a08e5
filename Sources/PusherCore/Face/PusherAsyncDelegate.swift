/// Learns what happens to a client's connection and channels, by asynchronous methods; every one has a default that does
/// nothing.
///
/// An actor can be such a delegate, and so can a class of the main actor, without `nonisolated` before each method, since
/// a call may wait for the actor:
///
/// ```swift
/// @MainActor final class Status: PusherAsyncDelegate {
///   var text = ""
///   func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
///     text = new.stringValue()
///   }
/// }
/// pusher.asyncDelegate = status
/// ```
///
/// The calls come from tasks of the client, one at a time and in the order in which things happened; the next waits until
/// the one before has returned. So they tell what was: ask the client what is. Nothing is dropped: while more than 1024
/// calls wait, the socket is left unread, as ``PusherBuffering/suspending(_:)`` says. The task is cancelled when the client
/// is released, and what waited then is not told.
///
/// The client refers to its delegate weakly, so you must keep it; a delegate that is gone is told nothing more. What must
/// be decided at once, such as whether to reconnect, is asked of a ``PusherDelegate``, which a client may have besides.
public protocol PusherAsyncDelegate: AnyObject, Sendable {
  /// The state changed.
  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) async

  /// The server confirmed a subscription; also after each reconnect.
  func subscribedToChannel(name: String) async

  /// A subscription failed; see ``PusherDelegate/failedToSubscribeToChannel(name:response:data:error:)``.
  func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure) async

  /// A member joined a presence channel.
  func memberAdded(_ member: PusherPresenceChannelMember, to channel: PusherPresenceChannel) async

  /// A member left a presence channel.
  func memberRemoved(_ member: PusherPresenceChannelMember, from channel: PusherPresenceChannel)
    async

  /// The server knows the user now; also after each reconnect.
  func signedIn(userId: String, userData: JSONValue) async

  /// The sign-in failed; see ``PusherDelegate/failedToSignIn(response:data:error:)``.
  func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure) async

  /// Users of the signed-in user's watchlist came or went.
  func watchlistChanged(_ event: PusherWatchlistEvent) async

  /// The server told how many subscriptions a channel has.
  func subscriptionCountChanged(channelName: String, count: Int) async

  /// Messages for a developer; signatures and shared secrets are left out.
  func debugLog(message: String) async

  /// The server sent a `pusher:error`; by itself it ends nothing.
  func receivedError(error: PusherError) async

  /// An event on a `private-encrypted-` channel could not be decrypted and was dropped.
  func failedToDecryptEvent(eventName: String, channelName: String, data: String?) async

  /// The server greeted the socket.
  func connectionDidConnect(_ connection: PusherConnection) async

  /// A connection that was made has ended; see
  /// ``PusherDelegate/connectionDidDisconnect(_:error:willAttemptReconnect:)``.
  func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool) async

  /// An attempt to connect failed; see ``PusherDelegate/connectionDidFail(_:error:willAttemptReconnect:)``.
  func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool) async

  /// All channels are subscribed again after a reconnect; events sent within the gap were missed.
  func connectionMayHaveMissedEvents(_ connection: PusherConnection, in gap: PusherGap) async
}

extension PusherAsyncDelegate {
  /// Does nothing.
  public func changedConnectionState(
    from old: ConnectionState, to new: ConnectionState
  ) async {}
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
  public func failedToDecryptEvent(
    eventName: String, channelName: String, data: String?
  ) async {}
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
  public func connectionMayHaveMissedEvents(
    _ connection: PusherConnection, in gap: PusherGap
  ) async {}
}
