/// What the outside learns from a session, in the order in which it happened.
public enum SessionEvent: Sendable, Equatable {
  /// The server greeted the socket.
  case connected(socketID: String, activityTimeout: Duration)
  /// The server confirmed a subscription; with the members on presence channels.
  case subscribed(channel: String, presence: PresenceRoster?)
  /// A subscription failed; it is not tried again on this connection.
  case subscriptionFailed(channel: String, SubscriptionFailure)
  /// Authorisation is out of reach for the moment and is asked for again.
  case authorizationDelayed(channel: String, reason: String, retryIn: Duration)
  /// The server knows the user; events for the user come on ``UserChannel``.
  case signedIn(userID: String, userData: JSONValue)
  /// The sign-in failed; it is not tried again on this connection, and the channels are joined without it.
  case signInFailed(SubscriptionFailure)
  /// Whoever signs for the user is out of reach for the moment and is asked again.
  case signInDelayed(reason: String, retryIn: Duration)
  /// Users of the user's watchlist came online, or went offline.
  case watchlist(isOnline: Bool, userIDs: [String])
  /// A presence channel has more members than are kept; said once for each list.
  case membersLeftOut(channel: String, PresenceLimits)
  case memberAdded(channel: String, PusherPresenceChannelMember)
  case memberRemoved(channel: String, PusherPresenceChannelMember)
  /// A `pusher:error`; by itself it ends nothing.
  case error(code: Int?, message: String)
  /// The server sent the upgrade elsewhere, and it is asked for there; the URL has no query.
  case redirected(status: Int, to: String)
  /// The connection is gone; a new one is dialled after `retryIn`, or none when that is `nil`.
  case disconnected(ConnectionLoss, code: Int?, retryIn: Duration?, attempt: Int)
  /// Every channel is back; what was sent between the two times is lost.
  case gap(from: Instant, to: Instant)
  /// An event of an encrypted channel whose data, ciphertext as it came, cannot be decrypted; it was left out.
  case decryptionFailed(channel: String, event: String, data: String?, reason: String)
  /// An event under one of the names that services keep for what libraries translate, and that this version does not
  /// know; it was left out.
  case unknownInternalEvent(name: String, channel: String?)
  /// A message that is not what the protocol allows; it was left out.
  case malformed(reason: String, bytes: [UInt8])
  /// The session is over.
  case ended(SessionEnd)
}

/// Why a channel could not be joined.
public struct SubscriptionFailure: Error, Sendable, Equatable {
  /// `AuthError`, `Timeout`, or what the server calls it.
  public var type: String
  /// What went wrong, in the server's or the signer's words.
  public var message: String
  /// The HTTP status that explains it, if one does.
  public var status: Int?
  /// Who has to act.
  public var fault: Fault

  /// A failure; the user's fault unless said otherwise.
  public init(type: String, message: String, status: Int? = nil, fault: Fault = .you) {
    self.type = type
    self.message = message
    self.status = status
    self.fault = fault
  }
}

/// Why authorisation for a channel was not to be had.
public enum AuthorizationFailure: Error, Sendable, Equatable {
  /// The answer was no, with the HTTP status when there is one.
  case refused(status: Int?, String)
  /// Whoever answers is out of reach or overloaded; asking again may help.
  case unavailable(status: Int?, String)
  /// The answer is not what the protocol asks for.
  case unusable(String)
}

/// How a session ended.
public enum SessionEnd: Error, Sendable, Equatable {
  /// The user asked for it.
  case asked
  /// The loss cannot be mended by trying again; with the 4xxx code that says why.
  case lost(ConnectionLoss, code: Int?)
  /// So many attempts in a row failed, the last one by this.
  case retriesExhausted(ConnectionLoss, code: Int?, attempts: Int)
}

/// A question to whoever may sign: one channel for one socket.
public struct AuthorizationRequest: Sendable, Equatable {
  /// The channel to join.
  public let channel: String
  /// The socket for which the answer is valid, and for no other.
  public let socketID: String
  /// Which connection asks; an answer to an earlier one is of no use.
  let generation: Int

  package init(channel: String, socketID: String, generation: Int) {
    self.channel = channel
    self.socketID = socketID
    self.generation = generation
  }
}

/// What the owner of a session has to do, in this order.
package enum SessionOutput: Sendable, Equatable {
  /// Dial the server and upgrade.
  case dial
  /// Send a text message.
  case send(String)
  /// Answer a ping with this message; of several answers that wait one is enough.
  case answerPing(String)
  /// Ask for a signature, and hand the answer to ``Session/authorized(_:_:at:)``.
  case authorize(AuthorizationRequest)
  /// Ask who the user is, and hand the answer to ``Session/authenticated(_:_:at:)``.
  case authenticate(UserAuthenticationRequest)
  /// Hand out an event that was decrypted late: a message for ``Envelope/init(_:isDecrypted:)``.
  case deliver([UInt8])
  /// Close the socket politely.
  case close
  /// Drop the socket, or the attempt to get one.
  case abort
  /// Tell the outside.
  case report(SessionEvent)
}
