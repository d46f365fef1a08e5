/// Makes the compiler refuse a delegate's method that would never be called.
///
/// Each method of ``PusherDelegate`` has a default, so a method with other types would be ignored silently. Here the
/// same methods stand with any types. A class's own methods decide the types; if these differ from the protocol's, only
/// an unavailable check fits, and its message says what to write. The names that methods had before PusherSwift 5 are
/// found the same way. There is nothing here to implement.
public protocol PusherDelegateSignatures: AnyObject {
  associatedtype FailedName
  associatedtype FailedResponse
  associatedtype FailedData
  associatedtype FailedError
  func failedToSubscribeToChannel(
    name: FailedName, response: FailedResponse, data: FailedData, error: FailedError)
  static func checkSubscriptionFailed()

  associatedtype SignInResponse
  associatedtype SignInData
  associatedtype SignInError
  func failedToSignIn(response: SignInResponse, data: SignInData, error: SignInError)
  static func checkSignInFailed()

  associatedtype SignedInID
  associatedtype SignedInData
  func signedIn(userId: SignedInID, userData: SignedInData)
  static func checkSignedIn()

  associatedtype WatchlistEvent
  func watchlistChanged(_ event: WatchlistEvent)
  static func checkWatchlistChanged()

  associatedtype Count
  func subscriptionCountChanged(channelName: String, count: Count)
  static func checkCountChanged()

  associatedtype ReceivedError
  func receivedError(error: ReceivedError)
  static func checkErrorReceived()

  associatedtype UndecryptedData
  func failedToDecryptEvent(eventName: String, channelName: String, data: UndecryptedData)
  static func checkDecryptionFailed()

  associatedtype WillConnect
  func connectionWillConnect(_ connection: PusherConnection) -> WillConnect
  static func checkWillConnect()

  associatedtype DisconnectError
  func connectionDidDisconnect(
    _ connection: PusherConnection, error: DisconnectError, willAttemptReconnect: Bool)
  static func checkDidDisconnect()

  associatedtype ConnectError
  func connectionDidFail(
    _ connection: PusherConnection, error: ConnectError, willAttemptReconnect: Bool)
  static func checkDidFail()

  associatedtype ReconnectDelay
  associatedtype WillReconnect
  func connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: ReconnectDelay)
    -> WillReconnect
  static func checkWillReconnect()

  associatedtype MissedTime
  func connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: MissedTime)
  static func checkMayHaveMissed()

  associatedtype ChannelRequest
  func willAuthorizeChannel(_ channel: PusherChannel, request: ChannelRequest)
  static func checkWillAuthorize()

  associatedtype UserRequest
  func willAuthenticateUser(request: UserRequest)
  static func checkWillAuthenticate()

  associatedtype LabelledName
  func subscribedToChannel(channelName: LabelledName)
  static func checkSubscribedLabel()

  associatedtype FormerState
  func connectionStateDidChange(from old: FormerState, to new: FormerState)
  static func checkStateName()

  associatedtype FormerSuccess
  func subscriptionDidSucceed(channelName: FormerSuccess)
  static func checkSucceededName()

  associatedtype FormerName
  associatedtype FormerResponse
  associatedtype FormerData
  associatedtype FormerError
  func subscriptionDidFail(
    channelName: FormerName, response: FormerResponse, data: FormerData, error: FormerError)
  static func checkFailedFormer()
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

extension PusherDelegateSignatures
where
  FailedName == String, FailedResponse == AuthResponse?, FailedData == String?,
  FailedError == SubscriptionFailure
{
  /// The signature is the protocol's.
  public static func checkSubscriptionFailed() {}
}

extension PusherDelegateSignatures
where SignInResponse == AuthResponse?, SignInData == String?, SignInError == SubscriptionFailure {
  /// The signature is the protocol's.
  public static func checkSignInFailed() {}
}

extension PusherDelegateSignatures where SignedInID == String, SignedInData == JSONValue {
  /// The signature is the protocol's.
  public static func checkSignedIn() {}
}

extension PusherDelegateSignatures where WatchlistEvent == PusherWatchlistEvent {
  /// The signature is the protocol's.
  public static func checkWatchlistChanged() {}
}

extension PusherDelegateSignatures where Count == Int {
  /// The signature is the protocol's.
  public static func checkCountChanged() {}
}

extension PusherDelegateSignatures where ReceivedError == PusherError {
  /// The signature is the protocol's.
  public static func checkErrorReceived() {}
}

extension PusherDelegateSignatures where UndecryptedData == String? {
  /// The signature is the protocol's.
  public static func checkDecryptionFailed() {}
}

extension PusherDelegateSignatures where WillConnect == Bool {
  /// The signature is the protocol's.
  public static func checkWillConnect() {}
}

extension PusherDelegateSignatures where DisconnectError == ConnectionLoss? {
  /// The signature is the protocol's.
  public static func checkDidDisconnect() {}
}

extension PusherDelegateSignatures where ConnectError == any Error {
  /// The signature is the protocol's.
  public static func checkDidFail() {}
}

extension PusherDelegateSignatures where ReconnectDelay == Duration, WillReconnect == Duration? {
  /// The signature is the protocol's.
  public static func checkWillReconnect() {}
}

extension PusherDelegateSignatures where MissedTime == Duration {
  /// The signature is the protocol's.
  public static func checkMayHaveMissed() {}
}

extension PusherDelegateSignatures where ChannelRequest == Never {
  /// The signature is the protocol's.
  public static func checkWillAuthorize() {}
}

extension PusherDelegateSignatures where UserRequest == Never {
  /// The signature is the protocol's.
  public static func checkWillAuthenticate() {}
}

extension PusherDelegateSignatures where LabelledName == Never {
  /// The signature is the protocol's.
  public static func checkSubscribedLabel() {}
}

extension PusherDelegateSignatures where FormerState == Never {
  /// The signature is the protocol's.
  public static func checkStateName() {}
}

extension PusherDelegateSignatures where FormerSuccess == Never {
  /// The signature is the protocol's.
  public static func checkSucceededName() {}
}

extension PusherDelegateSignatures
where FormerName == Never, FormerResponse == Never, FormerData == Never, FormerError == Never {
  /// The signature is the protocol's.
  public static func checkFailedFormer() {}
}

extension PusherDelegateSignatures {
  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write failedToSubscribeToChannel(name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  )
  public static func checkSubscriptionFailed() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write failedToSignIn(response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  )
  public static func checkSignInFailed() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write signedIn(userId: String, userData: JSONValue)"
  )
  public static func checkSignedIn() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write watchlistChanged(_ event: PusherWatchlistEvent)"
  )
  public static func checkWatchlistChanged() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write subscriptionCountChanged(channelName: String, count: Int)"
  )
  public static func checkCountChanged() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write receivedError(error: PusherError)"
  )
  public static func checkErrorReceived() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write failedToDecryptEvent(eventName: String, channelName: String, data: String?)"
  )
  public static func checkDecryptionFailed() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write connectionWillConnect(_ connection: PusherConnection) -> Bool"
  )
  public static func checkWillConnect() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write connectionDidDisconnect(_ connection: PusherConnection, error: ConnectionLoss?, willAttemptReconnect: Bool)"
  )
  public static func checkDidDisconnect() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write connectionDidFail(_ connection: PusherConnection, error: any Error, willAttemptReconnect: Bool)"
  )
  public static func checkDidFail() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write connectionWillReconnect(_ connection: PusherConnection, afterDelay delay: Duration) -> Duration?"
  )
  public static func checkWillReconnect() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write connectionMayHaveMissedEvents(_ connection: PusherConnection, during time: Duration)"
  )
  public static func checkMayHaveMissed() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write willAuthorizeChannel(_ channel: PusherChannel, request: inout AuthRequest)"
  )
  public static func checkWillAuthorize() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write willAuthenticateUser(request: inout AuthRequest)"
  )
  public static func checkWillAuthenticate() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write subscribedToChannel(name: String)"
  )
  public static func checkSubscribedLabel() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write changedConnectionState(from old: ConnectionState, to new: ConnectionState)"
  )
  public static func checkStateName() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message: "write subscribedToChannel(name: String)"
  )
  public static func checkSucceededName() {}

  /// The signature is another, and the method would never be called.
  @available(
    *, unavailable,
    message:
      "write failedToSubscribeToChannel(name: String, response: AuthResponse?, data: String?, error: SubscriptionFailure)"
  )
  public static func checkFailedFormer() {}
}
