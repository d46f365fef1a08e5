internal import PusherCore

struct SubscribeSettings: FeedCommandSettings {
  var connection: ConnectionSettings
  var authorization: ChannelAuthorization
  var userSignIn: UserSignIn
  /// The file of the secret, read again for each connection.
  var secretFile: SecretFile?
  var feed: FeedSettings
  /// Without duplicates, in the order typed; at least one, unless a user signs in.
  var channels: [String]
  var discovery: DiscoverySettings?
  var fields: RequestFields
  var webSocket: WebSocketSettings
  var pongTimeout: Duration
  var gap: GapSettings?
  var maxMembers: Int
  /// Reads client events and subscriptions from standard input.
  var readsInput: Bool

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    try self.init(&reader, channels: typed.operands + typed.texts(.channel))
  }

  /// - Parameter names: The channels, for a command whose arguments are others.
  init(_ reader: inout SettingsReader, channels names: [String]) throws(UsageError) {
    let typed = reader.typed
    let signsIn = [Flag.userAuthEndpoint, .userAuthCommand].contains { typed.text($0) != nil }
    readsInput = typed.isOn(.stdin)
    let isOpenEnded = readsInput || [.check, .webhook].contains(typed.command)
    if readsInput { try reader.claimInput(for: Flag.stdin.spelling) }
    let (fixed, discovery) = try reader.discovery(names)
    guard !names.isEmpty || discovery != nil || signsIn || typed.isOn(.signIn) || isOpenEnded else {
      throw UsageError(
        "no channel: give one, as in 'pusher-cli subscribe my-channel', or '*' for all")
    }
    if Set<Command>.joining.contains(typed.command) { reader.warnOfBroadcaster() }
    self.discovery = discovery
    channels = try reader.channels(fixed)
    let source = try reader.source(.webSocket)
    gap = typed.text(.onGap).map { GapSettings(command: $0, timeout: typed.time(.onGapTimeout)) }
    connection = try reader.connection(.webSocket, source)
    fields = try reader.requestFields()
    if let own = fields.all.first(where: { ClientHandshake.owns($0.name) }) {
      throw UsageError("--header: \(own.name) belongs to the WebSocket handshake")
    }
    authorization = try reader.authorization(
      for: channels, mayGrow: readsInput || discovery != nil, source)
    userSignIn = try reader.userSignIn(source)
    secretFile = reader.secretFile
    feed = try reader.feed()
    pongTimeout = typed.time(.pongTimeout)
    maxMembers = typed.number(.maxMembers)
    webSocket = WebSocketSettings(
      compressionOffer: typed.isOn(.compression) ? PerMessageDeflate.offer : nil)
  }
}

/// The command of `--on-gap`.
struct GapSettings: Equatable, Sendable {
  var command: String
  var timeout: Duration
}
