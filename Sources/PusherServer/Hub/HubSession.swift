package import PusherCore

/// One client of a hub: it is subscribed, may be signed in, and takes messages.
///
/// It never calls the hub from inside these functions: a session that ends by a message leaves when its driver says so.
package protocol HubSession: AnyObject {
  var socketID: String { get }
  /// The channels it is subscribed to.
  var subscriptions: NameSet { get }
  /// The user that is signed in on it.
  var user: SignedInUser? { get set }
  /// Sends one message to this client alone.
  func send(_ text: String, at now: Instant)
  /// Sends a message that others get too; false when the client can get no more messages.
  func deliver(_ frame: SharedFrame, at now: Instant) -> Bool
  /// Tells this client that a subscription was refused after all.
  ///
  /// - Parameter isSubscribed: Whether a subscription from before stays.
  func refuse(
    _ channel: String, _ refusal: SubscriptionRefusal, isSubscribed: Bool, at now: Instant)
  /// Ends the connection because the app wants its user gone.
  func terminate(at now: Instant)
}

/// How a hub reads channel names; servers differ.
package protocol ChannelNaming: Sendable {
  /// What a channel's name says about it.
  func kind(of channel: String) -> ChannelKind
  /// Whether new subscribers get a channel's last event.
  func isCache(_ channel: String) -> Bool
}
