/// Authorisation of a subscription.
public struct PusherAuth: Sendable, Equatable {
  /// `KEY:HEX`, sent byte for byte as signed.
  public var auth: String
  /// The member's JSON on presence channels, sent byte for byte as signed.
  public var channelData: String?
  /// Key of an encrypted channel, in base64.
  public var sharedSecret: String?

  /// Creates an authorisation from the signer's parts.
  public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
    (self.auth, self.channelData, self.sharedSecret) = (auth, channelData, sharedSecret)
  }
}

/// Signs subscriptions with the app's secret.
///
/// Source: Pusher's page "Generating the authentication string".
public struct SubscriptionSignature: Sendable {
  private let key: String
  private let secret: [UInt8]

  /// The signer of one app; the secret is never sent.
  public init(key: String, secret: String) {
    self.key = key
    self.secret = Array(secret.utf8)
  }

  /// Returns the token for `SOCKET:CHANNEL`, or for `SOCKET:CHANNEL:DATA` of a presence channel.
  public func authorize(socketID: String, channel: String, channelData: String? = nil) -> PusherAuth
  {
    let text = Self.stringToSign(socketID: socketID, channel: channel, channelData: channelData)
    return PusherAuth(auth: sign(text), channelData: channelData)
  }

  /// Returns the token for a user's sign-in (`SOCKET::user::DATA`).
  public func signIn(socketID: String, userData: String) -> String {
    sign(Self.stringToSign(socketID: socketID, userData: userData))
  }

  package static func stringToSign(socketID: String, channel: String, channelData: String?)
    -> String
  { "\(socketID):\(channel)" + (channelData.map { ":\($0)" } ?? "") }

  package static func stringToSign(socketID: String, userData: String) -> String {
    "\(socketID)::user::\(userData)"
  }

  private func sign(_ text: String) -> String {
    "\(key):\(Hex.encode(Digest.hmacSHA256(Array(text.utf8), key: secret)))"
  }
}
