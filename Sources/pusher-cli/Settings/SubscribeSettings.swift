internal import PusherCore

struct SubscribeSettings: FeedCommandSettings {
  var connection: ConnectionSettings
  var authorization: ChannelAuthorization
  var userSignIn: UserSignIn
  /// The file of the secret, read again for each connection.
  var secretFile: Setting?
  var feed: FeedSettings
  /// Without duplicates, in the order typed; at least one, unless a user signs in.
  var channels: [String]
  var discovery: DiscoverySettings?
  var fields: RequestFields
  var webSocket: WebSocketSettings
  var pongTimeout: Duration
  var gap: GapSettings?
  /// The file that keeps the positions of the channels.
  var stateFile: String?
  var rewind: PusherRewind?
  var maxMembers: Int
  /// Reads client events and subscriptions from standard input.
  var readsInput: Bool

  init(_ resolved: inout Resolved) throws(UsageError) {
    try self.init(&resolved, channels: resolved.operands + resolved[.channel].texts)
  }

  /// - Parameter names: The channels, for a command whose arguments are others.
  init(_ resolved: inout Resolved, channels names: [String]) throws(UsageError) {
    let signsIn = [Flag.userAuthEndpoint, .userAuthCommand].contains { resolved[$0].isGiven }
    readsInput = resolved[.stdin].isOn
    let isOpenEnded = readsInput || [.check, .webhook].contains(resolved.command)
    if readsInput { try resolved.claimInput(for: Flag.stdin.spelling) }
    let (fixed, discovery) = try DiscoverySettings.split(names, &resolved)
    guard !names.isEmpty || discovery != nil || signsIn || resolved[.signIn].isOn || isOpenEnded
    else {
      throw UsageError(
        "no channel: give one, as in 'pusher-cli subscribe my-channel', or '*' for all")
    }
    if Set<Command>.joining.contains(resolved.command) { BroadcastingApp.warn(&resolved) }
    self.discovery = discovery
    channels = try resolved.channels(fixed)
    let app = try resolved.app(.webSocket)
    gap = resolved[.onGap].text.map {
      GapSettings(option: .onGap, command: $0, timeout: resolved[.onGapTimeout].time)
    }
    connection = try ConnectionSettings(&resolved, .webSocket, app)
    fields = try RequestFields(&resolved)
    if let own = fields.all.first(where: { ClientHandshake.owns($0.name) }) {
      throw UsageError("--header: \(own.name) belongs to the WebSocket handshake")
    }
    authorization = try ChannelAuthorization(
      &resolved, for: channels, mayGrow: readsInput || discovery != nil, app)
    userSignIn = try UserSignIn(&resolved, app)
    secretFile = resolved.secretFile
    feed = try FeedSettings(&resolved)
    pongTimeout = resolved[.pongTimeout].time
    maxMembers = resolved[.maxMembers].number
    webSocket = WebSocketSettings(
      compressionOffer: resolved[.compression].isOn ? PerMessageDeflate.offer : nil)
    stateFile = try FeedSettings.stateFile(resolved)
    rewind = try PusherRewind(resolved)
    if let flag = stateFile != nil ? Flag.stateFile : rewind != nil ? .rewind : nil,
      !connection.service.replaysEvents
    {
      throw UsageError(
        "\(flag.spelling): the server keeps no events in this protocol; "
          + "a server of sockudo does (--service sockudo)")
    }
  }
}

extension PusherRewind {
  /// Takes `--rewind`: a number of events, or a time with its unit.
  fileprivate init?(_ resolved: Resolved) throws(UsageError) {
    guard let text = resolved[.rewind].text else { return nil }
    if let count = Quantities.integer(text), count > 0 {
      self = .count(count)
    } else if text.utf8.last ?? 0 > UInt8(ascii: "9"), let time = Quantities.duration(text) {
      self = .seconds(max(1, Int(time.components.seconds)))
    } else {
      throw UsageError("--rewind: '\(text)' is not a number of events, or a time such as 30s")
    }
  }
}

/// The command of `--on-gap` or `--on-idle`.
struct GapSettings: Equatable, Sendable {
  var option: Flag
  var command: String
  var timeout: Duration?
}

struct DiscoverySettings: Equatable, Sendable {
  var patterns: [String]
  var interval: Duration
  var limit: Int
  var access: APIAccess

  /// Splits typed names into channels and patterns, and reads the settings for the patterns.
  fileprivate static func split(
    _ names: [String], _ resolved: inout Resolved
  ) throws(UsageError) -> (channels: [String], discovery: DiscoverySettings?) {
    var patterns = names.filter(isPattern)
    guard resolved.command == .subscribe else {
      guard let pattern = patterns.first else { return (names, nil) }
      throw UsageError("channel '\(pattern)': only subscribe takes patterns")
    }
    let asking = [Flag.discover, .maxChannels].filter {
      resolved[$0].isGiven && resolved[$0].source == nil
    }
    if names.isEmpty, asking.contains(.discover) { patterns = ["*"] }
    guard let pattern = patterns.first else {
      guard let flag = asking.first else { return (names, nil) }
      throw UsageError(
        "\(flag.spelling) is for patterns: give one as a channel, such as 'private-*'")
    }
    try Resolved.check(patterns: patterns, of: "channel")
    let access: APIAccess
    do throws(UsageError) {
      access = try APIAccess(&resolved)
    } catch {
      throw UsageError("'\(pattern)' is a pattern, which needs the HTTP API; \(error.message)")
    }
    let settings = DiscoverySettings(
      patterns: patterns, interval: resolved[.discover].time, limit: resolved[.maxChannels].number,
      access: access)
    return (names.filter { !isPattern($0) }, settings)
  }

  /// Channel names have none of these characters.
  static func isPattern(_ name: String) -> Bool {
    name.utf8.contains { [UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "[")].contains($0) }
  }
}

enum ChannelAuthorization: Equatable, Sendable {
  case unavailable
  /// Signs with the secret: as the member on presence channels, with the key on encrypted ones.
  case secret(Secret, JSONValue?, EncryptionMasterKey? = nil)
  case endpoint(AuthorizationEndpoint)
  case command(String)

  /// Takes the authorisation that options name, else the app's secret if a channel needs it.
  ///
  /// - Parameter mayGrow: Channels may be joined later; a known secret then signs for them.
  fileprivate init(
    _ resolved: inout Resolved, for channels: [String], mayGrow: Bool, _ app: CredentialSource
  ) throws(UsageError) {
    self = .unavailable
    if resolved[.authEndpoint].isGiven {
      self = .endpoint(try AuthorizationEndpoint(&resolved, .authEndpoint))
    } else if let command = resolved[.authCommand].text {
      self = .command(command)
    } else {
      let guarded = channels.first { ChannelKind(channelName: $0).needsAuthorization }
      guard guarded != nil || mayGrow || resolved[.secretFile].isGiven else { return }
      guard let secret = try resolved.secret(app) else {
        guard let guarded else { return }
        throw UsageError(
          "\(guarded) needs authorisation: give --secret-file, PUSHER_APP_SECRET, "
            + "--auth-endpoint or --auth-command")
      }
      let member = try resolved.member("user_id").map { JSONValue.object($0) }
      self = .secret(
        secret, member, try resolved.encryptionKey(for: channels, orIfThere: mayGrow))
    }
  }
}

struct AuthorizationEndpoint: Equatable, Sendable {
  /// http or https URL.
  var url: String
  var headers: [NamedValue]
  var parameters: [NamedValue]
}

extension AuthorizationEndpoint {
  fileprivate init(_ resolved: inout Resolved, _ flag: Flag) throws(UsageError) {
    url = resolved[flag].word
    let url = url
    let rest = ["http://", "https://"].lazy.filter { url.lowercased().hasPrefix($0) }.first.map {
      url.dropFirst($0.count)
    }
    let isPlain = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard let rest, isPlain, let first = rest.first, !"/?#:".contains(first) else {
      throw UsageError("\(flag.spelling) is not an http or https URL")
    }
    guard !rest.prefix(while: { $0 != "/" }).contains("@") else {
      throw UsageError(
        "\(flag.spelling): a password in the URL would show in ps; use --auth-header @FILE")
    }
    headers = try resolved.headers(.authHeader)
    parameters = []
    for text in resolved[.authParam].texts {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw UsageError("--auth-param needs the form NAME=VALUE")
      }
      let value = text[text.index(after: equals)...]
      parameters.append(NamedValue(name: String(text[..<equals]), value: String(value)))
    }
  }
}

/// A header or form field; descriptions hide the value, which may be a token.
struct NamedValue: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
  var name: String
  var value: String
  var description: String { "\(name): <value>" }
  var customMirror: Mirror { Mirror(self, children: []) }

  /// Maximum size of a file with headers.
  static let headerLimit = 65_536

  /// Parses lines of the form `NAME: VALUE`.
  static func headers(_ text: String, _ origin: String) throws(UsageError) -> [NamedValue] {
    var headers: [NamedValue] = []
    for line in text.lines { headers.append(try header(line, origin)) }
    return headers
  }

  /// Parses `NAME: VALUE`; the message leaves the text out, since it may be a token.
  private static func header(_ line: Substring, _ origin: String) throws(UsageError) -> NamedValue {
    let name = line.prefix { $0 != ":" }
    let value = ASCII.trimmed(line.dropFirst(name.count + 1))
    let isPlain = value.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F || $0 == "\t"
    }
    guard ASCII.isToken(name), isPlain, name.endIndex < line.endIndex else {
      throw UsageError("\(origin) needs the form 'NAME: VALUE', or @FILE with such lines")
    }
    return NamedValue(name: String(name), value: value)
  }
}

extension Resolved {
  /// Takes the user of `--user-id`, named `idName`, and its `user_info`; `nil` without one.
  fileprivate mutating func member(_ idName: String) throws(UsageError) -> [JSONValue.Member]? {
    guard let userID = self[.userID].text else { return nil }
    let info = try userInfo().flatMap { try? JSONParser.parse($0) }
    return [.init(idName, .string(userID))] + (info.map { [.init("user_info", $0)] } ?? [])
  }
}

enum UserSignIn: Equatable, Sendable {
  case unwanted
  /// Signs the user's JSON with the secret.
  case secret(Secret, userData: String)
  case endpoint(AuthorizationEndpoint)
  case command(String)

  private static let watchlistLimit = 100

  /// Takes the sign-in that options name, else the app's secret with `--user-id`.
  fileprivate init(_ resolved: inout Resolved, _ app: CredentialSource) throws(UsageError) {
    if resolved[.userAuthEndpoint].isGiven {
      self = .endpoint(try AuthorizationEndpoint(&resolved, .userAuthEndpoint))
    } else if let command = resolved[.userAuthCommand].text {
      self = .command(command)
    } else if resolved[.signIn].isOn {
      guard let member = try resolved.member("id") else {
        throw UsageError("--sign-in needs --user-id, --user-auth-endpoint or --user-auth-command")
      }
      guard let secret = try resolved.secret(app) else {
        throw UsageError(
          "--sign-in needs a signature: give --secret-file, PUSHER_APP_SECRET, "
            + "--user-auth-endpoint or --user-auth-command")
      }
      self = .secret(secret, userData: try Self.userData(member, resolved[.watch].texts))
    } else {
      self = .unwanted
    }
  }

  /// Returns `{"id":…,"user_info":…,"watchlist":[…]}`.
  private static func userData(
    _ member: [JSONValue.Member], _ watched: [String]
  ) throws(UsageError) -> String {
    guard watched.count <= watchlistLimit else {
      throw UsageError(
        "--watch: a watchlist has at most \(watchlistLimit) users, not \(watched.count)")
    }
    let watchlist = JSONValue.Member("watchlist", .array(watched.map(JSONValue.string)))
    return JSONWriter.text(.object(member + (watched.isEmpty ? [] : [watchlist])))
  }
}

struct CheckSettings: CommandSettings {
  var subscription: SubscribeSettings
  /// `nil` if app ID or secret is missing; ``apiProblem`` has the message.
  var api: APIAccess?
  var apiProblem: String?
  /// `nil` without `--publish`; needs ``api``.
  var roundTrip: RoundTripSettings?
  var origin: String
  var isJSON: Bool
  var common: CommonSettings { subscription.common }

  init(_ resolved: inout Resolved) throws(UsageError) {
    origin = try resolved.app(.webSocket)[.key]?.origin ?? "default"
    isJSON = resolved[.output].text == OutputFormat.json.rawValue
    let publishes = resolved[.publish].isOn
    do throws(UsageError) {
      api = try APIAccess(&resolved)
    } catch {
      guard !publishes else { throw UsageError("--publish: \(error.message)") }
      apiProblem = error.message
    }
    if publishes { roundTrip = try RoundTripSettings(&resolved) }
    subscription = try SubscribeSettings(&resolved)
  }
}

/// The round trips of `check --publish`.
struct RoundTripSettings: Equatable, Sendable {
  /// Channels of the command line; empty for a channel of the program's own.
  var channels: [String]
  /// Needed for an encrypted channel.
  var encryptionKey: EncryptionMasterKey?
  var app: BroadcastingApp

  fileprivate init(_ resolved: inout Resolved) throws(UsageError) {
    var known: Set<String> = []
    channels = resolved.operands.filter { known.insert($0).inserted }
    encryptionKey = try resolved.encryptionKey(for: channels)
    app = BroadcastingApp(resolved)
    for channel in channels where ChannelName.isCache(channel) {
      resolved.warn("--publish: '\(channel)' keeps the event of check for later subscribers")
    }
  }
}

/// Settings of a Laravel app that decide where its events go.
struct BroadcastingApp: Equatable, Sendable {
  /// `BROADCAST_CONNECTION`, or the older `BROADCAST_DRIVER`.
  var broadcaster: Setting?
  /// `QUEUE_CONNECTION`, which only a `.env` file tells.
  var queue: Setting?
  /// Path of the `.env` file; `nil` without one.
  var file: String?

  private static let elsewhere = [
    "log": "writes its events to its log", "null": "drops its events",
    "redis": "publishes its events to Redis", "ably": "sends its events to Ably",
  ]

  /// Says that the app sends its events elsewhere, and what to do; `nil` if it does not, or if
  /// nobody knows.
  var detour: String? {
    guard let broadcaster else { return nil }
    let driver = Environment.isNothing(broadcaster.value) ? "null" : broadcaster.value
    guard let what = Self.elsewhere[driver] else { return nil }
    return "\(broadcaster.origin) is '\(broadcaster.value)': the app \(what), so none comes here; "
      + "set it to reverb or pusher"
  }

  /// Warns if the app sends its events elsewhere: a subscription would work, but get no events.
  ///
  /// A typed key or profile may be of another app.
  fileprivate static func warn(_ resolved: inout Resolved) {
    guard !resolved[.key].isGiven, !resolved.arguments[.profile].isGiven else { return }
    if let detour = BroadcastingApp(resolved).detour { resolved.warn(detour) }
  }
}

extension BroadcastingApp {
  init(_ resolved: Resolved) {
    // The settings of another app say nothing about the server of --local.
    guard !resolved[.local].isOn else { return }
    let places = resolved.appEnvironments
    broadcaster = places.lazy.compactMap(\.broadcaster).first
    queue = places.lazy.compactMap { $0.first("QUEUE_CONNECTION") }.first
    file = places.lazy.compactMap(\.file).first
  }
}
