internal import PusherCore

/// Turns settings into those of the library.
extension SubscribeSettings {
  /// Where and how to connect.
  ///
  /// - Throws: ``HTTPError`` for a host or path that no URL can hold.
  func destination(service: Service) throws(HTTPError) -> Destination {
    let target = service.socketTarget(
      key: PercentEncoding.encode(connection.key), prefix: connection.path,
      clientName: "swift-pusher-cli", version: Version.current)
    let parts = target.split(separator: "?", maxSplits: 1)
    let url = HTTPURL(
      scheme: connection.isSecure ? .wss : .ws, host: connection.host, port: connection.port,
      path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : nil)
    return Destination(
      url: url, routing: connection.routing, tls: connection.tls, trust: connection.trust)
  }

  /// How the session behaves; `longestSilence` is the longest silence before a ping, in spite of the other settings.
  func sessionOptions(service: Service, longestSilence: Duration? = nil) -> SessionOptions {
    let silence = feed.activityTimeout ?? .seconds(120)
    // A longest wait below a second asks for quick retries, but the program must still wait.
    let floor = min(.seconds(1), max(.milliseconds(10), feed.retryMaxDelay))
    var options = SessionOptions(
      service: service, activityTimeout: min(silence, longestSilence ?? silence),
      pongTimeout: pongTimeout, connectTimeout: connection.connectTimeout,
      reconnect: feed.policy(floor: floor))
    options.presence.members = maxMembers
    return options
  }

  /// Signs for private and presence channels, and for the user.
  ///
  /// - Throws: ``UsageError`` for user information that is not JSON.
  func signer(loop: EventLoop) throws -> any Signer {
    let user: any Signer =
      switch userSignIn {
      case .unwanted: NoSigner()
      case .secret(let secret, let userData):
        SecretSigner(signature: signature(secret), userData: userData)
      case .endpoint(let endpoint): try asking(endpoint, loop: loop)
      case .command(let command): running(command, loop: loop)
      }
    let channels: any Signer =
      switch authorization {
      case .unavailable: NoSigner()
      case .secret(let secret, let member, let encryptionKey):
        SecretSigner(
          signature: signature(secret), member: member, masterKey: encryptionKey)
      case .endpoint(let endpoint): SigningQueue(try asking(endpoint, loop: loop))
      case .command(let command): SigningQueue(running(command, loop: loop))
      }
    return SplitSigner(channels: channels, user: user)
  }

  private func signature(_ secret: Secret) -> SubscriptionSignature {
    SubscriptionSignature(key: connection.key, secret: secret.revealed)
  }

  private func running(_ command: String, loop: EventLoop) -> CommandSigner {
    CommandSigner(
      loop: loop, command: command,
      variables: .init(channel: "PUSHER_CLI_CHANNEL", socketID: "PUSHER_CLI_SOCKET_ID"),
      timeout: connection.connectTimeout)
  }

  private func asking(_ endpoint: AuthorizationEndpoint, loop: EventLoop) throws -> EndpointSigner {
    try EndpointSigner(
      loop: loop,
      destination: Destination(
        url: try HTTPURL(parsing: endpoint.url),
        headers: HTTPHeaders(endpoint.headers.map { ($0.name, $0.value) }),
        routing: connection.routing, tls: connection.endpointTLS, trust: connection.trust),
      parameters: endpoint.parameters.map { ($0.name, $0.value) },
      timeout: connection.connectTimeout)
  }
}
