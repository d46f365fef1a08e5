package import PusherCore

/// An app that the server serves: what a client names by its key and the HTTP API by its id.
package struct Application: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  package var id: String
  package var key: String
  /// Signs subscriptions and API calls; never shown.
  package var secret: String
  /// Whether clients may send events to each other.
  package var allowsClientEvents: Bool
  /// Whether subscribers are told how many they are.
  package var sendsSubscriptionCounts = false
  /// Who is told by webhook what happens; `http` or `https`.
  package var webhooks: [HTTPURL] = []
  /// From which the endpoints derive the keys of encrypted channels.
  package var masterKey: EncryptionMasterKey?
  /// An app that is not enabled refuses sockets with 4003 and API calls with 403.
  package var isEnabled: Bool

  package init(
    id: String, key: String, secret: String, allowsClientEvents: Bool = true,
    isEnabled: Bool = true
  ) {
    self.id = id
    self.key = key
    self.secret = secret
    self.allowsClientEvents = allowsClientEvents
    self.isEnabled = isEnabled
  }

  /// Id and key, without the secret.
  package var description: String { "app \(id), key \(key)" }

  /// Empty, so that `dump` of a value that holds an app shows no secret either.
  package var customMirror: Mirror { Mirror(self, children: []) }

  /// What signs subscriptions and sign-ins for the app.
  var signature: SubscriptionSignature { SubscriptionSignature(key: key, secret: secret) }
}
