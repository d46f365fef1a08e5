/// The HTTP API of a service, for programs that have the app's secret: sends events, lists channels and users, signs
/// for clients and checks webhooks.
///
/// It stands on its own: no client is needed. It can be used from any thread. Calls share the thread and the
/// connections of a ``PusherRuntime``, by default one for the whole process: at most 64 calls have a connection at a
/// time, and a connection is kept for four seconds after its last call. Other calls wait, and that wait counts towards
/// ``Options/timeout``. A call that asks and changes nothing is made again, once, where a kept connection turns out to be
/// closed. A call whose task is cancelled throws ``PusherAPIError/cancelled`` at once, and its connection is closed; the
/// server may have carried it out all the same.
public struct PusherAPI: Sendable {
  /// The app's id, as it stands in the API's paths.
  public let appID: String
  /// The app's key.
  public let key: String
  private let secret: String
  let options: Options

  /// Where the API is, and how it is spoken to.
  public struct Options: Sendable {
    /// A host, or a cluster of the service; `nil` for the service's default cluster.
    public var host: PusherHost?
    /// 1 to 65535; `nil` for 443 with TLS and 80 without.
    public var port: Int?
    /// The path before `/apps/ID`; may be empty.
    public var path: String
    /// Whether the connection is encrypted.
    public var useTLS: Bool
    /// How the server's certificate is checked, and what is shown to it.
    public var tls: TLSConfiguration
    /// Sent with every call besides its own fields.
    public var headers: [String: String]
    /// For a whole call, from the name's resolution to the answer's last byte.
    public var timeout: Duration
    /// The most bytes of UTF-8 that an event's data may have: 10,240, as Pusher documents; `nil` leaves it to the server.
    public var maximumDataLength: Int?
    /// The service, which decides hosts and event names.
    public var service: PusherService
    /// Encrypts events for encrypted channels, and makes the channels' keys for clients; `nil` sends data as it is.
    public var encryptionMasterKey: EncryptionMasterKey?
    /// Proxies, and the environment variables to use; neither unless given.
    public var network: PusherNetwork
    /// The thread and the connections for calls; `nil` for those that all calls of the process share.
    public var runtime: PusherRuntime?

    /// Options; without arguments those of Pusher's default cluster.
    public init(
      host: PusherHost? = nil, port: Int? = nil, path: String = "", useTLS: Bool = true,
      caFile: String? = nil, timeout: Duration = .seconds(10),
      maximumDataLength: Int? = 10_240, service: PusherService = .pusher,
      encryptionMasterKey: EncryptionMasterKey? = nil, network: PusherNetwork = PusherNetwork(),
      tls: TLSConfiguration = TLSConfiguration(), headers: [String: String] = [:],
      runtime: PusherRuntime? = nil
    ) {
      (self.host, self.port, self.path) = (host, port, path)
      (self.useTLS, self.tls) = (useTLS, tls)
      if let caFile { self.tls.caFile = caFile }
      (self.headers, self.timeout) = (headers, timeout)
      (self.maximumDataLength, self.service) = (maximumDataLength, service)
      (self.encryptionMasterKey, self.network) = (encryptionMasterKey, network)
      self.runtime = runtime
    }

    /// A PEM file with the only authorities to trust; `nil` for the system's: that of ``tls``.
    public var caFile: String? {
      get { tls.caFile }
      set { tls.caFile = newValue }
    }
  }

  /// An API of one app.
  ///
  /// - Parameters:
  ///   - appID: The app's id.
  ///   - key: The app's key.
  ///   - secret: The app's secret; it signs each call and is never sent or shown.
  ///   - options: Where the API is.
  public init(appID: String, key: String, secret: String, options: Options = Options()) {
    (self.appID, self.key, self.secret, self.options) = (appID, key, secret, options)
  }

  /// Signs for clients.
  var signature: SubscriptionSignature { SubscriptionSignature(key: key, secret: secret) }

  /// Whether a webhook's body was signed with the app's secret.
  func isSignature(_ signature: String, of body: [UInt8]) -> Bool {
    WebhookSignature.isValid(signature, of: body, secret: secret)
  }

  /// Sends one event to one or more channels: `POST /apps/ID/events`.
  ///
  /// For an encrypted channel, which must be the only one, the data is encrypted with ``Options/encryptionMasterKey``.
  ///
  /// - Parameters:
  ///   - eventName: 1 to 200 bytes of UTF-8.
  ///   - channels: 1 to 100 names.
  ///   - data: What subscribers get as data, byte for byte; usually JSON.
  ///   - socketID: The socket that gets nothing, mostly the one whose user caused the event.
  ///   - info: What the answer should tell about the channels: `user_count`, `subscription_count`.
  /// - Returns: The answer's JSON, mostly an empty object.
  /// - Throws: ``PusherAPIError``: ``PusherAPIError/invalid(_:)`` before anything is sent, else for the failure of the
  ///   call.
  @discardableResult
  public func trigger(
    _ eventName: String, channels: [String], data: String, socketID: String? = nil,
    info: [String] = []
  ) async throws(PusherAPIError) -> JSONValue {
    try check(data: data)
    let trigger = try encrypted(
      TriggerRequest(
        name: eventName, channels: channels, data: data, socketID: socketID, info: info))
    return try await send(valid { try trigger.request(appID: appID, prefix: options.path) })
  }

  /// The same with data of a type of yours, which is sent as JSON.
  ///
  /// - Throws: ``PusherAPIError``: ``PusherAPIError/invalid(_:)`` for data that cannot be JSON too.
  @_disfavoredOverload
  @discardableResult
  public func trigger(
    _ eventName: String, channels: [String], data: some Encodable, socketID: String? = nil,
    info: [String] = []
  ) async throws(PusherAPIError) -> JSONValue {
    let text = try valid { try JSONValue(encoding: data).jsonText }
    return try await trigger(
      eventName, channels: channels, data: text, socketID: socketID, info: info)
  }

  /// Refuses data that is too long, before it is sent or encrypted.
  func check(data: String) throws(PusherAPIError) {
    if let limit = options.maximumDataLength, data.utf8.count > limit {
      throw .invalid("an event's data has at most \(limit) bytes, this one \(data.utf8.count)")
    }
  }

  /// The data for an encrypted channel, encrypted if there is a key.
  func encrypted(_ trigger: TriggerRequest) throws(PusherAPIError) -> TriggerRequest {
    guard let key = options.encryptionMasterKey else { return trigger }
    return try valid {
      try trigger.encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
    }
  }

  /// The result of `make`; its errors count as the caller's mistakes.
  func valid<Value>(_ make: () throws -> Value) throws(PusherAPIError) -> Value {
    do {
      return try make()
    } catch {
      throw .invalid("\(error)")
    }
  }

  /// Signs and makes a call.
  func send(_ request: APIRequest) async throws(PusherAPIError) -> JSONValue {
    let signed = request.signed(
      key: key, secret: secret, timestamp: SystemClock.wall().secondsSince1970)
    let url = try url(signed)
    var fields = signed.headers
    for (name, value) in options.headers.sorted(by: { $0.key < $1.key }) {
      fields.append(name, value)
    }
    let call = HTTPExchange.Request(
      method: signed.method, url: url, headers: fields, body: signed.body ?? [])
    return try Self.value(try await answer(to: call))
  }

  /// Makes a call on the thread of the options.
  private func answer(
    to request: HTTPExchange.Request
  ) async throws(PusherAPIError) -> APIAnswer {
    let call = HTTPCall(
      request, routing: try valid { try options.network.routing() }, tls: options.tls,
      trust: options.network.trust, timeout: options.timeout)
    let runtime = options.runtime ?? PusherRuntime.forCalls
    switch await runtime.calls.outcome(of: call) {
    case .success(let response):
      return APIAnswer(status: response.head.status, body: response.body)
    case .failure(.http(let error)): throw .invalid("\(error)")
    case .failure(.unreachable(let reason)): throw .unreachable(reason)
    case .failure(.late(let timeout)):
      throw .unreachable("\(HTTPExchange.Failure.timeout(timeout))")
    case .failure(.cancelled): throw .cancelled
    }
  }

  private func url(_ request: SignedAPIRequest) throws(PusherAPIError) -> HTTPURL {
    let name = PusherHost.name(options.host, options.service.apiHost(cluster:))
    let place = name.contains(":") && !name.begins(with: "[") ? "[\(name)]" : name
    let port = options.port.map { ":\($0)" } ?? ""
    return try valid {
      try HTTPURL(
        parsing: "\(options.useTLS ? "https" : "http")://\(place)\(port)\(request.target)")
    }
  }

  private static func value(_ answer: APIAnswer) throws(PusherAPIError) -> JSONValue {
    switch answer {
    case .accepted(let body): return (try? JSONParser.parse(body)) ?? .string(body)
    case .refused(let status, let reason): throw .refused(status: status, reason)
    case .rejected(let status, let reason): throw .rejected(status: status, reason)
    case .unavailable(let status, let reason): throw .unavailable(status: status, reason)
    case .unexpected(let status, let reason): throw .unexpected(status: status, reason)
    }
  }
}

/// Why a call of the HTTP API failed.
public enum PusherAPIError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Every server would refuse the call; nothing was sent.
  case invalid(String)
  /// 401, 403: the server did not accept the signature, the time or the app.
  case refused(status: Int, String)
  /// Another 4xx: the call itself is wrong.
  case rejected(status: Int, String)
  /// 429 and 5xx: the same call may succeed later.
  case unavailable(status: Int, String)
  /// Any other status: the server does not speak this API.
  case unexpected(status: Int, String)
  /// There was no answer.
  case unreachable(String)
  /// The task was cancelled before there was an answer.
  case cancelled

  /// What went wrong, in the words of a message to the user.
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
