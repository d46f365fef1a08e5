internal import PusherCore
internal import PusherServer

/// Everything `serve` needs to know, checked.
struct ServeSettings: CommandSettings {
  /// A name or address, IPv6 without brackets.
  var host: String
  /// The port to listen on; 0 takes a free one.
  var port: Int
  /// Where to write the port, so that scripts can wait for it.
  var portFile: String?
  /// A command to run once connections are taken.
  var onReady: String?
  /// At least one, with distinct ids and keys.
  var apps: [Application]
  /// Which of app id, key and secret nobody gave, and what they are; to be announced.
  var defaulted: [String]
  var certificate: CertificateFiles?
  /// How long it is held back from webhooks that somebody has left.
  var webhookDelay: Duration
  /// Where trusted certificates are, for webhooks.
  var trust: TLSEnvironment
  /// Whether clients may compress what they send.
  var acceptsCompression: Bool
  /// Which pages may speak to the server, and by which names it may be asked for.
  var access: AccessPolicy
  /// Whether clients' questions at `/pusher/auth` and its kin are answered.
  var hasAuthEndpoints: Bool
  /// Bytes that may wait for all clients together.
  var maxQueued: Int
  var logsEvents: Bool
  /// Whether the lines of the log carry the time.
  var hasTimestamps: Bool
  /// Whether a block for a `.env` file is printed.
  var printsEnvironment: Bool
  /// What goes wrong on purpose.
  var faults: [StagedFault]
  /// Whose answers it gives.
  var dialect: Dialect
  /// What clients and server call things.
  var service: Service
  var common: CommonSettings
}

/// A server's certificate and its private key, as PEM files.
struct CertificateFiles: Equatable, Sendable {
  var certificate: String
  var key: String
}

extension ServeSettings {
  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    (host, port) = try Self.address(typed.word(.listen))
    if let path = typed.text(.apps) {
      apps = try reader.servedApps(path)
      defaulted = []
    } else {
      (apps, defaulted) = try reader.servedApp(isLocal: Self.isLoopback(host), listen: host)
    }
    portFile = typed.text(.portFile)
    onReady = typed.text(.onReady)
    certificate = try reader.servedCertificate()
    webhookDelay = typed.time(.webhookDelay)
    trust = TLSEnvironment(reader.environment.variables)
    access = try Self.access(typed, isLocal: Self.isLoopback(host))
    hasAuthEndpoints = typed.choice(.authEndpoints) ?? Self.isLoopback(host)
    maxQueued = typed.bytes(.maxQueued)
    acceptsCompression = typed.isOn(.compression)
    logsEvents = typed.isOn(.logEvents)
    hasTimestamps = typed.isOn(.timestamps)
    printsEnvironment = typed.isOn(.printEnv)
    if logsEvents, printsEnvironment {
      throw UsageError("--log-events and --print-env both print on standard output; give one")
    }
    faults = try Self.faults(typed)
    dialect = try reader.choice(.dialect)
    if let flag = [Flag.host, .port].first(where: { typed.text($0) != nil }) {
      reader.warn(
        "\(flag.spelling) is for the commands that connect; serve listens where --listen says")
    }
    service = reader.service
    if !dialect.sendsWebhooks, apps.contains(where: { !$0.webhooks.isEmpty }) {
      reader.warn(
        "\(dialect.name) has no webhooks; with --dialect \(dialect) they are sent all the same")
    }
    common = reader.common
  }

  /// `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, the last on this machine only.
  static func address(_ text: String) throws(UsageError) -> (String, Int) {
    let fault = UsageError(
      "--listen: '\(text)' is not of the form HOST:PORT, such as 127.0.0.1:6001")
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { throw fault }
    let digits = String(text[text.index(after: colon)...])
    guard !digits.isEmpty, let port = Quantities.integer(digits), port <= 65_535 else {
      throw fault
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard !host.isEmpty else { throw fault }
    } else if host.contains(":") {
      throw fault
    }
    guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/@?#".utf8.contains($0) }) else {
      throw fault
    }
    return (host.isEmpty ? "127.0.0.1" : String(host), port)
  }

  /// The options with which other commands reach the server, listening on `port`, and its first app.
  func localOptions(port: UInt16) -> String {
    let local = CredentialSource.local
    var options = ["--local"]
    // Any address is this machine's too.
    let reached = ["0.0.0.0": "127.0.0.1", "::": "::1"][host] ?? host
    if reached != local.host?.value { options.append("--host \(reached)") }
    if "\(port)" != local.port?.value { options.append("--port \(port)") }
    if certificate != nil { options.append("--scheme https") }
    if let key = apps.first?.key, key != local.key?.value { options.append("--key \(key)") }
    return options.joined(separator: " ")
  }

  private static func faults(_ typed: TypedArguments) throws(UsageError) -> [StagedFault] {
    var faults: [StagedFault] = []
    for text in typed.texts(.fault) {
      do throws(StagedFaultError) {
        faults.append(try StagedFault(parsing: text))
      } catch {
        throw UsageError("--fault: \(error)")
      }
    }
    return faults
  }

  private static func access(
    _ typed: TypedArguments, isLocal: Bool
  ) throws(UsageError) -> AccessPolicy {
    var access = AccessPolicy()
    access.hosts.isPublic = !isLocal
    for text in typed.texts(.allowOrigin) {
      // As it is copied from a browser's address bar.
      let isPasted = text.hasSuffix("/") && !text.hasSuffix("//")
      guard let origin = OriginPolicy.Origin(isPasted ? text.dropLast() : text[...]) else {
        throw UsageError(
          "--allow-origin: '\(text)' is not of the form https://HOST or https://HOST:PORT")
      }
      access.origins.allowed.insert(origin)
    }
    for text in typed.texts(.allowHost) {
      guard let host = LocalHost(text) ?? LocalHost("[\(text)]") else {
        throw UsageError("--allow-host: '\(text)' is no name or address alone, without a port")
      }
      access.hosts.allowed.insert(host)
    }
    return access
  }

  /// Whether nobody but this machine can connect to an address.
  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    // A name may begin so too; only an address cannot lead elsewhere.
    return host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || $0 &- 0x30 < 10 }
  }
}

extension SettingsReader {
  /// The certificate that clients are shown, with its key.
  fileprivate func servedCertificate() throws(UsageError) -> CertificateFiles? {
    try typed.require(.tlsKey, with: .tlsCert)
    try typed.require(.tlsCert, with: .tlsKey)
    guard let certificate = try readable(.tlsCert), let key = try readable(.tlsKey) else {
      return nil
    }
    return CertificateFiles(certificate: certificate, key: key)
  }

  /// The app that options and environment name, and what of it nobody gave.
  ///
  /// - Throws: ``UsageError`` also for an address that others can reach, when the secret is the one that everybody knows.
  fileprivate mutating func servedApp(
    isLocal: Bool, listen host: String
  ) throws(UsageError) -> (apps: [Application], defaulted: [String]) {
    let source = try environment.source(forKey: typed.text(.key), isAPI: true)
    let local = CredentialSource.local
    var withKey = source
    withKey.key = source.key ?? local.key
    let key = try key(withKey)
    let typedID = typed.text(.appID).map { Setting(origin: "--app-id", value: $0) }
    let appID = typedID ?? source.appID
    if let appID { try requireWord(appID, what: "app id") }
    let secret = try secret(source)
    guard secret != nil || isLocal else {
      throw UsageError(
        "--listen: others may reach \(host), and without a secret of its own the app would have "
          + "'local': give --secret-file, or PUSHER_APP_KEY and PUSHER_APP_SECRET")
    }
    var app = try servedDefaults()
    app.id = appID?.value ?? local.appID?.value ?? app.id
    app.key = key.value
    app.secret = secret?.revealed ?? app.secret
    let defaulted = [
      appID == nil ? "app id '\(app.id)'" : nil,
      key == local.key ? "key 'local'" : nil,
      secret == nil ? "secret 'local'" : nil,
    ].compactMap { $0 }
    return ([app], defaulted)
  }

  /// The apps of a file.
  fileprivate mutating func servedApps(_ path: String) throws(UsageError) -> [Application] {
    for single in [Flag.key, .appID, .secretFile] { try typed.exclude(.apps, single) }
    return try AppsFile(defaults: servedDefaults()).apps(in: confidentialText(in: path, "--apps"))
  }

  /// What the options say for every app.
  private mutating func servedDefaults() throws(UsageError) -> Application {
    var app = Application(id: "1", key: "local", secret: "local")
    app.allowsClientEvents = typed.isOn(.clientEvents)
    app.sendsSubscriptionCounts = typed.isOn(.subscriptionCounts)
    for text in typed.texts(.webhook) {
      app.webhooks.append(try Application.webhook(text, "--webhook"))
    }
    app.masterKey = try encryptionKey(for: nil, orIfThere: true)?.masterKey
    return app
  }
}
