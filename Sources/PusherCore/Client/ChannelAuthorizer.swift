/// Whoever answers whether a socket may join a channel.
package protocol ChannelAuthorizer: AnyObject {
  /// Answers on the loop's thread, at once or later, exactly once unless cancelled.
  func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void)

  /// Forgets every open question; their completions are not called.
  func cancelAll()
}

/// Whoever answers who the user of a socket is.
package protocol UserAuthenticator: AnyObject {
  /// Answers on the loop's thread, at once or later, exactly once unless cancelled.
  func authenticate(
    _ request: UserAuthenticationRequest,
    completion: @escaping (Result<PusherUserAuth, AuthorizationFailure>) -> Void)

  /// Forgets every open question; their completions are not called.
  func cancelAll()
}

/// Signs with the app's secret, in this process.
package final class InlineAuthorizer: ChannelAuthorizer {
  /// Whom other members of a presence channel see.
  package struct Member: Sendable {
    package var userID: String
    /// JSON text; `nil` when nothing is told.
    package var userInfo: String?

    package init(userID: String, userInfo: String? = nil) {
      self.userID = userID
      self.userInfo = userInfo
    }
  }

  private let signature: SubscriptionSignature
  private let member: Member?
  private let masterKey: EncryptionMasterKey?

  /// - Parameter masterKey: Makes the keys of encrypted channels, which cannot be joined without it.
  /// - Parameter member: Who joins presence channels; without one the socket's id is the user's, as with PusherSwift,
  ///   so that each connection is a member of its own.
  package init(
    signature: SubscriptionSignature, member: Member?, masterKey: EncryptionMasterKey? = nil
  ) {
    self.signature = signature
    self.member = member
    self.masterKey = masterKey
  }

  package func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void
  ) {
    guard SocketID.isValid(request.socketID) else {
      completion(.failure(.foreignSocketID))
      return
    }
    let kind = ChannelKind(channelName: request.channel)
    var channelData: String?
    if kind == .presence {
      let member = member ?? Member(userID: request.socketID)
      do {
        channelData = try Self.channelData(member)
      } catch {
        completion(.failure(.refused(status: nil, "the user information is \(error)")))
        return
      }
    }
    var auth = signature.authorize(
      socketID: request.socketID, channel: request.channel, channelData: channelData)
    if kind == .encrypted {
      guard let masterKey else {
        completion(.failure(.refused(status: nil, "no encryption key was given")))
        return
      }
      auth.sharedSecret = masterKey.sharedSecret(channel: request.channel)
    }
    completion(.success(auth))
  }

  package func cancelAll() {}

  /// The `channel_data` of a member: `{"user_id":…,"user_info":…}`.
  private static func channelData(_ member: Member) throws(JSONError) -> String {
    var members: [JSONValue.Member] = [.init("user_id", .string(member.userID))]
    if let userInfo = member.userInfo {
      members.append(.init("user_info", try JSONParser.parse(userInfo)))
    }
    return JSONWriter.text(.object(members))
  }
}

/// Signs a user's sign-in with the app's secret, in this process.
package final class InlineAuthenticator: UserAuthenticator {
  private let signature: SubscriptionSignature
  private let userData: String

  /// - Parameter userData: The user's JSON: `id`, and if wanted `user_info` and `watchlist`.
  package init(signature: SubscriptionSignature, userData: String) {
    self.signature = signature
    self.userData = userData
  }

  package func authenticate(
    _ request: UserAuthenticationRequest,
    completion: @escaping (Result<PusherUserAuth, AuthorizationFailure>) -> Void
  ) {
    guard SocketID.isValid(request.socketID) else {
      completion(.failure(.foreignSocketID))
      return
    }
    let auth = signature.signIn(socketID: request.socketID, userData: userData)
    completion(.success(PusherUserAuth(auth: auth, userData: userData)))
  }

  package func cancelAll() {}
}

extension AuthorizationFailure {
  /// A server that could choose any text would have us sign whatever it likes: a call of the HTTP API, say.
  static let foreignSocketID = AuthorizationFailure.unusable(
    "the server's socket id is not two numbers with a dot, so nothing is signed for it")
}

/// Answers for clients that have no means to sign.
package final class NoAuthorizer: ChannelAuthorizer, UserAuthenticator {
  package init() {}

  package func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void
  ) {
    completion(.failure(.refused(status: nil, "no way to authorise was given")))
  }

  package func authenticate(
    _ request: UserAuthenticationRequest,
    completion: @escaping (Result<PusherUserAuth, AuthorizationFailure>) -> Void
  ) {
    completion(.failure(.refused(status: nil, "no way to sign users in was given")))
  }

  package func cancelAll() {}
}
