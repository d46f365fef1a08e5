internal import PusherConsole
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
  /// Text for standard output when the server listens: variables of a `.env` file, with the secret,
  /// or snippets.
  var printsEnvironment: Bool
  var printsSnippets: Bool
  /// The words after `--`: a command that runs while the server listens, or none.
  var command: [String]
  var common: CommonSettings

  init(_ resolved: inout Resolved) throws(UsageError) {
    let handed = try ListenSettings.handedSockets(resolved)
    listen = try ListenSettings(&resolved, handed.server)
    if let path = resolved[.apps].text {
      server = ServerOptions(applications: try Self.apps(in: path, &resolved))
      defaulted = []
    } else {
      let (app, defaulted) = try Self.app(&resolved, listen)
      server = ServerOptions(applications: [app])
      self.defaulted = defaulted
    }
    server.listen = listen.address
    server.certificate = try Self.certificate(&resolved)
    console = try ConsoleSettings(resolved)
    server.webhooks.delay = resolved[.webhookDelay].time
    server.webhooks.trust = TLSEnvironment(resolved.environment.variables)
    server.access = try Self.access(resolved, isLocal: listen.isLoopback)
    server.authEndpoints = Self.authEndpoints(server.access, &resolved)
    server.acceptsCompression = resolved[.compression].isOn
    monitor = try ListenSettings(metrics: &resolved, handed.metrics)
    drain = resolved[.drain].duration
    logsEvents = resolved[.logEvents].isOn
    (printsEnvironment, printsSnippets) = (resolved[.printEnv].isOn, resolved[.printSnippets].isOn)
    hasTimestamps = resolved[.timestamps].isOn
    command = resolved.operands
    server.faults = try Self.faults(resolved)
    server.dialect = try resolved.choice(.dialect)
    server.limits = Self.limits(resolved, of: server.dialect)
    asksForConnections = resolved[.maxConnections].isGiven
    server.service = resolved.service
    if server.service.replaysEvents {
      throw UsageError(
        "--service sockudo: serve speaks this protocol to each client that asks for it; leave it out"
      )
    }
    if hasTimestamps, !logsEvents, resolved[.timestamps].source == nil {
      throw UsageError("--timestamps needs --log-events")
    }
    if !server.dialect.has(.sendsWebhooks),
      server.applications.contains(where: { !$0.webhooks.isEmpty })
    {
      resolved.warn(
        "\(server.dialect.name) has no webhooks; "
          + "serve --dialect \(server.dialect) sends them anyway")
    }
    common = CommonSettings(resolved)
    try share(resolved)
  }

  var isSecure: Bool { server.certificate != nil }

  /// Returns the options with which other commands reach the server at `port` and its first app.
  func localOptions(port: UInt16) -> String {
    let local = CredentialSource.local
    var options = ["--local"]
    if listen.reachable != local[.host]?.value { options.append("--host \(listen.reachable)") }
    if "\(port)" != local[.port]?.value { options.append("--port \(port)") }
    if isSecure { options.append("--scheme https") }
    if let key = server.applications.first?.key, key != local[.key]?.value {
      options.append("--key \(key)")
    }
    return options.joined(separator: " ")
  }

  private static func limits(_ resolved: Resolved, of dialect: Dialect) -> ServerLimits {
    var limits = dialect.limits
    limits.sizes.allOutput = resolved[.maxQueued].bytes
    limits.connections = resolved[.maxConnections].number
    limits.channels = resolved[.serveMaxChannels].number
    limits.channelsPerAddress = resolved[.maxAddressChannels].number
    limits.subscriptions = resolved[.maxSocketChannels].number
    limits.joinsPerSecond = resolved[.joinsPerSecond].number
    limits.times.recovery = resolved[.recoveryWindow].time
    limits.recoveryEvents = resolved[.recoveryLimit].number
    return limits
  }

  private static func faults(_ resolved: Resolved) throws(UsageError) -> [StagedFault] {
    var faults: [StagedFault] = []
    for text in resolved[.fault].texts {
      faults.append(try UsageError.explaining("--fault: ", try StagedFault(parsing: text)))
    }
    return faults
  }

  private static func access(
    _ resolved: Resolved, isLocal: Bool
  ) throws(UsageError) -> AccessPolicy {
    var access = AccessPolicy()
    access.isPublic = !isLocal
    for text in resolved[.allowOrigin].texts {
      // Accept an origin as copied from a browser's address bar.
      let isPasted = text.hasSuffix("/") && !text.hasSuffix("//")
      guard let origin = AccessPolicy.Origin(isPasted ? text.dropLast() : text[...]) else {
        throw UsageError(
          "--allow-origin: '\(text)' is not of the form https://HOST or https://HOST:PORT")
      }
      access.origins.insert(origin)
    }
    for text in resolved[.allowHost].texts {
      guard let host = LocalHost(text) ?? LocalHost("[\(text)]") else {
        throw UsageError("--allow-host: '\(text)' is not a host name or address without a port")
      }
      access.hosts.insert(host)
    }
    return access
  }

  private static func certificate(
    _ resolved: inout Resolved
  ) throws(UsageError) -> CertificateFiles? {
    var tls = TLSConfiguration()
    let file = try resolved.pemFile(.tlsCert, &tls.kept)
    let key = try resolved.pemFile(.tlsKey, &tls.kept)
    return file.map { CertificateFiles($0, key: key, tls: tls) }
  }

  private static func authEndpoints(_ access: AccessPolicy, _ resolved: inout Resolved) -> Reach {
    let names = access.hosts.filter { !$0.isLocal }.map(\.description).sorted()
    switch resolved[.authEndpoints].choice {
    case true where access.isPublic || !names.isEmpty:
      resolved.warn(
        "--serve-auth: everyone who reaches this server, also through a proxy, gets signatures "
          + "for every channel")
    case nil where !access.isPublic && !names.isEmpty:
      resolved.warn(
        "--allow-host \(names.joined(separator: ", ")): requests for this name or through a proxy "
          + "cannot use the authorisation endpoints, /faults and the console; --serve-auth "
          + "opens the endpoints to everyone, --no-serve-auth removes them")
    default: break
    }
    let usual = access.isPublic ? Reach.nobody : .thisMachine
    return resolved[.authEndpoints].choice.map { $0 ? .everybody : .nobody } ?? usual
  }

  /// Returns the app that options and environment name, and the defaults that it uses.
  ///
  /// - Throws: ``UsageError`` also for a public address with the well-known default secret.
  private static func app(
    _ resolved: inout Resolved, _ listen: ListenSettings
  ) throws(UsageError) -> (app: Application, defaulted: [String]) {
    let source = try resolved.source(.api)
    warnOfUnread(&resolved, beside: source)
    let local = CredentialSource.local
    var named = resolved.withOptions(source)
    named[.key] = named[.key] ?? local[.key]
    let key = try resolved.key(named)
    if let appID = named[.appID] { try Resolved.requireWord(appID, what: "app id") }
    let secret = try resolved.secret(named)
    guard secret != nil || listen.isLoopback else {
      throw UsageError(
        "\(listen.handed == nil ? "--listen" : "LISTEN_FDS"): other machines may reach "
          + "\(listen.host), but the app has only the default secret 'local': give --secret-file, "
          + "or PUSHER_APP_KEY and PUSHER_APP_SECRET")
    }
    var app = try defaults(&resolved)
    app.id = named[.appID]?.value ?? local[.appID]?.value ?? app.id
    app.key = key.value
    app.secret = secret?.revealed ?? app.secret
    app.limits.messageRate = try messageRate(source, &resolved)
    let defaulted = [
      named[.appID] == nil ? "app id '\(app.id)'" : nil, key == local[.key] ? "key 'local'" : nil,
      secret == nil ? "secret 'local'" : nil,
    ].compactMap { $0 }
    return (app, defaulted)
  }

  /// Variables of other servers that change how these behave: of those with a prefix, all but those
  /// that `serve` reads, and those without an effect on clients.
  ///
  /// Limits must not disappear silently when an app moves here; docs/moving.md translates them.
  private static let otherServers = [
    (
      key: "SOKETI_DEFAULT_APP_KEY", prefixes: ["SOKETI_"],
      read: [
        "SOKETI_DEFAULT_APP_ID", "SOKETI_DEFAULT_APP_KEY", "SOKETI_DEFAULT_APP_SECRET",
        "SOKETI_PORT", "SOKETI_DEBUG",
      ]
    ),
    (
      key: "REVERB_APP_KEY",
      prefixes: ["REVERB_APP_", "REVERB_MAX_", "REVERB_PATH", "REVERB_SERVER_PATH"],
      read: ["REVERB_APP_ID", "REVERB_APP_KEY", "REVERB_APP_SECRET"] + MessageRateLimit.variables
    ),
  ]

  /// Warns of settings in the app's file that `serve` does not read.
  ///
  /// The process's own environment is not searched: the program reads known variables only.
  private static func warnOfUnread(_ resolved: inout Resolved, beside source: CredentialSource) {
    guard let file = resolved.appEnvironments.first(where: { $0.file != nil }),
      let name = file.file,
      let server = otherServers.first(where: { "\($0.key) in \(name)" == source[.key]?.origin })
    else { return }
    let unread = file.variables.keys.sorted().filter { variable in
      server.prefixes.contains { variable.begins(with: $0) } && !server.read.contains(variable)
        && file.first(variable) != nil && variable.isVisible(without: "")
    }
    guard !unread.isEmpty else { return }
    resolved.warn(
      "\(name): serve does not read \(Quantities.listed(unread)); docs/moving.md says what to set")
  }

  /// Returns the rate limit of Reverb's variables; warns if the dialect does not have it.
  private static func messageRate(
    _ source: CredentialSource, _ resolved: inout Resolved
  ) throws(UsageError) -> MessageRateLimit? {
    let dialect: Dialect = try resolved.choice(.dialect)
    guard let variables = source.rateLimit,
      let on = MessageRateLimit.switchedOn(in: variables)
    else { return nil }
    if dialect.has(.limitsMessages) { return try MessageRateLimit(variables) }
    resolved.warn("\(on.origin) is '\(on.value)', but only --dialect reverb has a rate limit")
    return nil
  }

  private static func apps(
    in path: String, _ resolved: inout Resolved
  ) throws(UsageError) -> [Application] {
    let file = try AppsFile(defaults: defaults(&resolved), dialect: resolved.choice(.dialect))
    return try file.apps(in: resolved.confidentialText(in: path, "--apps"))
  }

  /// Reads the apps of `--apps` again, except from standard input and pipes.
  static func appsAgain(_ resolved: Resolved) throws(UsageError) -> [Application] {
    guard let path = resolved[.apps].text, !resolved.isKept(path) else {
      let name = resolved[.apps].text.flatMap { $0 == "-" ? nil : "'\($0)'" } ?? "standard input"
      throw UsageError("--apps: cannot read \(name) again")
    }
    var newer = try resolved.again()
    return try apps(in: path, &newer)
  }

  private static func defaults(_ resolved: inout Resolved) throws(UsageError) -> Application {
    var app = Application(id: "1", key: "local", secret: "local")
    app.allowsClientEvents = resolved[.clientEvents].isOn
    app.sendsSubscriptionCounts = resolved[.subscriptionCounts].isOn
    for text in resolved[.webhook].texts {
      app.webhooks.append(try Application.webhook(text, "--webhook"))
    }
    app.masterKey = try resolved.encryptionKey(for: [], orIfThere: true)
    return app
  }

  private mutating func share(_ resolved: Resolved) throws(UsageError) {
    guard let setting = resolved[.redis].setting, !setting.value.isEmpty else { return }
    #if Redis
      let redis = try UsageError.explaining(
        "\(setting.origin): invalid Redis URL: ", try RedisSettings(parsing: setting.value))
      if redis.password != nil, resolved.arguments[.redis].setting == setting {
        let isTyped = setting.origin == Flag.redis.spelling
        throw UsageError(
          "\(setting.origin): a password \(isTyped ? "would show in ps" : "does not belong here"); "
            + "give the URL in PUSHER_CLI_REDIS_URL")
      }
      self.redis = redis
    #else
      throw UsageError(
        "\(setting.origin): this build cannot use Redis: build it with the trait Redis")
    #endif
  }
}

/// The console page of `serve`, and the record of a run.
struct ConsoleSettings: Equatable, Sendable {
  /// `nil` if not given.
  var isOn: Bool?
  var record: String?
  var recording: String?
  /// File with the token of all runs; `nil` for a new token.
  var tokenFile: String?
  /// Number of entries for pages that open later.
  var history = 0
  /// The page of this run; `nil` for none.
  var page: ConsoleOptions?

  /// Returns the page's options; `nil` for no page.
  ///
  /// Other machines and proxied requests get the page only with `--console`.
  ///
  /// - Parameter token: Evaluated only for a page.
  func options(
    isUsual: Bool, token: @autoclosure () throws(UsageError) -> String
  ) throws(UsageError) -> ConsoleOptions? {
    guard isOn ?? (isUsual || recording != nil || tokenFile != nil) else { return nil }
    return ConsoleOptions(
      token: try token(), keepsToken: tokenFile != nil, version: Version.current,
      recording: recording, reach: isOn == true ? .everybody : .thisMachine, history: history)
  }

  fileprivate init(_ resolved: Resolved) throws(UsageError) {
    isOn = resolved[.console].choice
    record = resolved[.record].text
    recording = resolved[.openRecording].text
    tokenFile = resolved[.consoleTokenFile].text
    history = resolved[.consoleHistory].number
    if recording != nil, isOn == false {
      throw UsageError("--open-recording needs the console: leave out --no-console")
    }
    // A file of options may name the token for the runs that have a console.
    if tokenFile != nil, isOn == false, resolved[.consoleTokenFile].source == nil {
      throw UsageError("--console-token-file needs the console: leave out --no-console")
    }
    if tokenFile == "-" {
      throw UsageError("--console-token-file needs a file: standard input cannot keep a token")
    }
  }
}
