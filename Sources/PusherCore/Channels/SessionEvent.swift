/// What a session reports, in the order in which it happened.
package enum SessionEvent: Sendable, Equatable {
  /// The server greeted the socket.
  case connected(socketID: String, activityTimeout: Duration)
  /// The server answered a ping of the protocol.
  case pong
  /// The server confirmed a subscription; with the members on presence channels.
  case subscribed(channel: String, presence: PresenceRoster?)
  /// A subscription failed; it is not tried again on this connection.
  case subscriptionFailed(channel: String, SubscriptionFailure)
  /// The signer cannot be reached now and is asked again.
  case authorizationDelayed(channel: String, reason: String, retryIn: Duration)
  /// The server knows the user; events for the user come on ``UserChannel``.
  case signedIn(userID: String, userData: JSONValue)
  /// The sign-in failed; it is not tried again on this connection, and the channels are subscribed without it.
  case signInFailed(SubscriptionFailure)
  /// The signer for the user cannot be reached now and is asked again.
  case signInDelayed(reason: String, retryIn: Duration)
  /// Users of the user's watchlist came online, or went offline.
  case watchlist(isOnline: Bool, userIDs: [String])
  /// A presence channel has more members than are kept; reported once for each list.
  case membersLeftOut(channel: String, PresenceLimits)
  case memberAdded(channel: String, PusherPresenceChannelMember)
  case memberRemoved(channel: String, PusherPresenceChannelMember)
  /// The server's rate limit dropped subscriptions or the sign-in; they are asked for again.
  case rateLimited(RateLimit)
  /// The server's rate limit dropped client events; with the server's words.
  case clientEventsDropped(count: Int, message: String)
  /// A `pusher:error`; by itself it ends nothing.
  case error(code: Int?, message: String)
  /// An event of the connection; a gap ends when every channel is subscribed again.
  case connection(ConnectionEvent)
  /// An event of an encrypted channel whose data, ciphertext as it came, cannot be decrypted; it was left out.
  case decryptionFailed(channel: String, event: String, data: String?, reason: String)
  /// An internal event of the service that this version does not know; it was left out.
  case unknownInternalEvent(name: String, channel: String?)
  /// A message that breaks the protocol; it was left out.
  case malformed(reason: String, bytes: [UInt8])
}

/// Why a channel could not be subscribed.
public struct SubscriptionFailure: Error, Sendable, Equatable {
  /// `AuthError`, `Timeout`, or what the server calls it.
  public var type: String
  /// What went wrong, in the server's or the signer's words.
  public var message: String
  /// The HTTP status that explains it, if any.
  public var status: Int?
  /// Who has to act.
  public var fault: Fault
  /// The error of your own code that is the cause, as an ``AsyncAuthorizer`` threw it; it is not compared by `==`.
  public var underlyingError: (any Error)?

  /// A failure; the user's fault unless said otherwise.
  public init(
    type: String, message: String, status: Int? = nil, fault: Fault = .you,
    underlyingError: (any Error)? = nil
  ) {
    (self.type, self.message, self.status) = (type, message, status)
    (self.fault, self.underlyingError) = (fault, underlyingError)
  }

  /// Whether type, message, status and fault are the same.
  public static func == (left: SubscriptionFailure, right: SubscriptionFailure) -> Bool {
    (left.type, left.message, left.status) == (right.type, right.message, right.status)
      && left.fault == right.fault
  }

  /// The server did not answer within this time.
  static func timeout(_ time: Duration) -> SubscriptionFailure {
    SubscriptionFailure(
      type: "Timeout", message: "no answer within \(time.inWords)", fault: .network)
  }
}

/// What the owner of a session has to do, in the order of the outputs.
package enum SessionOutput: Sendable, Equatable {
  /// Dial the server and upgrade.
  case dial
  /// Send a text message.
  case send(String)
  /// Answer a ping with this message; of several answers that wait one is enough.
  case answerPing(String)
  /// Ask for a signature, and hand the answer to ``Session/authorized(_:_:at:)``.
  case authorize(AuthorizationRequest)
  /// Hand out an event that was decrypted late: a message for ``Envelope/init(_:isDecrypted:)``.
  case deliver([UInt8])
  /// Close the socket politely.
  case close
  /// Drop the socket, or the attempt to get one.
  case abort
  /// Tell the outside.
  case report(SessionEvent)
}

/// The settings of a session.
package struct SessionOptions: Sendable {
  /// The names that the service uses.
  package var service: PusherService
  /// Silence after which a ping is sent; the server's own value counts when it is shorter.
  package var activityTimeout: Duration
  /// How long the answer to a ping may take.
  package var pongTimeout: Duration
  /// From the name's resolution to `connection_established`; and from each subscription to its answer.
  package var connectTimeout: Duration
  /// When a lost connection is dialled again.
  package var reconnect: ReconnectPolicy
  /// How much of each presence channel's list is kept.
  package var presence = PresenceLimits()
  /// Whether a retry without a wait is still planned first, so that the owner can move or stop it.
  package var announcesRetries = false

  /// Options; without arguments those of the protocol page.
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
