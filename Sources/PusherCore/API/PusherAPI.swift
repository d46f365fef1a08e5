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
    case .failure(.late(let timeout)):
      throw .unreachable("\(HTTPExchange.Failure.timeout(timeout))")
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
    let place = name.contains(":") && !name.begins(with: "[") ? "[\(name)]" : name
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
