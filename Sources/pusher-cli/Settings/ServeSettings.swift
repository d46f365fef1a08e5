internal import PusherCore
internal import PusherServer

#if Redis
  internal import PusherCluster
#endif

struct ServeSettings: CommandSettings {
  var listen: ListenSettings
  /// At least one app, with distinct IDs and keys.
  var server: ServerOptions
  /// Defaults that apply to app ID, key and secret, for an announcement.
  var defaulted: [String]
  #if Redis
    var redis: RedisSettings?
  #endif
  /// Time over which sockets are closed at the end; `nil` for at once.
  var drain: Duration?
  var monitor: ListenSettings?
  var console: ConsoleSettings
  var logsEvents: Bool
  var hasTimestamps: Bool
  /// True if `--max-connections` was given.
  var asksForConnections: Bool
  /// Text for standard output when the server listens.
  var printed: ServedText?
  var common: CommonSettings

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    let handed = try HandedSockets(reader.environment, reader.files)
    listen = try reader.listening(handed)
    if let path = typed.text(.apps) {
      server = ServerOptions(applications: try reader.servedApps(path))
      defaulted = []
    } else {
      let (app, defaulted) = try reader.servedApp(listen)
      server = ServerOptions(applications: [app])
      self.defaulted = defaulted
    }
    server.listen = listen.address
    server.certificate = try reader.certificate()
    console = try reader.console()
    server.webhooks.delay = typed.time(.webhookDelay)
    server.webhooks.trust = TLSEnvironment(reader.environment.variables)
    server.access = try Self.access(typed, isLocal: listen.isLoopback)
    server.authEndpoints = reader.authEndpoints(server.access.hosts)
    server.acceptsCompression = typed.isOn(.compression)
    monitor = try reader.monitoring(handed)
    drain = typed.duration(.drain)
    (logsEvents, printed) = (typed.isOn(.logEvents), ServedText(typed))
    hasTimestamps = typed.isOn(.timestamps)
    server.faults = try Self.faults(typed)
    server.dialect = try reader.choice(.dialect)
    server.limits = Self.limits(typed, of: server.dialect)
    asksForConnections = typed.text(.maxConnections) != nil
    server.service = reader.service
    if hasTimestamps, !logsEvents, typed.origin(.timestamps) == nil {
      throw UsageError("--timestamps needs --log-events")
    }
    if !server.dialect.has(.sendsWebhooks),
      server.applications.contains(where: { !$0.webhooks.isEmpty })
    {
      reader.warn(
        "\(server.dialect.name) has no webhooks; "
          + "serve --dialect \(server.dialect) sends them anyway")
    }
    common = reader.common
    try reader.share(&self)
  }

  var isSecure: Bool { server.certificate != nil }

  /// Returns the options with which other commands reach the server at `port` and its first app.
  func localOptions(port: UInt16) -> String {
    let local = CredentialSource.local
    var options = ["--local"]
    if listen.reachable != local.host?.value { options.append("--host \(listen.reachable)") }
    if "\(port)" != local.port?.value { options.append("--port \(port)") }
    if isSecure { options.append("--scheme https") }
    if let key = server.applications.first?.key, key != local.key?.value {
      options.append("--key \(key)")
    }
    return options.joined(separator: " ")
  }

  private static func limits(_ typed: TypedArguments, of dialect: Dialect) -> ServerLimits {
    var limits = dialect.limits
    limits.sizes.allOutput = typed.bytes(.maxQueued)
    limits.connections = typed.number(.maxConnections)
    limits.channels = typed.number(.serveMaxChannels)
    limits.channelsPerAddress = typed.number(.maxAddressChannels)
    limits.subscriptions = typed.number(.maxSocketChannels)
    limits.joinsPerSecond = typed.number(.joinsPerSecond)
    return limits
  }

  private static func faults(_ typed: TypedArguments) throws(UsageError) -> [StagedFault] {
    var faults: [StagedFault] = []
    for text in typed.texts(.fault) {
      faults.append(try UsageError.explaining("--fault: ", try StagedFault(parsing: text)))
    }
    return faults
  }

  private static func access(
    _ typed: TypedArguments, isLocal: Bool
  ) throws(UsageError) -> AccessPolicy {
    var access = AccessPolicy()
    access.hosts.isPublic = !isLocal
    for text in typed.texts(.allowOrigin) {
      // Accept an origin as copied from a browser's address bar.
      let isPasted = text.hasSuffix("/") && !text.hasSuffix("//")
      guard let origin = OriginPolicy.Origin(isPasted ? text.dropLast() : text[...]) else {
        throw UsageError(
          "--allow-origin: '\(text)' is not of the form https://HOST or https://HOST:PORT")
      }
      access.origins.allowed.insert(origin)
    }
    for text in typed.texts(.allowHost) {
      guard let host = LocalHost(text) ?? LocalHost("[\(text)]") else {
        throw UsageError("--allow-host: '\(text)' is not a host name or address without a port")
      }
      access.hosts.allowed.insert(host)
    }
    return access
  }
}

extension SettingsReader {
  fileprivate mutating func certificate() throws(UsageError) -> CertificateFiles? {
    var tls = TLSConfiguration()
    let (file, key) = (try pemFile(.tlsCert, &tls.kept), try pemFile(.tlsKey, &tls.kept))
    return file.map { CertificateFiles($0, key: key, tls: tls) }
  }

  fileprivate mutating func authEndpoints(_ hosts: HostPolicy) -> Reach {
    let names = hosts.allowed.filter { !$0.isLocal }.map(\.description).sorted()
    switch typed.choice(.authEndpoints) {
    case true where hosts.isPublic || !names.isEmpty:
      warn(
        "--auth-endpoints: everyone who reaches this server, also through a proxy, gets signatures "
          + "for every channel")
    case nil where !hosts.isPublic && !names.isEmpty:
      warn(
        "--allow-host \(names.joined(separator: ", ")): requests for this name or through a proxy "
          + "cannot use the authorisation endpoints, /faults and the console; --auth-endpoints "
          + "opens the endpoints to everyone, --no-auth-endpoints removes them")
    default: break
    }
    let usual = hosts.isPublic ? Reach.nobody : .thisMachine
    return typed.choice(.authEndpoints).map { $0 ? .everybody : .nobody } ?? usual
  }

  /// Returns the app that options and environment name, and the defaults that it uses.
  ///
  /// - Throws: ``UsageError`` also for a public address with the well-known default secret.
  fileprivate mutating func servedApp(
    _ listen: ListenSettings
  ) throws(UsageError) -> (app: Application, defaulted: [String]) {
    let source = try source(.api)
    warnOfUnreadSettings(beside: source)
    let local = CredentialSource.local
    var withKey = source
    withKey.key = source.key ?? local.key
    let key = try key(withKey)
    let appID = typed.setting(.appID) ?? source.appID
    if let appID { try requireWord(appID, what: "app id") }
    let secret = try secret(source)
    guard secret != nil || listen.isLoopback else {
      throw UsageError(
        "\(listen.handed == nil ? "--listen" : "LISTEN_FDS"): other machines may reach "
          + "\(listen.host), but the app has only the default secret 'local': give --secret-file, "
          + "or PUSHER_APP_KEY and PUSHER_APP_SECRET")
    }
    var app = try servedDefaults()
    app.id = appID?.value ?? local.appID?.value ?? app.id
    app.key = key.value
    app.secret = secret?.revealed ?? app.secret
    app.limits.messageRate = try messageRate(source)
    let defaulted = [
      appID == nil ? "app id '\(app.id)'" : nil, key == local.key ? "key 'local'" : nil,
      secret == nil ? "secret 'local'" : nil,
    ].compactMap { $0 }
    return (app, defaulted)
  }

  /// Returns the rate limit of Reverb's variables; warns if the dialect does not have it.
  private mutating func messageRate(
    _ source: CredentialSource
  ) throws(UsageError) -> MessageRateLimit? {
    let dialect: Dialect = try choice(.dialect)
    guard let variables = source.rateLimit, let on = variables.switchedOn else { return nil }
    if dialect.has(.limitsMessages) { return try variables.limit() }
    warn("\(on.origin) is '\(on.value)', but only --dialect reverb has a rate limit")
    return nil
  }

  fileprivate mutating func servedApps(_ path: String) throws(UsageError) -> [Application] {
    let file = try AppsFile(defaults: servedDefaults(), dialect: choice(.dialect))
    return try file.apps(in: confidentialText(in: path, "--apps"))
  }

  private mutating func servedDefaults() throws(UsageError) -> Application {
    var app = Application(id: "1", key: "local", secret: "local")
    app.allowsClientEvents = typed.isOn(.clientEvents)
    app.sendsSubscriptionCounts = typed.isOn(.subscriptionCounts)
    for text in typed.texts(.webhook) {
      app.webhooks.append(try Application.webhook(text, "--webhook"))
    }
    app.masterKey = try encryptionKey(for: nil, orIfThere: true)
    return app
  }

  fileprivate func share(_ settings: inout ServeSettings) throws(UsageError) {
    let flag = typed.text(.redis)
    guard let text = flag ?? environment[.redis], !text.isEmpty else { return }
    let source = flag == nil ? Flag.redis.variable ?? "" : Flag.redis.spelling
    #if Redis
      let redis = try UsageError.explaining("\(source): ", try RedisSettings(parsing: text))
      guard flag == nil || redis.password == nil else {
        throw UsageError(
          "--redis: a password would show in ps; give the URL in PUSHER_CLI_REDIS_URL")
      }
      settings.redis = redis
    #else
      _ = text
      throw UsageError("\(source): this build cannot use Redis: build it with the trait Redis")
    #endif
  }
}

extension SettingsOrigin {
  var appsFile: String? { typed.text(.apps) }

  /// Reads the apps of `--apps` again, except from standard input and pipes.
  func servedApps() throws(UsageError) -> [Application] {
    guard let path = appsFile, kept[path] == nil else {
      let name = appsFile.flatMap { $0 == "-" ? nil : "'\($0)'" } ?? "standard input"
      throw UsageError("--apps: cannot read \(name) again")
    }
    var reader = try SettingsReader(typed, environment: environment, files: .running(kept: kept))
    return try reader.servedApps(path)
  }
}

/// A text that `serve` prints when it listens, for an application.
enum ServedText: Equatable, Sendable {
  /// Variables of a `.env` file, with the secret.
  case environment
  case snippets

  /// Reads the flags, which exclude each other; `nil` without them.
  init?(_ typed: TypedArguments) {
    if typed.isOn(.printEnv) {
      self = .environment
    } else if typed.isOn(.printSnippets) {
      self = .snippets
    } else {
      return nil
    }
  }
}
