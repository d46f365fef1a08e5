public import PusherCore
internal import PusherServer

/// Clients of the server, and its HTTP API.
extension PusherTestServer {
  /// Returns options for a client of this server; change those that your test needs.
  ///
  /// - Parameter authMethod: Signs subscriptions; default: the app's secret.
  public func clientOptions(authMethod: AuthMethod? = nil) -> PusherClientOptions {
    PusherClientOptions(
      authMethod: authMethod ?? .inline(secret: secret), host: .host("127.0.0.1"), port: port,
      useTLS: isSecure, service: options.service, caFile: caFile,
      encryptionMasterKey: options.applications[0].masterKey)
  }

  /// Creates a client of this server, not yet connected.
  ///
  /// - Parameter userID: User on presence channels and for sign-in; `nil` for none.
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

  /// URL of an endpoint that authorises every client for every channel, for `AuthMethod.endpoint`.
  public var authEndpoint: String { url + "/pusher/auth" }

  /// URL of an endpoint that signs in the `user_id` of the request, for `UserAuthMethod.endpoint`.
  public var userAuthEndpoint: String { url + "/pusher/user-auth" }

  /// URL of the server, without a slash at its end.
  public var url: String { "\(isSecure ? "https" : "http")://127.0.0.1:\(port)" }
  private var isSecure: Bool { options.certificate != nil }

  // MARK: Events

  /// Sends one event to one or more channels, through ``api``.
  ///
  /// Only current subscribers get it: see ``subscribers(of:reach:)``.
  public func trigger(_ eventName: String, channels: [String], data: String)
    async throws(PusherAPIError)
  { try await api.trigger(eventName, channels: channels, data: data) }

  /// Sends one event with `Encodable` data, which becomes JSON.
  @_disfavoredOverload public func trigger(
    _ eventName: String, channels: [String], data: some Encodable
  ) async throws(PusherAPIError) {
    try await api.trigger(eventName, channels: channels, data: data)
  }
}
