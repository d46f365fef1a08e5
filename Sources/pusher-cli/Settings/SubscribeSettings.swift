internal import PusherCore

/// Everything `subscribe` needs to know, checked.
struct SubscribeSettings: Equatable, Sendable {
  var connection: ConnectionSettings
  /// Each once, in the order typed; at least one, unless a user is signed in.
  var channels: [String]
  var authorization: Authorization
  var userSignIn: UserSignIn
  var printing: PrintSettings

  var reconnect: ReconnectMode
  /// Retries in a row; nil means no limit.
  var maxRetries: Int?
  var retryMaxDelay: Duration
  /// A cap on the silence the server allows before a ping; nil leaves it to the server.
  var activityTimeout: Duration?
  var pongTimeout: Duration
  /// Members of one presence channel that are kept.
  var maxMembers: Int
  /// Whether permessage-deflate is offered.
  var offersCompression: Bool
  /// WebSocket sub-protocols to offer, in the order typed.
  var subprotocols: [String]

  var verbosity: Verbosity
  /// Where protocol messages are written besides.
  var traceFile: String?
  /// To be said before the run begins.
  var warnings: [Caution]
}

/// What a lost connection means.
enum ReconnectMode: String, CaseIterable, Sendable {
  /// The first connection must work; later losses are retried.
  case auto
  /// The first connection is retried too.
  case always
  /// A loss ends the run.
  case never
}

extension SubscribeSettings {
  /// Resolves what was typed against the environment.
  ///
  /// - Throws: ``UsageError`` for the first setting that is missing or wrong.
  init(
    _ typed: TypedArguments, environment: [String: String], files: FileAccess = .system
  ) throws(UsageError) {
    var reader = SettingsReader(typed, environment: environment, files: files)
    let names = typed.operands + typed.texts(.channel)
    let signsIn = [Flag.userAuthEndpoint, .userAuthCommand].contains { typed.text($0) != nil }
    guard !names.isEmpty || signsIn || typed.isOn(.signIn) else {
      throw UsageError("no channel: give one, as in 'pusher-cli subscribe my-channel'")
    }
    channels = try reader.channels(names)
    let source = try reader.source(.webSocket)
    connection = try reader.connection(.webSocket, source)
    authorization = try reader.authorization(for: channels, source)
    userSignIn = try reader.userSignIn(source)
    printing = try reader.printing()
    reconnect = try reader.choice(.reconnect)
    maxRetries = typed.integer(.maxRetries)
    retryMaxDelay = typed.time(.retryMaxDelay)
    activityTimeout = typed.duration(.activityTimeout)
    pongTimeout = typed.time(.pongTimeout)
    maxMembers = typed.number(.maxMembers)
    offersCompression = typed.isOn(.compression)
    subprotocols = try reader.subprotocols()
    verbosity = reader.verbosity
    traceFile = typed.text(.trace)
    warnings = reader.warnings
  }
}
