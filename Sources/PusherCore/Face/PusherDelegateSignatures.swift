/// Makes the compiler refuse a delegate's method that would never be called.
///
/// Each method of ``PusherDelegate`` has a default, so a method with other types would be ignored silently. Here the
/// same methods stand with any types, and those under the names they had before PusherSwift 5. A class's own methods
/// decide the types. Where these differ from the protocol's, the default for the method does not fit; only the
/// unavailable one does, and its message says what to write. There is nothing here to implement.
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

/// Stands in for methods that the class does not write.
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

/// Stands in for methods whose form in the class is another one.
extension PusherDelegate {
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message: "write changedConnectionState(from old: ConnectionState, to new: ConnectionState)"
  )
  public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(*, unavailable, message: "write subscribedToChannel(name: String)")
  public func subscribedToChannel(name: String) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message:
      "write failedToSubscribeToChannel(name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  )
  public func failedToSubscribeToChannel(
    name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure
  ) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(*, unavailable, message: "write signedIn(userId: String, userData: JSONValue)")
  public func signedIn(userId: String, userData: JSONValue) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message:
      "write failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  )
  public func failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(*, unavailable, message: "write watchlistChanged(_ event: PusherWatchlistEvent)")
  public func watchlistChanged(_ event: PusherWatchlistEvent) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable, message: "write subscriptionCountChanged(channelName: String, count: Int)"
  )
  public func subscriptionCountChanged(channelName: String, count: Int) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(*, unavailable, message: "write receivedError(error: PusherError)")
  public func receivedError(error: PusherError) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message: "write failedToDecryptEvent(eventName: String, channelName: String, data: String?)"
  )
  public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable, message: "write connectionWillConnect(_ connection: PusherConnection) -> Bool"
  )
  public func connectionWillConnect(_ connection: PusherConnection) -> Bool { true }
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionDidDisconnect(_ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool)"
  )
  public func connectionDidDisconnect(
    _ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool
  ) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionDidFail(_ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool)"
  )
  public func connectionDidFail(
    _ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool
  ) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration) -> Duration?"
  )
  public func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration)
    -> Duration?
  { delay }
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message: "write willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)"
  )
  public func willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(*, unavailable, message: "write willAuthenticateUser(request: inout AuthRequest)")
  public func willAuthenticateUser(request: inout AuthRequest) {}
  /// Fits a class whose own method has other types, or the former name.
  @available(
    *, unavailable,
    message:
      "write connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)"
  )
  public func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration) {
  }
}
