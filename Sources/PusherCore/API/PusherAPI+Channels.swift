extension PusherAPI {
  /// State of a channel.
  public struct ChannelState: Sendable, Equatable {
    /// True if the channel has a subscription.
    public var isOccupied: Bool
    /// Number of users; only on presence channels, if `user_count` was requested.
    public var userCount: Int?
    /// Number of subscriptions, if `subscription_count` was requested and the app allows it.
    public var subscriptionCount: Int?
    /// The whole response, with attributes that have no property here.
    public var attributes: JSONValue

    init(_ attributes: JSONValue, isOccupied: Bool) {
      self.attributes = attributes
      self.isOccupied = isOccupied
      userCount = attributes["user_count"]?.integer
      subscriptionCount = attributes["subscription_count"]?.integer
    }
  }

  /// Returns the occupied channels by name: `GET /apps/ID/channels`.
  ///
  /// `info` is `user_count`, only if `prefix` begins with `presence-`, and `subscription_count`.
  public func channels(
    withPrefix prefix: String? = nil, info: [String] = []
  ) async throws(PusherAPIError) -> [String: ChannelState] {
    let answer = try await send(
      .channels(appID: appID, filter: prefix, info: info))
    guard let members = answer["channels"]?.members else { throw Self.lacking("channels", answer) }
    let states = members.map { ($0.name, ChannelState($0.value, isOccupied: true)) }
    return [String: ChannelState](states) { _, last in last }
  }

  /// Returns one channel: `GET /apps/ID/channels/NAME`.
  ///
  /// `info` is `user_count`, only for presence channels, and `subscription_count`. An invalid name
  /// throws ``PusherAPIError/invalid(_:)``.
  public func channel(
    _ name: String, info: [String] = []
  ) async throws(PusherAPIError) -> ChannelState {
    try Self.check(channel: name)
    let answer = try await send(.channel(name, appID: appID, info: info))
    guard let isOccupied = answer["occupied"]?.bool else { throw Self.lacking("occupied", answer) }
    return ChannelState(answer, isOccupied: isOccupied)
  }

  /// Returns the ids of a presence channel's users: `GET /apps/ID/channels/NAME/users`.
  ///
  /// Other channels throw ``PusherAPIError/invalid(_:)``.
  public func users(of channel: String) async throws(PusherAPIError) -> [String] {
    try Self.check(channel: channel)
    guard ChannelKind(channelName: channel) == .presence else {
      throw .invalid("only a presence channel lists its users; '\(channel)' is not one")
    }
    let answer = try await send(.users(of: channel, appID: appID))
    guard let users = answer["users"]?.elements else { throw Self.lacking("users", answer) }
    return users.compactMap { $0["id"]?.identifier }
  }

  /// Ends all connections of a signed-in user: `POST /apps/ID/users/UID/terminate_connections`.
  public func terminateConnections(userId: String) async throws(PusherAPIError) {
    try Self.check(user: userId)
    _ = try await send(.terminate(user: userId, appID: appID))
  }

  /// Sends an event to all connections of a signed-in user, on the user's own channel.
  ///
  /// It is not an error if the user is not signed in. `eventName` has 1 to 200 bytes of UTF-8;
  /// `data` is sent byte for byte and is usually JSON.
  public func sendToUser(
    _ userId: String, _ eventName: String, data: String
  ) async throws(PusherAPIError) {
    try Self.check(user: userId)
    try await trigger(eventName, channels: [UserChannel.name(userID: userId)], data: data)
  }

  /// Sends an event to a user, with data of your own type as JSON.
  @_disfavoredOverload public func sendToUser(
    _ userId: String, _ eventName: String, data: some Encodable
  ) async throws(PusherAPIError) {
    let text = try valid { try JSONValue(encoding: data).jsonText }
    try await sendToUser(userId, eventName, data: text)
  }

  static func check(channel: String) throws(PusherAPIError) {
    if let problem = ChannelName.problem(in: channel) {
      throw .invalid("channel '\(channel)': \(problem)")
    }
  }

  private static func check(user: String) throws(PusherAPIError) {
    guard !user.isEmpty, user.count <= UserChannel.maximumIDLength else {
      let limit = UserChannel.maximumIDLength
      throw .invalid("a user id has 1 to \(limit) characters; this one has \(user.count)")
    }
  }

  private static func lacking(_ name: String, _ answer: JSONValue) -> PusherAPIError {
    .unexpected(status: 200, "the answer has no \"\(name)\"")
  }

  /// Event of a batch.
  public struct Event: Sendable, Equatable {
    /// Name of the event: 1 to 200 bytes of UTF-8.
    public var name: String
    /// Channel of the event.
    public var channel: String
    /// Data for subscribers, byte for byte; usually JSON.
    public var data: String
    /// Socket to exclude.
    public var socketID: String?

    /// Creates an event.
    public init(_ name: String, channel: String, data: String, socketID: String? = nil) {
      (self.name, self.channel, self.data, self.socketID) = (name, channel, data, socketID)
    }

    /// Creates an event with data of your own type, as JSON; throws `EncodingError`.
    @_disfavoredOverload public init(
      _ name: String, channel: String, data: some Encodable, socketID: String? = nil
    ) throws {
      let text = try JSONValue(encoding: data).jsonText
      self.init(name, channel: channel, data: text, socketID: socketID)
    }
  }

  /// Sends several events, each to one channel: `POST /apps/ID/batch_events`.
  ///
  /// `events` has at least one event; the server sets the maximum, which is ten for Pusher. Events
  /// of encrypted channels are encrypted with ``Options/encryptionMasterKey``. The result is the
  /// JSON of the response, usually an empty object.
  @discardableResult
  public func triggerBatch(_ events: [Event]) async throws(PusherAPIError) -> JSONValue {
    guard !events.isEmpty else { throw .invalid("a batch needs at least one event") }
    var batch = BatchRequest(events: events)
    for (index, event) in events.enumerated() {
      try check(data: event.data)
      batch.events[index].data = try encrypted(event.alone).data
    }
    return try await send(valid { try batch.request(appID: appID) })
  }
}
