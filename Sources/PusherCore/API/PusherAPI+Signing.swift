/// Responses for authorisation endpoints; nothing is sent.
extension PusherAPI {
  /// Authorises a socket for a private, presence or encrypted channel.
  ///
  /// The result is the response of the endpoint; ``PusherAuth/jsonText`` is its body. Presence
  /// channels need a `member`, encrypted channels ``Options/encryptionMasterKey``. The socket id is
  /// checked, since a client could otherwise get any text signed.
  ///
  /// - Throws: ``PusherAPIError/invalid(_:)`` for an invalid name or socket id, a public channel,
  ///   and a missing member or key.
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

  /// Authenticates the user of a socket.
  ///
  /// `userData` is an object with `id` and optionally `user_info` and `watchlist`. The result is
  /// the response of the endpoint; ``PusherUserAuth/jsonText`` is its body.
  ///
  /// - Throws: ``PusherAPIError/invalid(_:)`` for an invalid socket id and a user without an id.
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
  /// JSON response of an authorisation endpoint.
  public var jsonText: String {
    JSONValue.object(texts: [
      "auth": auth, "channel_data": channelData, "shared_secret": sharedSecret,
    ]).jsonText
  }
}

extension PusherUserAuth {
  /// JSON response of a user authentication endpoint.
  public var jsonText: String {
    JSONValue.object(texts: ["auth": auth, "user_data": userData]).jsonText
  }
}
