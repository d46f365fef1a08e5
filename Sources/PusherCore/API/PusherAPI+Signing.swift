/// Answers for authorisation endpoints: signatures for the app's clients; nothing is sent.
extension PusherAPI {
  /// Lets a socket into a private, presence or encrypted channel.
  ///
  /// - Parameters:
  ///   - channelName: The name with its prefix.
  ///   - socketID: The client's `socket_id`; it is checked, because a client could otherwise get any text signed.
  ///   - member: The member that subscribes; presence channels need one.
  /// - Returns: What the endpoint answers; ``PusherAuth/jsonText`` is its body.
  /// - Throws: ``PusherAPIError/invalid(_:)``: for an invalid name or socket id, a presence channel without a member, a
  ///   public channel, and an encrypted channel without ``Options/encryptionMasterKey``.
  public func authorizeChannel(
    _ channelName: String, socketID: String, member: PusherPresenceChannelMember? = nil
  ) throws(PusherAPIError) -> PusherAuth {
    try Self.check(channel: channelName)
    try Self.check(socketID: socketID)
    let kind = ChannelKind(channelName: channelName)
    guard kind.needsAuthorization else {
      throw .invalid("channel '\(channelName)' is public and needs no authorisation")
    }
    var channelData: String?
    if kind == .presence {
      guard let member else { throw .invalid("a presence channel needs a member") }
      let info = member.userInfo == .null ? nil : member.userInfo
      channelData = SecretSigner.channelData(userID: member.userId, userInfo: info)
    }
    var auth = signature.authorize(
      socketID: socketID, channel: channelName, channelData: channelData)
    if kind == .encrypted {
      guard let key = options.encryptionMasterKey else {
        throw .invalid("channel '\(channelName)' needs an encryption master key")
      }
      auth.sharedSecret = key.sharedSecret(channel: channelName)
    }
    return auth
  }

  /// Tells who the user of a socket is.
  ///
  /// - Parameters:
  ///   - socketID: The client's `socket_id`; it is checked.
  ///   - userData: An object with `id` and, if wanted, `user_info` and `watchlist`.
  /// - Returns: What the endpoint answers; ``PusherUserAuth/jsonText`` is its body.
  /// - Throws: ``PusherAPIError/invalid(_:)`` for an invalid socket id and for a user without an id.
  public func authenticateUser(
    socketID: String, userData: JSONValue
  ) throws(PusherAPIError) -> PusherUserAuth {
    try Self.check(socketID: socketID)
    guard userData["id"]?.identifier?.isEmpty == false else {
      throw .invalid("the user's data has no id")
    }
    let text = userData.jsonText
    return PusherUserAuth(
      auth: signature.signIn(socketID: socketID, userData: text), userData: text)
  }

  private static func check(socketID: String) throws(PusherAPIError) {
    guard SocketID.isValid(socketID) else {
      throw .invalid("\(TriggerError.invalidSocketID(socketID))")
    }
  }
}

extension PusherAuth {
  /// The JSON that an authorisation endpoint answers.
  public var jsonText: String {
    JSONValue.object(texts: [
      "auth": auth, "channel_data": channelData, "shared_secret": sharedSecret,
    ])
    .jsonText
  }
}

extension PusherUserAuth {
  /// The JSON that a user authentication endpoint answers.
  public var jsonText: String {
    JSONValue.object(texts: ["auth": auth, "user_data": userData]).jsonText
  }
}
