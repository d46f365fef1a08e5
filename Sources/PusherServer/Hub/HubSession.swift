package import PusherCore

/// A client of a hub.
///
/// A session never calls the hub from these functions. The driver removes a session that ends by a
/// message.
package protocol HubSession: AnyObject {
  var socketID: String { get }
  /// Address of the client; `nil` if a proxy hides it.
  var address: ClientAddress? { get }
  var subscriptions: NameSet { get }
  var user: SignedInUser? { get set }
  /// Sends a message to this client only.
  func send(_ text: String, at now: Instant)
  /// Sends a message that others get too; returns false if the client takes no more messages.
  func deliver(_ frame: SharedFrame, at now: Instant) -> Bool
  /// Reports a refusal that came after the request was accepted.
  ///
  /// - Parameter isSubscribed: True if an earlier subscription stays.
  func refuse(
    _ channel: String, _ refusal: SubscriptionRefusal, isSubscribed: Bool, at now: Instant)
  /// Closes the connection because the app terminated its user.
  func terminate(at now: Instant)
}

extension HubSession { package var address: ClientAddress? { nil } }

package protocol ChannelNaming: Sendable {
  func kind(of channel: String) -> ChannelKind
  func isCache(_ channel: String) -> Bool
}
