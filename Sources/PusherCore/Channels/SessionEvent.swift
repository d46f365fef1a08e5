package enum SessionEvent: Sendable, Equatable {
  case connected(socketID: String, activityTimeout: Duration)
  case pong
  /// `presence` has the members on presence channels.
  case subscribed(channel: String, presence: PresenceRoster?)
  /// Not retried on this connection.
  case subscriptionFailed(channel: String, SubscriptionFailure)
  /// The signer is unavailable now and is asked again.
  case authorizationDelayed(channel: String, reason: String, retryIn: Duration)
  /// The server knows the user; events for the user come on ``UserChannel``.
  case signedIn(userID: String, userData: JSONValue)
  /// Not retried on this connection; the channels are subscribed without it.
  case signInFailed(SubscriptionFailure)
  case signInDelayed(reason: String, retryIn: Duration)
  case watchlist(isOnline: Bool, userIDs: [String])
  /// A presence channel has more members than the limit; reported once for each list.
  case membersLeftOut(channel: String, PresenceLimits)
  case memberAdded(channel: String, PusherPresenceChannelMember)
  case memberRemoved(channel: String, PusherPresenceChannelMember)
  /// The server's rate limit dropped or delays subscriptions or the sign-in; they are sent later.
  ///
  /// Reported after each drop, and once for each connection with the plan.
  case rateLimited(RateLimit)
  /// The server's rate limit dropped client events; `message` has the server's words.
  case clientEventsDropped(count: Int, message: String)
  /// The server refused a client event for good; `message` has the server's words.
  case clientEventRefused(message: String)
  /// A `pusher:error`, which does not end the connection.
  case error(code: Int?, message: String)
  /// An event of the connection; a gap ends when every channel is subscribed again.
  case connection(ConnectionEvent)
  /// `data` is the ciphertext of an event that was dropped.
  case decryptionFailed(channel: String, event: String, data: String?, reason: String)
  /// The event was dropped because this version does not know it.
  case unknownInternalEvent(name: String, channel: String?)
  /// The message was dropped because it breaks the protocol.
  case malformed(reason: String, bytes: [UInt8])
}

/// Failure of a subscription.
public struct SubscriptionFailure: Error, Sendable, Equatable {
  /// `AuthError`, `Timeout`, or the server's name for it.
  public var type: String
  /// The problem, in the server's or the signer's words.
  public var message: String
  /// The HTTP status that explains the failure, if any.
  public var status: Int?
  /// The side that has to act.
  public var fault: Fault
  /// The error of your ``AsyncAuthorizer`` that is the cause; `==` does not compare it.
  public var underlyingError: (any Error)?

  /// Creates a failure; the default fault is the user's.
  public init(
    type: String, message: String, status: Int? = nil, fault: Fault = .you,
    underlyingError: (any Error)? = nil
  ) {
    (self.type, self.message, self.status) = (type, message, status)
    (self.fault, self.underlyingError) = (fault, underlyingError)
  }

  /// Compares type, message, status and fault.
  public static func == (left: SubscriptionFailure, right: SubscriptionFailure) -> Bool {
    (left.type, left.message, left.status) == (right.type, right.message, right.status)
      && left.fault == right.fault
  }

  static func timeout(_ time: Duration) -> SubscriptionFailure {
    SubscriptionFailure(
      type: "Timeout", message: "no answer within \(time.inWords)", fault: .network)
  }
}

/// Tasks for the owner of a session, in order.
package enum SessionOutput: Sendable, Equatable {
  case dial
  case send(String)
  /// Answer a ping with this message; one of several waiting answers is enough.
  case answerPing(String)
  /// Ask for a signature, and pass the answer to ``Session/authorized(_:_:at:)``.
  case authorize(AuthorizationRequest)
  /// Pass on an event that was decrypted late: a message for ``Envelope/init(_:isDecrypted:)``.
  case deliver([UInt8])
  case close
  /// Drop the socket, or the attempt to get one.
  case abort
  case report(SessionEvent)
}

package struct SessionOptions: Sendable {
  package var service: PusherService
  /// Silence before a ping is sent; a shorter timeout of the server takes precedence.
  package var activityTimeout: Duration
  package var pongTimeout: Duration
  /// From name resolution to `connection_established`, and from each subscription to its answer.
  package var connectTimeout: Duration
  package var reconnect: ReconnectPolicy
  package var presence = PresenceLimits()
  /// True if a retry without a wait is planned first, so that the owner can move or stop it.
  package var announcesRetries = false

  /// The defaults are those of the protocol page.
  package init(
    service: PusherService = .pusher, activityTimeout: Duration = .seconds(120),
    pongTimeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
    reconnect: ReconnectPolicy = ReconnectPolicy()
  ) {
    (self.service, self.activityTimeout) = (service, activityTimeout)
    (self.pongTimeout, self.connectTimeout) = (pongTimeout, connectTimeout)
    self.reconnect = reconnect
  }
}
