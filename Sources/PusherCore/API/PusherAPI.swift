/// The HTTP API of a service, for programs with the app's secret: events, channels, users,
/// signatures and webhooks.
///
/// It needs no client, and can be used from any thread. Calls share the thread and connections of a
/// ``PusherRuntime``, by default one for the process. At most 64 calls have a connection, and an
/// idle connection closes after four seconds. Other calls wait, within their ``Options/timeout``. A
/// call that only reads is repeated once if its reused connection is closed. A cancelled task gets
/// ``PusherAPIError/cancelled`` immediately, and its connection closes; the server may still
/// execute the call.
public struct PusherAPI: Sendable {
  /// App id in the API's paths.
  public let appID: String
  /// Key of the app.
  public let key: String
  private let secret: String
  let options: Options

  /// Location and settings of the API.
  public struct Options: Sendable {
    /// Host, or cluster of the service; `nil` for the service's default cluster.
    public var host: PusherHost?
    /// Port, 1 to 65535; `nil` for 443 with TLS and 80 without.
    public var port: Int?
    /// Path before `/apps/ID`, requested and signed; may be empty.
    public var path: String
    /// Address of the API, such as `https://shop.example/ws`; replaces ``host``, ``port`` and
    /// ``useTLS``.
    ///
    /// Its path is for a proxy that strips it: it is requested, but not signed, and replaces
    /// ``path``. Without a path, ``path`` applies.
    public var url: String?
    /// Encrypts the connection.
    public var useTLS: Bool
    /// Checks of the server's certificate, and the client's certificate.
    public var tls: TLSConfiguration
    /// Additional header fields of every call.
    public var headers: [String: String]
    /// Maximum time of a call, from name resolution to the last byte of the response.
    public var timeout: Duration
    /// Maximum size of an event's data, in bytes; `nil` for no check, default: Pusher's 10,240.
    public var maximumDataLength: Int?
    /// The service, which sets host names and event names.
    public var service: PusherService
    /// Key of encrypted channels, for events and clients; without it data is not encrypted.
    public var encryptionMasterKey: EncryptionMasterKey?
    /// Proxies and environment variables; neither is used by default.
    public var network: PusherNetwork
    /// Thread and connections of the calls; `nil` for those of the process.
    public var runtime: PusherRuntime?

    /// Creates options; the defaults are those of Pusher's default cluster.
    public init(
      host: PusherHost? = nil, port: Int? = nil, path: String = "", useTLS: Bool = true,
      caFile: String? = nil, timeout: Duration = .seconds(10), maximumDataLength: Int? = 10_240,
      service: PusherService = .pusher, encryptionMasterKey: EncryptionMasterKey? = nil,
      network: PusherNetwork = PusherNetwork(), tls: TLSConfiguration = TLSConfiguration(),
      headers: [String: String] = [:], runtime: PusherRuntime? = nil, url: String? = nil
    ) {
      (self.host, self.port, self.path, self.useTLS) = (host, port, path, useTLS)
      (self.tls, self.headers, self.timeout) = (tls, headers, timeout)
      (self.maximumDataLength, self.service) = (maximumDataLength, service)
      self.encryptionMasterKey = encryptionMasterKey
      (self.network, self.runtime, self.url) = (network, runtime, url)
      if let caFile { self.tls.caFile = caFile }
    }

    /// PEM file with the only trust roots, as in ``tls``; `nil` for the system's.
    public var caFile: String? {
      get { tls.caFile }
      set { tls.caFile = newValue }
    }
  }

  /// Creates an API of one app; the secret is never sent or shown.
  public init(appID: String, key: String, secret: String, options: Options = Options()) {
    (self.appID, self.key, self.secret, self.options) = (appID, key, secret, options)
  }

  var signature: SubscriptionSignature { SubscriptionSignature(key: key, secret: secret) }

  func isSignature(_ signature: String, of body: [UInt8]) -> Bool {
    WebhookSignature.isValid(signature, of: body, secret: secret)
  }

  /// Sends one event to one or more channels: `POST /apps/ID/events`.
  ///
  /// An encrypted channel must be the only one; its data is encrypted with
  /// ``Options/encryptionMasterKey``.
  ///
  /// - Parameters:
  ///   - eventName: 1 to 200 bytes of UTF-8.
  ///   - channels: 1 to 100 names.
  ///   - data: Data for subscribers, byte for byte; usually JSON.
  ///   - socketID: The socket to exclude, usually the socket of the user who caused the event.
  ///   - info: Channel attributes for the response: `user_count`, `subscription_count`.
  /// - Returns: The JSON of the response, usually an empty object.
  @discardableResult public func trigger(
    _ eventName: String, channels: [String], data: String, socketID: String? = nil,
    info: [String] = []
  ) async throws(PusherAPIError) -> JSONValue {
    try check(data: data)
    let trigger = try encrypted(
      TriggerRequest(
        name: eventName, channels: channels, data: data, socketID: socketID, info: info))
    return try await send(valid { try trigger.request(appID: appID) })
  }

  /// Sends one event with data of your own type, as JSON.
  @_disfavoredOverload @discardableResult public func trigger(
    _ eventName: String, channels: [String], data: some Encodable, socketID: String? = nil,
    info: [String] = []
  ) async throws(PusherAPIError) -> JSONValue {
    let text = try valid { try JSONValue(encoding: data).jsonText }
    return try await trigger(
      eventName, channels: channels, data: text, socketID: socketID, info: info)
  }

  func check(data: String) throws(PusherAPIError) {
    if let limit = options.maximumDataLength, data.utf8.count > limit {
      throw .invalid("event data has at most \(limit) bytes; this event has \(data.utf8.count)")
    }
  }

  /// Encrypts the data for an encrypted channel if there is a key.
  func encrypted(_ trigger: TriggerRequest) throws(PusherAPIError) -> TriggerRequest {
    guard let key = options.encryptionMasterKey else { return trigger }
    return try valid {
      try trigger.encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
    }
  }

  /// Runs `make`; its errors are the caller's.
  func valid<Value>(_ make: () throws -> Value) throws(PusherAPIError) -> Value {
    do {
      return try make()
    } catch {
      throw .invalid("\(error)")
    }
  }

  func send(_ request: APIRequest) async throws(PusherAPIError) -> JSONValue {
    let client = try client()
    let call = HTTPCall(
      client.request(request), routing: try valid { try options.network.routing() },
      tls: options.tls, trust: options.network.trust, timeout: options.timeout)
    let runtime = options.runtime ?? PusherRuntime.forCalls
    switch await runtime.calls.outcome(of: call) {
    case .success(let response): return try Self.value(client.answer(response), of: client)
    case .failure(.http(let error)): throw .invalid("\(error)")
    case .failure(.unreachable(let reason)): throw .unreachable(reason)
    case .failure(.cancelled): throw .cancelled
    }
  }

  private func client() throws(PusherAPIError) -> APIClient {
    let url = try valid { try options.url.map(APIClient.address) ?? addressOfHost() }
    guard let path = HTTPURL.prefix(options.path) else {
      throw .invalid("'\(options.path)' is not a path such as /realtime")
    }
    return APIClient(
      appID: appID, key: key, secret: secret, url: url, prefix: url.path.isEmpty ? path : "",
      headers: HTTPHeaders(options.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
  }

  private func addressOfHost() throws(HTTPError) -> HTTPURL {
    let name = PusherHost.name(options.host, options.service.apiHost(cluster:))
    let place = name.begins(with: "[") ? name : HTTPURL.bracketed(name)
    let port = options.port.map { ":\($0)" } ?? ""
    return try APIClient.address("\(options.useTLS ? "https" : "http")://\(place)\(port)")
  }

  private static func value(
    _ answer: APIAnswer, of client: APIClient
  ) throws(PusherAPIError) -> JSONValue {
    switch answer {
    case .accepted(let body): return (try? JSONParser.parse(body)) ?? .string(body)
    case .refused(let status, let reason, .prefix(let prefix)):
      let seen = "the server sees '\(prefix)' before /apps, and the call signs '\(client.prefix)'"
      throw .refused(
        status: status, "\(reason) (\(seen): if a proxy strips a path, give it in Options.url)")
    case .refused(let status, let reason, _): throw .refused(status: status, reason)
    case .rejected(let status, let reason): throw .rejected(status: status, reason)
    case .unavailable(let status, let reason): throw .unavailable(status: status, reason)
    case .unexpected(let status, let reason): throw .unexpected(status: status, reason)
    }
  }
}

/// Failure of a call of the HTTP API.
public enum PusherAPIError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The call is invalid for every server; nothing was sent.
  case invalid(String)
  /// 401, 403: the server did not accept the signature, the time or the app.
  case refused(status: Int, String)
  /// Another 4xx: the call itself is wrong.
  case rejected(status: Int, String)
  /// 429 and 5xx: the same call may succeed later.
  case unavailable(status: Int, String)
  /// Any other status: the server does not implement this API.
  case unexpected(status: Int, String)
  /// There was no response.
  case unreachable(String)
  /// The task was cancelled before the response.
  case cancelled

  /// Message for the user.
  public var description: String {
    switch self {
    case .invalid(let reason), .unreachable(let reason): reason
    case .cancelled: "the call was cancelled"
    case .refused(let status, let reason), .rejected(let status, let reason),
      .unavailable(let status, let reason), .unexpected(let status, let reason):
      "the server answered HTTP \(status): \(reason)"
    }
  }
}

extension PusherAPI: CustomStringConvertible, CustomReflectable {
  /// The app, without its secret.
  public var description: String { "API of app \(appID)" }

  /// Empty, so that no dump shows the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

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
    var batch = events
    for (index, event) in events.enumerated() {
      try check(data: event.data)
      batch[index].data = try encrypted(event.alone).data
    }
    return try await send(valid { try .batch(batch, appID: appID) })
  }
}

/// Responses for authorisation endpoints; nothing is sent.
extension PusherAPI {
  /// Authorises a socket for a private, presence or encrypted channel.
  ///
  /// The result is the response of the endpoint; ``PusherAuth/jsonText`` is its body. Presence
  /// channels need a `member`, encrypted channels ``Options/encryptionMasterKey``. The socket id is
  /// checked, since a client could otherwise get any text signed.
  ///
  /// - Throws: ``PusherAPIError/invalid(_:)`` for an invalid name or socket id, a public channel,
  ///   and a missing member or key.
  public func authorizeChannel(
    _ channelName: String, socketID: String, member: PusherPresenceChannelMember? = nil
  ) throws(PusherAPIError) -> PusherAuth {
    try Self.check(channel: channelName)
    try Self.check(socketID: socketID)
    let kind = ChannelKind(channelName: channelName)
    guard kind.needsAuthorization else {
      throw .invalid("channel '\(channelName)' is public and needs no authorisation")
    }
    var channelData: String?
    if kind == .presence {
      guard let member else { throw .invalid("a presence channel needs a member") }
      channelData = member.channelData.jsonText
    }
    var auth = signature.authorize(
      socketID: socketID, channel: channelName, channelData: channelData)
    if kind == .encrypted {
      guard let key = options.encryptionMasterKey else {
        throw .invalid("channel '\(channelName)' needs an encryption master key")
      }
      auth.sharedSecret = key.sharedSecret(channel: channelName)
    }
    return auth
  }

  /// Authenticates the user of a socket.
  ///
  /// `userData` is an object with `id` and optionally `user_info` and `watchlist`. The result is
  /// the response of the endpoint; ``PusherUserAuth/jsonText`` is its body.
  ///
  /// - Throws: ``PusherAPIError/invalid(_:)`` for an invalid socket id and a user without an id.
  public func authenticateUser(
    socketID: String, userData: JSONValue
  ) throws(PusherAPIError) -> PusherUserAuth {
    try Self.check(socketID: socketID)
    guard userData["id"]?.identifier?.isEmpty == false else {
      throw .invalid("the user's data has no id")
    }
    let text = userData.jsonText
    return PusherUserAuth(
      auth: signature.signIn(socketID: socketID, userData: text), userData: text)
  }

  private static func check(socketID: String) throws(PusherAPIError) {
    guard SocketID.isValid(socketID) else {
      throw .invalid("\(TriggerError.invalidSocketID(socketID))")
    }
  }
}

extension PusherAuth {
  /// JSON response of an authorisation endpoint.
  public var jsonText: String {
    JSONValue.object(texts: [
      "auth": auth, "channel_data": channelData, "shared_secret": sharedSecret,
    ]).jsonText
  }
}

extension PusherUserAuth {
  /// JSON response of a user authentication endpoint.
  public var jsonText: String {
    JSONValue.object(texts: ["auth": auth, "user_data": userData]).jsonText
  }
}
