internal import PusherCore
internal import PusherPlatform
internal import PusherServer

/// A value and its option or variable, for messages.
struct Setting: Equatable, Sendable {
  let origin: String
  let value: String
}

/// Source of a secret, which is read only when something needs a signature.
enum SecretOrigin: Equatable, Sendable {
  case text(Secret, origin: String)
  case file(path: String, origin: String)
}

/// One source of credentials; it supplies all of them, since sources are not mixed.
struct CredentialSource: Equatable, Sendable {
  /// What a source can supply besides the secret.
  static let flags: [Flag] = [.key, .appID, .cluster, .host, .port, .scheme, .path]

  /// By the name of the flag.
  private var settings: [String: Setting] = [:]
  var secret: SecretOrigin?
  /// The service, if the variables tell its protocol.
  var service: PusherService?
  /// The variables with Reverb's rate limit, for `serve`.
  var rateLimit: Environment?
  /// Variable that must name the server, for self-hosted families.
  var requiredHost: String?
  var isEmpty: Bool { self == CredentialSource() }

  /// Takes the settings that `setting` returns.
  init(secret: SecretOrigin? = nil, _ setting: (Flag) -> Setting? = { _ in nil }) {
    self.secret = secret
    for flag in Self.flags { self[flag] = setting(flag) }
  }

  subscript(flag: Flag) -> Setting? {
    get { settings[flag.name] }
    set { settings[flag.name] = newValue }
  }
}

/// The environment; an empty variable counts as unset, since Laravel ships `PUSHER_HOST=`.
struct Environment: Equatable, Sendable {
  /// Variable with systemd's directory of a service's credentials.
  static let serviceCredentials = "CREDENTIALS_DIRECTORY"
  let variables: [String: String]
  /// The `.env` file with the variables; `nil` for those of the process.
  let file: String?

  init(_ variables: [String: String], file: String? = nil) {
    self.variables = variables
    self.file = file
  }

  subscript(name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

  subscript(flag: Flag) -> String? { flag.variable.flatMap { self[$0] } }

  func first(_ flag: Flag, of family: String = "PUSHER_") -> Setting? {
    first(flag.variables.filter { $0.begins(with: family) })
  }

  /// Returns the first set variable, without the quotes that `docker --env-file` keeps.
  func first(_ names: String...) -> Setting? { first(names) }

  private func first(_ names: [String]) -> Setting? {
    for name in names {
      guard let setting = literal(name) else { continue }
      // The program's own variables have no words of Laravel.
      if name.begins(with: "PUSHER_CLI_") || !Self.isNothing(setting.value) { return setting }
    }
    return nil
  }

  /// Returns true for a word that Laravel's `env()` reads as null or as an empty text.
  static func isNothing(_ value: String) -> Bool {
    ["null", "(null)", "empty", "(empty)"].contains(value.lowercased())
  }

  /// Returns a set variable, also with a word of Laravel, without its quotes.
  func literal(_ name: String) -> Setting? {
    guard let value = self[name]?.unquoted("\"'"), !value.isEmpty else { return nil }
    return Setting(origin: file.map { "\(name) in \($0)" } ?? name, value: value)
  }

  /// Returns all sources that are not empty, the preferred one first.
  func sources(isAPI: Bool) throws(UsageError) -> [CredentialSource] {
    var sources = [
      pusher, try fromURL(), reverb(isAPI: isAPI), local("SOKETI_DEFAULT_APP", port: "SOKETI_PORT"),
      sockudo,
    ].filter { !$0.isEmpty }
    if broadcaster?.value == "reverb",
      let index = sources.firstIndex(where: { $0.requiredHost != nil })
    {
      sources.insert(sources.remove(at: index), at: 0)
    }
    return sources
  }

  /// The broadcaster of a Laravel app, by its variable or the older one; null is one of them.
  var broadcaster: Setting? { literal("BROADCAST_CONNECTION") ?? literal("BROADCAST_DRIVER") }

  private var pusher: CredentialSource {
    let file = first(.secretFile).map { SecretOrigin.file(path: $0.value, origin: $0.origin) }
    return CredentialSource(secret: secret("PUSHER_APP_SECRET", "PUSHER_SECRET") ?? file) {
      first($0)
    }
  }

  /// Behind a proxy, Reverb's HTTP API has an address of its own.
  private func reverb(isAPI: Bool) -> CredentialSource {
    var source = CredentialSource(secret: secret("REVERB_APP_SECRET")) { flag in
      let isOfAPI = isAPI && [Flag.host, .port, .scheme].contains(flag)
      return (isOfAPI ? first("REVERB_INTERNAL_\(flag.name.uppercased())") : nil)
        ?? first(flag, of: "REVERB_")
    }
    // A port, a scheme or a path alone names no app and no server.
    let isNamed = [Flag.key, .appID, .host].contains { source[$0] != nil }
    guard isNamed || source.secret != nil else { return CredentialSource() }
    source.requiredHost = "REVERB_HOST"
    source.rateLimit = self
    return source
  }

  /// A server with these variables listens on this machine, without TLS.
  private func local(_ app: String, port: String) -> CredentialSource {
    var source = CredentialSource(secret: secret("\(app)_SECRET"))
    (source[.key], source[.appID]) = (first("\(app)_KEY"), first("\(app)_ID"))
    guard !source.isEmpty else { return source }
    source[.host] = Setting(origin: "\(app)_KEY", value: "127.0.0.1")
    source[.port] = first(port) ?? Setting(origin: port, value: "6001")
    source[.scheme] = Setting(origin: "\(app)_KEY", value: "http")
    return source
  }

  private var sockudo: CredentialSource {
    var source = local("SOCKUDO_DEFAULT_APP", port: "PORT")
    if !source.isEmpty { source.service = .sockudo }
    return source
  }

  /// `https://KEY:SECRET@api-CLUSTER.pusher.com/apps/ID`, as the Heroku add-on sets it.
  private func fromURL() throws(UsageError) -> CredentialSource {
    guard let url = first("PUSHER_URL"), first(.key) == nil else { return CredentialSource() }
    guard let source = CredentialSource(pusherURL: url) else {
      // The URL holds the secret, so the message does not repeat it.
      throw UsageError(
        "\(url.origin) is not of the form https://KEY:SECRET@api-CLUSTER.pusher.com/apps/ID")
    }
    return source
  }

  private func secret(_ names: String...) -> SecretOrigin? {
    first(names).map { .text(Secret($0.value), origin: $0.origin) }
  }

  /// Adds the secret of systemd's `LoadCredential=secret:…` to a source without one.
  func withServiceCredential(_ source: CredentialSource) -> CredentialSource {
    guard source.secret == nil, let directory = self[Self.serviceCredentials] else { return source }
    var source = source
    source.secret = .file(path: directory + "/secret", origin: Self.serviceCredentials)
    return source
  }

  /// All variables that the program uses, as the help and the manual list them.
  static let names =
    Flag.all.flatMap(\.variables) + [
      "PUSHER_APP_SECRET", "PUSHER_SECRET", "REVERB_APP_SECRET", "SOKETI_DEFAULT_APP_SECRET",
      "SOCKUDO_DEFAULT_APP_SECRET",
      "PUSHER_URL", "PUSHER_ENCRYPTION_MASTER_KEY", "REVERB_INTERNAL_HOST", "REVERB_INTERNAL_PORT",
      "REVERB_INTERNAL_SCHEME", "BROADCAST_CONNECTION", "BROADCAST_DRIVER", "CREDENTIALS_DIRECTORY",
      "XDG_CONFIG_HOME", "HOME", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS",
      "LC_ALL", "LC_CTYPE", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY",
      "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD", "JOURNAL_STREAM", "NOTIFY_SOCKET", "WATCHDOG_USEC",
      "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
    ] + MessageRateLimit.variables

  static let lowerCaseNames = names.filter { $0.hasSuffix("_PROXY") }.map { $0.lowercased() }

  static func ofProcess() -> [String: String] {
    var variables: [String: String] = [:]
    for name in names + lowerCaseNames {
      guard let value = unsafe getenv(name) else { continue }
      unsafe variables[name] = String(cString: value)
    }
    return variables
  }

  /// True if the locale's encoding is UTF-8.
  var isUnicode: Bool {
    let name = (self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? "").lowercased()
    return name.range(ofBytes: "utf-8") != nil || name.range(ofBytes: "utf8") != nil
  }

  static func forget(_ names: [String]) { for name in names { unsafe unsetenv(name) } }

  /// Returns any variable of this process, for a reference in a `.env` file.
  static func variableOfProcess(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}

extension CredentialSource {
  static var local: CredentialSource {
    var source = CredentialSource(secret: .text(Secret("local"), origin: "--local"))
    // The official server libraries accept only digits as app ID.
    let values = [
      (Flag.key, "local"), (.appID, "1"), (.host, "127.0.0.1"), (.port, "6001"), (.scheme, "http"),
    ]
    for (flag, value) in values { source[flag] = Setting(origin: "--local", value: value) }
    return source
  }

  /// Parses a `PUSHER_URL`; `nil` without scheme, key, secret, host or app ID.
  fileprivate init?(pusherURL url: Setting) {
    let text = url.value
    func setting(_ value: Substring) -> Setting {
      Setting(origin: url.origin, value: String(value))
    }
    guard let schemeEnd = text.range(ofBytes: "://") else { return nil }
    let afterScheme = text[schemeEnd.upperBound...]
    let authorityEnd = afterScheme.firstIndex(of: "/") ?? afterScheme.endIndex
    let authority = afterScheme[..<authorityEnd]
    guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
    let user = authority[..<at].split(separator: ":", maxSplits: 1)
    guard user.count == 2, let apps = text.range(ofBytes: "/apps/", from: authorityEnd)
    else { return nil }
    let id = text[apps.upperBound...].prefix { $0 != "/" && $0 != "?" }
    var host = authority[authority.index(after: at)...]
    self.init(secret: .text(Secret(String(user[1])), origin: url.origin))
    if let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")), !host.hasSuffix("]") {
      self[.port] = setting(host[host.index(after: colon)...])
      host = host[..<colon]
    }
    guard !host.isEmpty, !id.isEmpty else { return nil }
    (self[.key], self[.appID], self[.host]) = (setting(user[0]), setting(id), setting(host))
    self[.scheme] = setting(text[..<schemeEnd.lowerBound])
    if let query = afterScheme.split(separator: "?", maxSplits: 1).dropFirst().first {
      service = PusherService.named(in: query)?.service
    }
    let prefix = afterScheme[authorityEnd..<apps.lowerBound]
    if !prefix.isEmpty { self[.path] = setting(prefix) }
  }
}

extension PusherService {
  /// Returns the only service with the version in a query such as `protocol=2`; `nil` if there is
  /// none, or several.
  static func named(in query: some StringProtocol) -> (name: String, service: PusherService)? {
    let versions = String(query).pieces(separatedBy: "&")
    let services = named.filter { named in
      versions.contains(where: { $0.isSame(as: "protocol=\(named.service.protocolVersion)") })
    }
    return services.count == 1 ? services[0] : nil
  }
}

extension String {
  /// Removes the quotes around a text, if they are one of `quotes`.
  func unquoted(_ quotes: String) -> String {
    guard utf8.count >= 2, let first = utf8.first, first == utf8.last, quotes.utf8.contains(first)
    else { return self }
    return String(decoding: utf8.dropFirst().dropLast(), as: UTF8.self)
  }
}

extension StringProtocol {
  /// Returns true if the text has only visible ASCII characters, and none of `excluded`.
  func isVisible(without excluded: String) -> Bool {
    utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !excluded.utf8.contains($0) }
  }
}

/// A secret that cannot be printed by accident: every description of it is `<secret>`.
struct Secret: Equatable, Sendable {
  let revealed: String

  init(_ text: String) { revealed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<secret>" }
  var debugDescription: String { "<secret>" }
  /// Empty, so that `dump` and string interpolation of an enclosing value hide the secret too.
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension TriggerRequest {
  /// Returns the event, encrypted if its channel needs it.
  func encrypted(with key: EncryptionMasterKey?) throws -> TriggerRequest {
    guard let channel = channels.first(where: { ChannelKind(channelName: $0) == .encrypted }) else {
      return self
    }
    guard let key else { throw Resolved.missingEncryptionKey(for: channel) }
    return try encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
  }
}

extension PusherAPI.Event {
  /// Returns the event, encrypted if its channel needs it.
  func encrypted(with key: EncryptionMasterKey?) throws -> PusherAPI.Event {
    var event = self
    event.data = try TriggerRequest(name: name, channels: [channel], data: data)
      .encrypted(with: key).data
    return event
  }
}
