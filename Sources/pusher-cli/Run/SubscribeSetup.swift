internal import PusherCore

extension SubscribeSettings {
  private var service: PusherService { connection.service }
  var hints: Hints { Hints(connection: connection) }

  /// - Parameter refresh: Supplies the fields of each connection, and the secret.
  func makeFeed(
    _ options: SessionOptions, sink: any EventSink, loop: EventLoop, refresh: CredentialRefresh?
  ) throws -> ChannelsFeed {
    let feed = try ChannelsFeed(
      loop: loop, destination: destination, settings: webSocket, options: options,
      signer: try signer(loop: loop, refresh: refresh), sink: sink)
    feed.fieldSource = refresh
    return feed
  }

  /// - Parameter resolved: Where a run without an end reads the secret again.
  func refresh(
    _ loop: EventLoop, _ diagnostics: Diagnostics, from resolved: Resolved? = nil
  ) -> CredentialRefresh? {
    var readSecret: (() throws(UsageError) -> Secret)?
    if let resolved, let file = secretFile {
      readSecret = { () throws(UsageError) in try resolved.secretAgain(in: file) }
    }
    return CredentialRefresh(
      fields, readSecret: readSecret, timeout: connection.connectTimeout, loop: loop,
      diagnostics: diagnostics)
  }

  var destination: Destination {
    let url = service.socketURL(
      isSecure: connection.isSecure, host: connection.host, port: connection.port,
      prefix: connection.path, key: connection.key, clientName: "swift-pusher-cli",
      version: Version.current)
    return connection.network.destination(url, fields.fixed)
  }

  /// Address of the app, to which the positions of `--state-file` belong.
  var app: HTTPURL {
    var url = destination.url
    url.query = nil
    return url
  }

  /// - Parameter longestSilence: Maximum silence before a ping, if shorter than the settings.
  func sessionOptions(longestSilence: Duration? = nil) -> SessionOptions {
    let silence = feed.activityTimeout ?? .seconds(120)
    var options = SessionOptions(
      service: service, activityTimeout: min(silence, longestSilence ?? silence),
      pongTimeout: pongTimeout, connectTimeout: connection.connectTimeout,
      reconnect: feed.policy(
        floor: max(.milliseconds(10), min(feed.reconnectDelay, feed.retryMaxDelay))))
    options.presence.members = maxMembers
    options.rewind = rewind
    return options
  }

  /// - Throws: ``UsageError`` for user information that is not JSON.
  func signer(loop: EventLoop, refresh: CredentialRefresh? = nil) throws -> any Signer {
    func signature(_ first: Secret) -> SubscriptionSignature {
      self.signature(refresh?.secret ?? first)
    }
    let user: (any Signer)? =
      switch userSignIn {
      case .unwanted: nil
      case .secret(let secret, let userData):
        SecretSigner(signature: signature(secret), userData: userData)
      case .endpoint(let endpoint): try asking(endpoint, loop: loop)
      case .command(let command): running(command, loop: loop)
      }
    let channels: (any Signer)? =
      switch authorization {
      case .unavailable: nil
      case .secret(let secret, let member, let encryptionKey):
        SecretSigner(signature: signature(secret), member: member, masterKey: encryptionKey)
      case .endpoint(let endpoint): SigningQueue(try asking(endpoint, loop: loop))
      case .command(let command): SigningQueue(running(command, loop: loop))
      }
    return SplitSigner(channels: channels, user: user)
  }

  func signature(_ secret: Secret) -> SubscriptionSignature {
    SubscriptionSignature(key: connection.key, secret: secret.revealed)
  }

  private func running(_ command: String, loop: EventLoop) -> CommandSigner {
    CommandSigner(loop: loop, command: command, timeout: connection.connectTimeout)
  }

  private func asking(_ endpoint: AuthorizationEndpoint, loop: EventLoop) throws -> EndpointSigner {
    try EndpointSigner(
      loop: loop,
      destination: connection.network.destination(
        try HTTPURL(parsing: endpoint.url), endpoint.headers, tls: connection.endpointTLS),
      parameters: endpoint.parameters.map { ($0.name, $0.value) },
      timeout: connection.connectTimeout)
  }
}
