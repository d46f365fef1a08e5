/// Who is where, and the events for users.
extension PusherAPI {
  /// What the API tells about a channel.
  public struct ChannelState: Sendable, Equatable {
    /// Whether anybody is subscribed.
    public var isOccupied: Bool
    /// How many users there are, on presence channels when `user_count` was asked for.
    public var userCount: Int?
    /// How many subscriptions there are, when `subscription_count` was asked for and the app allows it.
    public var subscriptionCount: Int?
    /// The whole answer, for attributes that have no property here.
    public var attributes: JSONValue

    init(_ attributes: JSONValue, isOccupied: Bool) {
      self.attributes = attributes
      self.isOccupied = isOccupied
      userCount = attributes["user_count"]?.integer
      subscriptionCount = attributes["subscription_count"]?.integer
    }
  }

  /// The channels that anybody is subscribed to, by their names: `GET /apps/ID/channels`.
  ///
  /// - Parameters:
  ///   - prefix: How their names begin; `nil` for all.
  ///   - info: `user_count`, which needs a prefix that begins with `presence-`, and `subscription_count`.
  /// - Throws: ``PusherAPIError``.
  public func channels(
    withPrefix prefix: String? = nil, info: [String] = []
  ) async throws(PusherAPIError) -> [String: ChannelState] {
    let answer = try await send(
      .channels(appID: appID, prefix: options.path, filter: prefix, info: info))
    guard let members = answer["channels"]?.members else { throw Self.lacking("channels", answer) }
    let states = members.map { ($0.name, ChannelState($0.value, isOccupied: true)) }
    return [String: ChannelState](states) { _, last in last }
  }

  /// One channel: `GET /apps/ID/channels/NAME`.
  ///
  /// - Parameters:
  ///   - name: The name with its prefix.
  ///   - info: `user_count`, on presence channels alone, and `subscription_count`.
  /// - Throws: ``PusherAPIError``; ``PusherAPIError/invalid(_:)`` for a text that is not a channel name.
  public func channel(
    _ name: String, info: [String] = []
  ) async throws(PusherAPIError) -> ChannelState {
    try Self.check(channel: name)
    let answer = try await send(
      .channel(name, appID: appID, prefix: options.path, info: info))
    guard let isOccupied = answer["occupied"]?.bool else { throw Self.lacking("occupied", answer) }
    return ChannelState(answer, isOccupied: isOccupied)
  }

  /// The ids of a presence channel's users: `GET /apps/ID/channels/NAME/users`.
  ///
  /// - Throws: ``PusherAPIError``; ``PusherAPIError/invalid(_:)`` for a name that is not a presence channel's.
  public func users(of channel: String) async throws(PusherAPIError) -> [String] {
    try Self.check(channel: channel)
    guard ChannelKind(channelName: channel) == .presence else {
      throw .invalid("users are only known of presence channels, not of '\(channel)'")
    }
    let answer = try await send(.users(of: channel, appID: appID, prefix: options.path))
    guard let users = answer["users"]?.elements else { throw Self.lacking("users", answer) }
    return users.compactMap { $0["id"]?.identifier }
  }

  /// Ends all connections of a user who is signed in: `POST /apps/ID/users/UID/terminate_connections`.
  ///
  /// - Throws: ``PusherAPIError``; ``PusherAPIError/invalid(_:)`` for a text that is not a user id.
  public func terminateConnections(userId: String) async throws(PusherAPIError) {
    try Self.check(user: userId)
    _ = try await send(.terminate(user: userId, appID: appID, prefix: options.path))
  }

  /// Sends an event to all connections of a user who is signed in: ``trigger(_:channels:data:socketID:info:)-(_,_,String,_,_)`` on the
  /// user's own channel.
  ///
  /// - Parameters:
  ///   - userId: The user's id; a user who is not signed in gets nothing, which is not an error.
  ///   - eventName: 1 to 200 bytes of UTF-8.
  ///   - data: What the user's handlers get as data, byte for byte; usually JSON.
  /// - Throws: ``PusherAPIError``.
  public func sendToUser(
    _ userId: String, _ eventName: String, data: String
  ) async throws(PusherAPIError) {
    try Self.check(user: userId)
    try await trigger(eventName, channels: [UserChannel.name(userID: userId)], data: data)
  }

  /// The same with data of a type of yours, which is sent as JSON.
  ///
  /// - Throws: ``PusherAPIError``: ``PusherAPIError/invalid(_:)`` for data that cannot be JSON too.
  @_disfavoredOverload
  public func sendToUser(
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
      throw .invalid("a user's id has 1 to \(limit) characters, this one \(user.count)")
    }
  }

  /// A 200 from a server that does not speak this API.
  private static func lacking(_ name: String, _ answer: JSONValue) -> PusherAPIError {
    .unexpected(status: 200, "the answer has no \"\(name)\"")
  }
}

/// Several events in one call.
extension PusherAPI {
  /// One event of a batch.
  public struct Event: Sendable, Equatable {
    /// 1 to 200 bytes of UTF-8.
    public var name: String
    /// The one channel that gets it.
    public var channel: String
    /// What subscribers get as data, byte for byte; usually JSON.
    public var data: String
    /// The socket that gets nothing.
    public var socketID: String?

    /// An event.
    public init(_ name: String, channel: String, data: String, socketID: String? = nil) {
      (self.name, self.channel, self.data, self.socketID) = (name, channel, data, socketID)
    }

    /// An event with data of a type of yours, which is sent as JSON.
    ///
    /// - Throws: `EncodingError` for data that cannot be JSON.
    @_disfavoredOverload
    public init(
      _ name: String, channel: String, data: some Encodable, socketID: String? = nil
    ) throws {
      let text = try JSONValue(encoding: data).jsonText
      self.init(name, channel: channel, data: text, socketID: socketID)
    }
  }

  /// Sends several events, each to one channel: `POST /apps/ID/batch_events`.
  ///
  /// Events of encrypted channels are encrypted with ``Options/encryptionMasterKey``.
  ///
  /// - Parameter events: At least one; the server decides how many are allowed, and Pusher allows ten.
  /// - Returns: The answer's JSON, mostly an empty object.
  /// - Throws: ``PusherAPIError``: ``PusherAPIError/invalid(_:)`` before anything is sent, else for the failure of the
  ///   call.
  @discardableResult
  public func triggerBatch(_ events: [Event]) async throws(PusherAPIError) -> JSONValue {
    guard !events.isEmpty else { throw .invalid("a batch needs an event") }
    var batch = BatchRequest(events: events)
    for (index, event) in events.enumerated() {
      try check(data: event.data)
      batch.events[index].data = try encrypted(event.alone).data
    }
    return try await send(valid { try batch.request(appID: appID, prefix: options.path) })
  }
}
