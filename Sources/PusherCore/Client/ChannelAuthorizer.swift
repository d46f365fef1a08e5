/// Whoever answers whether a socket may join a channel.
package protocol ChannelAuthorizer: AnyObject {
  /// Answers on the loop's thread, at once or later, exactly once unless cancelled.
  func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void)

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

  /// - Parameter member: Who joins presence channels; without one the socket's id is the user's, as with PusherSwift,
  ///   so that each connection is a member of its own.
  package init(signature: SubscriptionSignature, member: Member?) {
    self.signature = signature
    self.member = member
  }

  package func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void
  ) {
    // A server that could choose any text would have us sign whatever it likes: a call of the HTTP API, say.
    guard SocketID.isValid(request.socketID) else {
      completion(
        .failure(
          .unusable("the server's socket id is not two numbers with a dot, so it is not signed")))
      return
    }
    var channelData: String?
    if ChannelKind(channelName: request.channel) == .presence {
      let member = member ?? Member(userID: request.socketID)
      do {
        channelData = try Self.channelData(member)
      } catch {
        completion(.failure(.refused(status: nil, "the user information is \(error)")))
        return
      }
    }
    completion(
      .success(
        signature.authorize(
          socketID: request.socketID, channel: request.channel, channelData: channelData)))
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

/// Answers for clients that have no means to sign.
package final class NoAuthorizer: ChannelAuthorizer {
  package init() {}

  package func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void
  ) {
    completion(.failure(.refused(status: nil, "no way to authorise was given")))
  }

  package func cancelAll() {}
}
