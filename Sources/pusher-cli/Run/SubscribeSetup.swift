internal import PusherCore

/// From settings to what the library wants to know.
extension SubscribeSettings {
  /// Where and how to connect.
  ///
  /// - Throws: ``HTTPError`` for a host or path that no URL can hold.
  func clientConfiguration(service: Service) throws(HTTPError) -> ClientConfiguration {
    let target = service.socketTarget(
      key: PercentEncoding.encode(connection.key), prefix: connection.path,
      clientName: "swift-pusher-cli", version: Version.current)
    let parts = target.split(separator: "?", maxSplits: 1)
    let url = HTTPURL(
      scheme: connection.isSecure ? .wss : .ws, host: connection.host, port: connection.port,
      path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : nil)
    return ClientConfiguration(
      url: url, subprotocols: subprotocols, routing: connection.routing, tls: connection.tls,
      trust: connection.trust,
      offersCompression: offersCompression)
  }

  /// How the session behaves; `longestSilence` is how long the server may be silent before it is asked for a sign of
  /// life, whatever else was said of that.
  func sessionOptions(service: Service, longestSilence: Duration? = nil) -> SessionOptions {
    let mode: ReconnectPolicy.Mode =
      switch feed.reconnect {
      case .auto: .automatic
      case .always: .always
      case .never: .never
      }
    let silence = feed.activityTimeout ?? .seconds(120)
    // A longest wait below a second is a wish for quick retries, but no licence to spin.
    let floor = min(.seconds(1), max(.milliseconds(10), feed.retryMaxDelay))
    var options = SessionOptions(
      service: service, activityTimeout: min(silence, longestSilence ?? silence),
      pongTimeout: pongTimeout, connectTimeout: connection.connectTimeout,
      reconnect: ReconnectPolicy(
        mode: mode, maximumAttempts: feed.maxRetries,
        backoff: Backoff(floor: floor, ceiling: feed.retryMaxDelay)))
    options.presence.members = maxMembers
    return options
  }

  /// Who signs for private and presence channels.
  ///
  /// - Throws: ``UsageError`` for user information that is not JSON.
  func authorizer(loop: EventLoop) throws -> any ChannelAuthorizer {
    switch authorization {
    case .unavailable: return NoAuthorizer()
    case .secret(let secret, let member, let encryptionKey):
      let signature = SubscriptionSignature(key: connection.key, secret: secret.revealed)
      return InlineAuthorizer(
        signature: signature, member: member.map(\.presence), masterKey: encryptionKey?.masterKey)
    case .endpoint(let endpoint): return AuthorizationQueue(try asking(endpoint, loop: loop))
    case .command(let command):
      return AuthorizationQueue(
        CommandAuthorizer(loop: loop, command: command, timeout: connection.connectTimeout))
    }
  }

  /// Who signs for the user.
  func authenticator(loop: EventLoop) throws -> any UserAuthenticator {
    switch userSignIn {
    case .unwanted: return NoAuthorizer()
    case .secret(let secret, let userData):
      let signature = SubscriptionSignature(key: connection.key, secret: secret.revealed)
      return InlineAuthenticator(signature: signature, userData: userData)
    case .endpoint(let endpoint): return try asking(endpoint, loop: loop)
    case .command(let command):
      return CommandAuthorizer(loop: loop, command: command, timeout: connection.connectTimeout)
    }
  }

  private func asking(
    _ endpoint: AuthorizationEndpoint, loop: EventLoop
  ) throws -> EndpointAuthorizer {
    try EndpointAuthorizer(
      loop: loop, url: try HTTPURL(parsing: endpoint.url),
      headers: HTTPHeaders(endpoint.headers.map { ($0.name, $0.value) }),
      parameters: endpoint.parameters.map { ($0.name, $0.value) }, routing: connection.routing,
      tls: connection.endpointTLS, trust: connection.trust, timeout: connection.connectTimeout)
  }
}

extension PresenceMember {
  /// The member as the library knows it.
  fileprivate var presence: InlineAuthorizer.Member {
    InlineAuthorizer.Member(userID: userID, userInfo: userInfo)
  }
}
