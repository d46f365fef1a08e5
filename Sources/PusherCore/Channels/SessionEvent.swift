/// Reports of a session, in the order of the events.
package enum SessionEvent: Sendable, Equatable {
  /// The server greeted the socket.
  case connected(socketID: String, activityTimeout: Duration)
  /// The server answered a ping of the protocol.
  case pong
  /// The server confirmed a subscription; `presence` has the members on presence channels.
  case subscribed(channel: String, presence: PresenceRoster?)
  /// A subscription failed; it is not retried on this connection.
  case subscriptionFailed(channel: String, SubscriptionFailure)
  /// The signer is unavailable now and is asked again.
  case authorizationDelayed(channel: String, reason: String, retryIn: Duration)
  /// The server knows the user; events for the user come on ``UserChannel``.
  case signedIn(userID: String, userData: JSONValue)
  /// The sign-in failed; it is not retried on this connection, and the channels are subscribed
  /// without it.
  case signInFailed(SubscriptionFailure)
  /// The signer for the user is unavailable now and is asked again.
  case signInDelayed(reason: String, retryIn: Duration)
  /// Users of the watchlist came online, or went offline.
  case watchlist(isOnline: Bool, userIDs: [String])
  /// A presence channel has more members than the limit; reported once for each list.
  case membersLeftOut(channel: String, PresenceLimits)
  case memberAdded(channel: String, PusherPresenceChannelMember)
  case memberRemoved(channel: String, PusherPresenceChannelMember)
  /// The server's rate limit dropped subscriptions or the sign-in; they are sent again.
  case rateLimited(RateLimit)
  /// The server's rate limit dropped client events; `message` has the server's words.
  case clientEventsDropped(count: Int, message: String)
  /// A `pusher:error`, which does not end the connection.
  case error(code: Int?, message: String)
  /// An event of the connection; a gap ends when every channel is subscribed again.
  case connection(ConnectionEvent)
  /// An event of an encrypted channel was dropped because `data`, the ciphertext, cannot be
  /// decrypted.
  case decryptionFailed(channel: String, event: String, data: String?, reason: String)
  /// An internal event of the service was dropped because this version does not know it.
  case unknownInternalEvent(name: String, channel: String?)
  /// A message was dropped because it breaks the protocol.
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
  /// Close the socket politely.
  case close
  /// Drop the socket, or the attempt to get one.
  case abort
  case report(SessionEvent)
}

package struct SessionOptions: Sendable {
  package var service: PusherService
  /// Silence before a ping is sent; a shorter timeout of the server takes precedence.
  package var activityTimeout: Duration
  /// Maximum time for the answer to a ping.
  package var pongTimeout: Duration
  /// Maximum time from name resolution to `connection_established`, and from each subscription to
  /// its answer.
  package var connectTimeout: Duration
  package var reconnect: ReconnectPolicy
  package var presence = PresenceLimits()
  /// True if a retry without a wait is planned first, so that the owner can move or stop it.
  package var announcesRetries = false

  /// Creates options; the defaults are those of the protocol page.
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
