/// Makes the compiler reject a delegate method that would never be called.
///
/// Each method of ``PusherDelegate`` has a default, so the compiler would ignore a method with
/// other types. This protocol has the same methods with any types, and those under their names
/// before PusherSwift 5. The methods of a class decide the types. If these differ from the
/// protocol's, the default does not apply. Only the unavailable method does, and its message has
/// the right signature. There is nothing here to implement.
public protocol PusherDelegateSignatures: AnyObject {
  associatedtype FailedName
  associatedtype FailedResponse
  associatedtype FailedData
  associatedtype FailedError
  func failedToSubscribeToChannel(
    name: FailedName, response: FailedResponse, data: FailedData, error: FailedError)

  associatedtype SignInResponse
  associatedtype SignInData
  associatedtype SignInError
  func failedToSignIn(response: SignInResponse, data: SignInData, error: SignInError)

  associatedtype SignedInID
  associatedtype SignedInData
  func signedIn(userId: SignedInID, userData: SignedInData)

  associatedtype WatchlistEvent
  func watchlistChanged(_ event: WatchlistEvent)

  associatedtype Count
  func subscriptionCountChanged(channelName: String, count: Count)

  associatedtype ReceivedError
  func receivedError(error: ReceivedError)

  associatedtype UndecryptedData
  func failedToDecryptEvent(eventName: String, channelName: String, data: UndecryptedData)

  associatedtype WillConnect
  func connectionWillConnect(_ connection: PusherConnection) -> WillConnect

  associatedtype DisconnectError
  func connectionDidDisconnect(
    _ connection: PusherConnection, error: DisconnectError, willAttemptReconnect: Bool)

  associatedtype ConnectError
  func connectionDidFail(
    _ connection: PusherConnection, error: ConnectError, willAttemptReconnect: Bool)

  associatedtype ReconnectDelay
  associatedtype WillReconnect
  func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: ReconnectDelay)
    -> WillReconnect

  associatedtype MissedTime
  func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: MissedTime)

  associatedtype DroppedCount
  func connectionDroppedEvents(_ connection: PusherConnection, count: DroppedCount)

  associatedtype ChannelRequest
  func willAuthorizeChannel(_ channel: PusherChannel, request: ChannelRequest)

  associatedtype UserRequest
  func willAuthenticateUser(request: UserRequest)

  associatedtype LabelledName
  func subscribedToChannel(channelName: LabelledName)

  associatedtype FormerState
  func connectionStateDidChange(from old: FormerState, to new: FormerState)

  associatedtype FormerSuccess
  func subscriptionDidSucceed(channelName: FormerSuccess)

  associatedtype FormerName
  associatedtype FormerResponse
  associatedtype FormerData
  associatedtype FormerError
  func subscriptionDidFail(
    channelName: FormerName, response: FormerResponse, data: FormerData, error: FormerError)
}

/// Defaults for methods that a class does not implement.
extension PusherDelegateSignatures {
  /// Never called.
  public func willAuthorizeChannel(_ channel: PusherChannel, request: Never) {}
  /// Never called.
  public func willAuthenticateUser(request: Never) {}
  /// Never called.
  public func subscribedToChannel(channelName: Never) {}
  /// Never called.
  public func connectionStateDidChange(from old: Never, to new: Never) {}
  /// Never called.
  public func subscriptionDidSucceed(channelName: Never) {}
  /// Never called.
  public func subscriptionDidFail(channelName: Never, response: Never, data: Never, error: Never) {}
}

/// Defaults for methods that a class implements with another signature.
extension PusherDelegate {
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message: "write changedConnectionState(from old: ConnectionState, to new: ConnectionState)"
  ) public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
  /// Matches a method with other types or the former name.
  @available(*, unavailable, message: "write subscribedToChannel(name: String)")
  public func subscribedToChannel(name: String) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message:
      "write failedToSubscribeToChannel(name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  ) public func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) {}
  /// Matches a method with other types or the former name.
  @available(*, unavailable, message: "write signedIn(userId: String, userData: JSONValue)")
  public func signedIn(userId: String, userData: JSONValue) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message:
      "write failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  )
  public func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure) {}
  /// Matches a method with other types or the former name.
  @available(*, unavailable, message: "write watchlistChanged(_ event: PusherWatchlistEvent)")
  public func watchlistChanged(_ event: PusherWatchlistEvent) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable, message: "write subscriptionCountChanged(channelName: String, count: Int)"
  ) public func subscriptionCountChanged(channelName: String, count: Int) {}
  /// Matches a method with other types or the former name.
  @available(*, unavailable, message: "write receivedError(error: PusherError)")
  public func receivedError(error: PusherError) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message: "write failedToDecryptEvent(eventName: String, channelName: String, data: String?)"
  ) public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable, message: "write connectionWillConnect(_ connection: PusherConnection) -> Bool"
  ) public func connectionWillConnect(_ connection: PusherConnection) -> Bool { true }
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionDidDisconnect(_ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool)"
  ) public func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  ) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionDidFail(_ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool)"
  ) public func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool
  ) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration) -> Duration?"
  ) public func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration)
    -> Duration?
  { delay }
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message: "write willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)"
  ) public func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest) {}
  /// Matches a method with other types or the former name.
  @available(*, unavailable, message: "write willAuthenticateUser(request: inout AuthRequest)")
  public func willAuthenticateUser(request: inout AuthRequest) {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)"
  ) public func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)
  {}
  /// Matches a method with other types or the former name.
  @available(
    *, unavailable,
    message: "write connectionDroppedEvents(_ connection: PusherConnection, count: Int)"
  ) public func connectionDroppedEvents(_ connection: PusherConnection, count: Int) {}
}
