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

enum DelegateNotice: Sendable {
  case changed(from: ConnectionState, to: ConnectionState)
  case subscribed(channel: String)
  case subscriptionFailed(
    channel: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)
  /// Of the client's delegates only the asynchronous one gets these.
  case memberAdded(PusherPresenceChannelMember, PusherPresenceChannel)
  case memberRemoved(PusherPresenceChannelMember, PusherPresenceChannel)
  case signedIn(userID: String, userData: JSONValue)
  case signInFailed(response: AuthResponse?, data: String?, error: SubscriptionFailure)
  case watchlist(PusherWatchlistEvent)
  case subscriptionCount(channel: String, Int)
  case log(String)
  case error(PusherError)
  case undecrypted(event: String, channel: String, data: String?)
  case connected
  case disconnected(ConnectionLoss?, willRetry: Bool)
  case failed(any Error, willRetry: Bool)
  case gap(PusherGap, length: Duration)
  case dropped(Int)

  func tell(_ delegate: any PusherDelegate, of connection: PusherConnection) {
    switch self {
    case .changed(let old, let new): delegate.changedConnectionState(from: old, to: new)
    case .subscribed(let channel): delegate.subscribedToChannel(name: channel)
    case .subscriptionFailed(let channel, let response, let data, let error):
      delegate.failedToSubscribeToChannel(
        name: channel, response: response, data: data, error: error)
    case .memberAdded, .memberRemoved: break
    case .signedIn(let userID, let userData): delegate.signedIn(userId: userID, userData: userData)
    case .signInFailed(let response, let data, let error):
      delegate.failedToSignIn(response: response, data: data, error: error)
    case .watchlist(let event): delegate.watchlistChanged(event)
    case .subscriptionCount(let channel, let count):
      delegate.subscriptionCountChanged(channelName: channel, count: count)
    case .log(let message): delegate.debugLog(message: message)
    case .error(let error): delegate.receivedError(error: error)
    case .undecrypted(let event, let channel, let data):
      delegate.failedToDecryptEvent(eventName: event, channelName: channel, data: data)
    case .connected: delegate.connectionDidConnect(connection)
    case .disconnected(let loss, let willRetry):
      delegate.connectionDidDisconnect(connection, error: loss, willAttemptReconnect: willRetry)
    case .failed(let error, let willRetry):
      delegate.connectionDidFail(connection, error: error, willAttemptReconnect: willRetry)
    case .gap(_, let length): delegate.connectionMayHaveMissedEvents(connection, during: length)
    case .dropped(let count): delegate.connectionDroppedEvents(connection, count: count)
    }
  }

  func tell(_ delegate: any PusherAsyncDelegate, of connection: PusherConnection) async {
    switch self {
    case .changed(let old, let new): await delegate.changedConnectionState(from: old, to: new)
    case .subscribed(let channel): await delegate.subscribedToChannel(name: channel)
    case .subscriptionFailed(let channel, let response, let data, let error):
      await delegate.failedToSubscribeToChannel(
        name: channel, response: response, data: data, error: error)
    case .memberAdded(let member, let channel): await delegate.memberAdded(member, to: channel)
    case .memberRemoved(let member, let channel):
      await delegate.memberRemoved(member, from: channel)
    case .signedIn(let userID, let userData):
      await delegate.signedIn(userId: userID, userData: userData)
    case .signInFailed(let response, let data, let error):
      await delegate.failedToSignIn(response: response, data: data, error: error)
    case .watchlist(let event): await delegate.watchlistChanged(event)
    case .subscriptionCount(let channel, let count):
      await delegate.subscriptionCountChanged(channelName: channel, count: count)
    case .log(let message): await delegate.debugLog(message: message)
    case .error(let error): await delegate.receivedError(error: error)
    case .undecrypted(let event, let channel, let data):
      await delegate.failedToDecryptEvent(eventName: event, channelName: channel, data: data)
    case .connected: await delegate.connectionDidConnect(connection)
    case .disconnected(let loss, let willRetry):
      await delegate.connectionDidDisconnect(
        connection, error: loss, willAttemptReconnect: willRetry)
    case .failed(let error, let willRetry):
      await delegate.connectionDidFail(connection, error: error, willAttemptReconnect: willRetry)
    case .gap(let gap, _): await delegate.connectionMayHaveMissedEvents(connection, in: gap)
    case .dropped(let count): await delegate.connectionDroppedEvents(connection, count: count)
    }
  }
}

/// Queue of an asynchronous delegate, with the task that calls it.
final class DelegateQueue: Sendable {
  private let queue: EventQueue<DelegateNotice>
  private let task: Task<Void, Never>

  init(of connection: PusherConnection) {
    let queue = EventQueue<DelegateNotice>(.suspending) { [weak connection] in
      connection?.hold(reading: $0)
    } whenCancelled: { _, _ in
    }
    self.queue = queue
    task = Task { [weak connection] in
      while let notice = await queue.next()?.event {
        guard let connection, let delegate = connection.asyncDelegate else { continue }
        await notice.tell(delegate, of: connection)
      }
    }
  }

  func add(_ notice: DelegateNotice) { queue.add(notice) }

  /// Drops all notices and ends the task.
  func end() {
    queue.cancel()
    task.cancel()
  }
}
