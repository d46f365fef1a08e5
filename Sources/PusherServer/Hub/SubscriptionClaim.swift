internal import PusherCore

/// Why a subscription is not accepted.
struct SubscriptionRefusal: Error, Equatable {
  /// What it is about, where servers tell that apart.
  enum Cause {
    /// The app has not allowed it.
    case unauthorized
    case longName
    case name
    case fullChannel
    case longMember
    case other
  }

  let reason: String
  /// `nil` where Pusher gives no number.
  var code: PusherCode?
  var cause = Cause.other
}

/// A client's claim that its app lets it join a channel.
struct SubscriptionClaim {
  let socketID: String
  let channel: String
  /// `KEY:HEX`.
  let auth: String
  let channelData: String?

  /// Checks key and signature.
  func verify(for application: Application) throws(SubscriptionRefusal) {
    let colon = auth.firstIndex(of: ":")
    let key = colon.map { String(auth[..<$0]) } ?? auth
    guard key.isSame(as: application.key), colon != nil else {
      throw SubscriptionRefusal(
        reason: "Invalid key in subscription auth data: '\(key)'", cause: .unauthorized)
    }
    let signature = SubscriptionSignature(key: application.key, secret: application.secret)
    let expected = signature.authorize(
      socketID: socketID, channel: channel, channelData: channelData)
    guard Digest.equalInConstantTime(Array(auth.utf8), Array(expected.auth.utf8)) else {
      let signed = "\(socketID):\(channel)" + (channelData.map { ":\($0)" } ?? "")
      let given = auth.dropping(prefix: key + ":") ?? ""
      throw SubscriptionRefusal(
        reason: "Invalid signature: Expected HMAC SHA256 hex digest of \(signed), but got \(given)",
        cause: .unauthorized)
    }
  }

  /// Who joins a presence channel; without `channel_data` it is the user who is signed in.
  func member(
    limits: ServerLimits, user: SignedInUser?, dialect: Dialect
  ) throws(SubscriptionRefusal) -> Member {
    guard let channelData else {
      if let user { return Member(userID: user.id, info: user.info) }
      throw SubscriptionRefusal(
        reason: "presence channels need channel_data with a user_id, or a signed-in user")
    }
    guard channelData.utf8.count <= limits.channelData else {
      throw SubscriptionRefusal(
        reason: "channel_data has at most \(limits.channelData) bytes, "
          + "this one \(channelData.utf8.count)", cause: .longMember)
    }
    guard let data = try? JSONParser.parse(channelData),
      let id = data["user_id"], let userID = id.identifier, !userID.isEmpty
    else {
      throw SubscriptionRefusal(reason: "channel_data is not a JSON object with a user_id")
    }
    guard userID.count <= limits.userID else {
      throw SubscriptionRefusal(
        reason: "a user_id has at most \(limits.userID) characters, this one \(userID.count)")
    }
    return Member(
      userID: userID, info: data["user_info"], id: dialect.keepsNumbers ? id : .string(userID))
  }
}
