package struct AuthorizationRequest: Sendable, Equatable {
  /// `nil` for the user.
  package let channel: String?
  package let socketID: String
  /// Number of the connection that asks; answers for earlier connections are ignored.
  let generation: Int

  package init(channel: String?, socketID: String, generation: Int) {
    (self.channel, self.socketID, self.generation) = (channel, socketID, generation)
  }
}

package struct Authorization: Sendable, Equatable {
  package typealias Result = Swift.Result<Authorization, AuthorizationFailure>

  /// `KEY:HEX`.
  package let auth: String
  package let data: String?
  /// Key of an encrypted channel, in base64.
  package let sharedSecret: String?

  package init(_ auth: PusherAuth) {
    self.auth = auth.auth
    data = auth.channelData
    sharedSecret = auth.sharedSecret
  }

  package init(_ user: PusherUserAuth) {
    auth = user.auth
    data = user.userData
    sharedSecret = nil
  }
}

package enum AuthorizationFailure: Error, Sendable, Equatable {
  case refused(status: Int?, String)
  /// The signer cannot be reached or is overloaded; a retry may help.
  case unavailable(status: Int?, String)
  /// The answer breaks the protocol.
  case unusable(String)

  package var reason: String {
    switch self {
    case .refused(_, let reason), .unavailable(_, let reason), .unusable(let reason): reason
    }
  }
}

struct SignatureAttempts: Equatable {
  /// Maximum failures in a row before the first success.
  private static let limit = 3

  enum Verdict {
    case failed(SubscriptionFailure)
    case askAgain(in: Duration, reason: String)
  }

  private var inVain = 0
  private(set) var haveWorked = false

  mutating func restart() { inVain = 0 }

  mutating func noteConfirmed() {
    haveWorked = true
    inVain = 0
  }

  /// A refusal is final; an unreachable signer is asked again, without a limit once it has worked.
  mutating func failed(
    _ failure: AuthorizationFailure, _ backoff: Backoff, random: inout any RandomNumberGenerator
  ) -> Verdict {
    let status: Int?
    switch failure {
    case .refused(let status, let message):
      return .failed(SubscriptionFailure(type: "AuthError", message: message, status: status))
    case .unusable(let message) where !haveWorked:
      return .failed(SubscriptionFailure(type: "AuthError", message: message, fault: .peer))
    // The endpoint answered properly before, so this came from something else, such as a proxy.
    case .unusable: status = nil
    case .unavailable(let number, _): status = number
    }
    inVain += 1
    // A forwarder that runs for months must outlive a deploy of the app that signs for it.
    guard haveWorked || inVain < Self.limit else {
      return .failed(
        SubscriptionFailure(
          type: "AuthError", message: failure.reason, status: status,
          fault: status == nil ? .network : .peer))
    }
    return .askAgain(
      in: backoff.delay(attempt: inVain - 1, random: random.next()), reason: failure.reason)
  }
}

extension Authorization {
  /// Reads the answer of an authorisation endpoint or command.
  ///
  /// - For a channel: `{"auth":"KEY:HEX","channel_data"?:String,"shared_secret"?:String}`. A
  ///   `channel_data` that is an object cannot be repaired: the signature covers its exact bytes.
  /// - For the user: `{"auth":"KEY:HEX","user_data":String}`.
  ///
  /// Some frameworks wrap every answer: `{"data":{"auth":…}}`. Source: Pusher's page "Authorizing
  /// users", and the shapes of real servers.
  package init(_ body: [UInt8], forChannel: Bool) throws(AuthorizationFailure) {
    let (value, auth) = try Self.object(body)
    if forChannel {
      let data = value["channel_data"] ?? .null
      guard data == .null || data.text != nil else {
        throw .unusable("\"channel_data\" must be the JSON text that was signed, not an object")
      }
      self.init(
        PusherAuth(auth: auth, channelData: data.text, sharedSecret: value["shared_secret"]?.text))
    } else {
      guard let userData = value["user_data"]?.text else {
        throw .unusable("the answer has no \"user_data\" with the JSON text that was signed")
      }
      self.init(PusherUserAuth(auth: auth, userData: userData))
    }
  }

  package static func result(of body: [UInt8], to request: AuthorizationRequest) -> Result {
    Result { () throws(AuthorizationFailure) in
      try Authorization(body, forChannel: request.channel != nil)
    }
  }

  private static func object(
    _ body: [UInt8]
  ) throws(AuthorizationFailure) -> (JSONValue, auth: String) {
    var value: JSONValue
    do {
      let buffer = ByteBuffer(capacity: body.count)
      buffer.append(body)
      value = try JSONParser.parse(buffer.view)
    } catch {
      throw .unusable(body.isEmpty ? "the answer is empty" : "the answer is \(error)")
    }
    guard case .object = value else { throw .unusable("the answer is not a JSON object") }
    if value["auth"]?.text == nil, let wrapped = value["data"], wrapped["auth"] != nil {
      value = wrapped
    }
    guard let auth = value["auth"]?.text else {
      throw .unusable("the answer has no \"auth\" string")
    }
    guard auth.contains(":") else { throw .unusable("\"auth\" is not of the form KEY:SIGNATURE") }
    return (value, auth)
  }
}

/// Socket IDs: two numbers with a dot between them, never parsed because some exceed 32 bits.
package enum SocketID {
  /// No server gives out longer IDs; commands get the ID as a variable.
  private static let longest = 100

  /// Reports whether `text` has the form `^\d+\.\d+$`.
  package static func isValid(_ text: String) -> Bool {
    guard text.utf8.count <= longest else { return false }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0 &- 0x30 < 10 } }
  }
}

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

/// Authentication of a sign-in.
public struct PusherUserAuth: Sendable, Equatable {
  /// `KEY:HEX`, sent byte for byte as signed.
  public var auth: String
  /// The user's JSON with its `id`, sent byte for byte as signed.
  public var userData: String

  /// Creates an authentication from the signer's parts.
  public init(auth: String, userData: String) { (self.auth, self.userData) = (auth, userData) }
}
