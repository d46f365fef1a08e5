public import PusherCore
internal import PusherServer

/// Clients of the server, and its HTTP API.
extension PusherTestServer {
  /// The options of a client of this server; change what your test is about.
  ///
  /// - Parameter authMethod: How subscriptions are signed; `nil` for the app's secret.
  public func clientOptions(authMethod: AuthMethod? = nil) -> PusherClientOptions {
    PusherClientOptions(
      authMethod: authMethod ?? .inline(secret: secret), host: .host("127.0.0.1"), port: port,
      useTLS: isSecure, service: options.service, caFile: caFile,
      encryptionMasterKey: options.applications[0].masterKey)
  }

  /// A client of this server, which is not connected yet.
  ///
  /// - Parameter userID: Who it is on presence channels, and when it signs in; `nil` for nobody.
  public func client(userID: String? = nil) -> Pusher {
    var options = clientOptions()
    if let userID {
      options.userAuthMethod = .inline(secret: secret, userData: ["id": .string(userID)])
    }
    let pusher = Pusher(key: key, options: options)
    if let userID {
      pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: userID) }
    }
    return pusher
  }

  /// The app's HTTP API on this server.
  public var api: PusherAPI {
    PusherAPI(
      appID: appID, key: key, secret: secret,
      options: PusherAPI.Options(
        host: .host("127.0.0.1"), port: port, useTLS: isSecure, caFile: caFile,
        service: options.service, encryptionMasterKey: options.applications[0].masterKey,
        runtime: runtime))
  }

  /// The URL of an endpoint that lets every client of this server into every channel, for `AuthMethod.endpoint`.
  public var authEndpoint: String { url + "/pusher/auth" }

  /// The URL of an endpoint that takes the request's `user_id` for the user, for `UserAuthMethod.endpoint`.
  public var userAuthEndpoint: String { url + "/pusher/user-auth" }

  /// The server's URL, without a slash at its end.
  public var url: String { "\(isSecure ? "https" : "http")://127.0.0.1:\(port)" }

  private var isSecure: Bool { options.certificateFile != nil }

  // MARK: Events

  /// Sends one event to one or more channels, through ``api``.
  ///
  /// Only those get it that are subscribed by now: see ``subscribers(of:reach:)``.
  public func trigger(
    _ eventName: String, channels: [String], data: String
  ) async throws(PusherAPIError) {
    try await api.trigger(eventName, channels: channels, data: data)
  }

  /// The same with data of a type of yours, which is sent as JSON.
  @_disfavoredOverload
  public func trigger(
    _ eventName: String, channels: [String], data: some Encodable
  ) async throws(PusherAPIError) {
    try await api.trigger(eventName, channels: channels, data: data)
  }
}
