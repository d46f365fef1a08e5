internal import PusherCore

/// The checked settings of `subscribe`.
struct SubscribeSettings: FeedCommandSettings {
  var connection: ConnectionSettings
  /// Each once, in the order typed; at least one, unless a user is signed in.
  var channels: [String]
  /// The search for further channels.
  var discovery: DiscoverySettings?
  /// Whether standard input is read for orders.
  var readsInput: Bool
  /// What repairs a gap, and how long that may take.
  var gapCommand: String?
  var gapTimeout: Duration
  /// Fields for the upgrade.
  var fields: RequestFields
  var authorization: ChannelAuthorization
  var userSignIn: UserSignIn
  var feed: FeedSettings
  var pongTimeout: Duration
  /// The shortest wait before a new attempt.
  var reconnectDelay: Duration
  /// Members of one presence channel that are kept.
  var maxMembers: Int
  /// Whether permessage-deflate is offered.
  var offersCompression: Bool
  /// WebSocket sub-protocols to offer, in the order typed.
  var subprotocols: [String]
}

extension SubscribeSettings {
  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    let names = typed.operands + typed.texts(.channel)
    let signsIn = [Flag.userAuthEndpoint, .userAuthCommand].contains { typed.text($0) != nil }
    readsInput = typed.isOn(.stdin)
    let isOpenEnded = readsInput || typed.command == .check
    guard !names.isEmpty || signsIn || typed.isOn(.signIn) || isOpenEnded else {
      throw UsageError("no channel: give one, as in 'pusher-cli subscribe my-channel'")
    }
    if readsInput { try reader.claimInput(for: Flag.stdin.spelling) }
    let (fixed, discovery) = try reader.discovery(names)
    self.discovery = discovery
    channels = try reader.channels(fixed)
    let source = try reader.source(.webSocket)
    gapCommand = typed.text(.onGap)
    gapTimeout = typed.time(.onGapTimeout)
    connection = try reader.connection(.webSocket, source)
    fields = try reader.requestFields()
    if let own = fields.all.first(where: { ClientHandshake.owns($0.name) }) {
      throw UsageError("--header: \(own.name) belongs to the WebSocket handshake")
    }
    authorization = try reader.authorization(
      for: channels, mayGrow: readsInput || discovery != nil, source)
    userSignIn = try reader.userSignIn(source)
    feed = try reader.feed()
    pongTimeout = typed.time(.pongTimeout)
    reconnectDelay = typed.time(.reconnectDelay)
    maxMembers = typed.number(.maxMembers)
    offersCompression = typed.isOn(.compression)
    subprotocols = try reader.subprotocols()
  }
}
