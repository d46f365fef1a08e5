/// Settings of a ``Pusher`` besides its key; all have defaults.
///
/// `connect()` reads the options. Settings that cannot work give the delegate a
/// ``PusherConfigurationError`` before anything is sent.
public struct PusherClientOptions: Sendable {
  /// Authorisation of private and presence channels.
  public var authMethod: AuthMethod
  /// Authentication of the user for ``PusherUser/signIn()``.
  public var userAuthMethod: UserAuthMethod
  /// Derives the keys of encrypted channels for ``AuthMethod/inline(secret:)``.
  public var encryptionMasterKey: EncryptionMasterKey?
  /// Gives `callback:` handlers data as a parsed ``JSONValue`` instead of a string.
  public var attemptToReturnJSONObject: Bool
  /// Retries after a lost connection and a failed first attempt.
  public var autoReconnect: Bool
  /// Host or cluster of the service; `nil` for the service's default cluster.
  public var host: PusherHost?
  /// Port, 1 to 65535; `nil` for 443 with TLS and 80 without.
  public var port: Int?
  /// URL path before `/app/KEY`; may be `nil` or empty.
  public var path: String?
  /// Encrypts the connection.
  public var useTLS: Bool
  /// Silence after which the client sends a ping; a shorter value from the server takes precedence.
  public var activityTimeout: Duration?
  /// Names and hosts of the service; default: ``PusherService/pusher``.
  public var service: PusherService
  /// Earlier events with which each channel begins; only ``PusherService/sockudo`` keeps some.
  public var rewind: PusherRewind?
  /// Checks of the service's certificate, and the client's certificate.
  ///
  /// Authorisation endpoints use only its trust roots.
  public var tls: TLSConfiguration
  /// Header fields of the upgrade request, such as `Origin`; fields of the handshake are rejected.
  public var headers: [String: String]
  /// WebSocket subprotocols to offer, in order of preference; most servers need none.
  public var subprotocols: [String]
  /// Offers permessage-deflate.
  public var offersCompression: Bool
  /// Proxies and environment variables; neither is used by default.
  public var network: PusherNetwork
  /// Maximum time to connect, for each subscription, and for an endpoint or ``Authorizer``.
  public var connectTimeout: Duration
  /// Retries a failed first connection, as PusherSwift does; libPusher does not.
  public var retriesFirstConnection: Bool
  /// Thread shared with other clients; `nil` for an own thread.
  public var runtime: PusherRuntime?
  /// Gets log messages, in addition to the delegates; fixed for the client's life.
  public var logger: (any PusherLogger)?
  /// Gets counts; fixed for the client's life.
  public var metrics: (any PusherMetrics)?
  /// Times of retries; ``PusherConnection`` has the same settings under PusherSwift's names.
  public var retries: RetrySettings

  /// Creates options; the defaults are PusherSwift's.
  public init(
    authMethod: AuthMethod = .noMethod, attemptToReturnJSONObject: Bool = true,
    autoReconnect: Bool = true, host: PusherHost? = nil, port: Int? = nil, path: String? = nil,
    useTLS: Bool = true, activityTimeout: Duration? = nil, service: PusherService = .pusher,
    caFile: String? = nil, connectTimeout: Duration = .seconds(10),
    retriesFirstConnection: Bool = true, userAuthMethod: UserAuthMethod = .noMethod,
    encryptionMasterKey: EncryptionMasterKey? = nil, network: PusherNetwork = PusherNetwork(),
    tls: TLSConfiguration = TLSConfiguration(), headers: [String: String] = [:],
    subprotocols: [String] = [], offersCompression: Bool = true, runtime: PusherRuntime? = nil,
    retries: RetrySettings = .standard, logger: (any PusherLogger)? = nil,
    metrics: (any PusherMetrics)? = nil
  ) {
    (self.authMethod, self.userAuthMethod) = (authMethod, userAuthMethod)
    (self.encryptionMasterKey, self.network) = (encryptionMasterKey, network)
    self.attemptToReturnJSONObject = attemptToReturnJSONObject
    (self.autoReconnect, self.retriesFirstConnection) = (autoReconnect, retriesFirstConnection)
    (self.host, self.port, self.path, self.useTLS) = (host, port, path, useTLS)
    (self.activityTimeout, self.connectTimeout) = (activityTimeout, connectTimeout)
    (self.service, self.tls, self.headers) = (service, tls, headers)
    if let caFile { self.tls.caFile = caFile }
    (self.subprotocols, self.offersCompression) = (subprotocols, offersCompression)
    (self.runtime, self.retries) = (runtime, retries)
    (self.logger, self.metrics) = (logger, metrics)
  }

  /// PEM file with the only trust roots, as in ``tls``; `nil` for the system's.
  public var caFile: String? {
    get { tls.caFile }
    set { tls.caFile = newValue }
  }

  /// Name of ``useTLS`` before PusherSwift 8.
  public var encrypted: Bool {
    get { useTLS }
    set { useTLS = newValue }
  }
}

/// Reason why a client cannot connect with its options or on this machine; nothing was sent.
public enum PusherConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The key is empty.
  case missingKey
  /// The host or the cluster cannot be part of a URL; with the reason.
  case invalidHost(String, reason: String)
  /// The port is not from 1 to 65535.
  case invalidPort(Int)
  /// The path has an invalid character.
  case invalidPath(String)
  /// A header field belongs to the handshake or is not valid HTTP; with its name.
  case invalidHeader(String)
  /// A timeout is zero or negative.
  case invalidTimeout(Duration)
  /// The proxy URL is invalid; the message contains no part of it.
  case invalidProxy(String)
  /// The trust roots cannot be read.
  case tls(String)
  /// The system could not create a thread or a pipe.
  case system(String)

  /// Message for the user.
  public var description: String {
    switch self {
    case .missingKey: "the app's key is empty"
    case .invalidHost(let host, let reason): "'\(host)' is not a host: \(reason)"
    case .invalidPort(let port): "\(port) is not a port; ports are 1 to 65535"
    case .invalidPath(let path): "'\(path)' is not a URL path"
    case .invalidHeader(let name): "cannot send the field '\(name)' with the upgrade"
    case .invalidTimeout(let time): "invalid timeout: \(time)"
    case .invalidProxy(let reason), .tls(let reason), .system(let reason): reason
    }
  }
}

/// Location of the service: your own host, or a cluster of the service.
public enum PusherHost: Sendable, Equatable {
  /// Name or address, without scheme, port and path; brackets of an IPv6 address are optional.
  case host(String)
  /// Short name of a cluster, such as `eu`; see ``PusherService/clusterHost``.
  case cluster(String)

  /// Pusher's default cluster, under PusherSwift's name.
  public static let defaultHost = PusherHost.cluster("mt1")

  /// Host name, such as `ws-eu.pusher.com`; clusters are Pusher's.
  public var stringValue: String { Self.name(self, PusherService.pusher.host(cluster:)) }

  /// Returns the name of `host`; `name` maps clusters, and `nil` for the default.
  static func name(_ host: PusherHost?, _ name: (_ cluster: String?) -> String) -> String {
    switch host {
    case .host(let host): host
    case .cluster(let cluster): name(cluster)
    case nil: name(nil)
    }
  }
}

extension PusherClientOptions {
  static let standardActivityTimeout = Duration.seconds(120)

  func destination(key: String) throws(PusherConfigurationError) -> Destination {
    guard !key.isEmpty else { throw .missingKey }
    guard let prefix = HTTPURL.prefix(path ?? "") else { throw .invalidPath(path ?? "") }
    let host = try checkedHost()
    if let port, !(1...65_535).contains(port) { throw .invalidPort(port) }
    let url = service.socketURL(
      isSecure: useTLS, host: host, port: port, prefix: prefix, key: key,
      clientName: "swift-pusher-core", version: "1.0")
    return Destination(
      url: url, headers: try checkedHeaders(), routing: try network.routing(), tls: tls,
      trust: network.trust)
  }

  var webSocket: WebSocketSettings {
    WebSocketSettings(
      subprotocols: subprotocols,
      compressionOffer: offersCompression ? PerMessageDeflate.offer : nil)
  }

  private func checkedHeaders() throws(PusherConfigurationError) -> HTTPHeaders {
    let fields = headers.sorted { $0.key < $1.key }
    for (name, value) in fields {
      let isPlain = ASCII.isToken(name) && value.utf8.allSatisfy(ASCII.isFieldValue)
      guard isPlain, !ClientHandshake.owns(name) else { throw .invalidHeader(name) }
    }
    return HTTPHeaders(fields.map { ($0.key, $0.value) })
  }

  private func checkedHost() throws(PusherConfigurationError) -> String {
    let name = PusherHost.name(host, service.host(cluster:))
    // Several colons mean an IPv6 address; a single colon would begin a port.
    let colons = name.utf8.count { $0 == UInt8(ascii: ":") }
    let isBare = colons > 1 && !name.begins(with: "[")
    guard colons != 1, !name.begins(with: "[") || name.ends(with: "]") else {
      throw .invalidHost(name, reason: "set the port with the option port")
    }
    let url: HTTPURL
    do {
      url = try HTTPURL(parsing: isBare ? "ws://[\(name)]" : "ws://\(name)")
    } catch {
      throw .invalidHost(name, reason: "\(error)")
    }
    let isHostAlone =
      url.path == "/" && !name.ends(with: "/") && url.query == nil && url.userInfo == nil
      && !name.contains("#")
    guard isHostAlone else { throw .invalidHost(name, reason: "it has more than a host name") }
    return url.host
  }

  func sessionOptions() throws(PusherConfigurationError) -> SessionOptions {
    for time in [activityTimeout, connectTimeout, retries.pongResponseTimeout] {
      if let time, time <= .zero { throw .invalidTimeout(time) }
    }
    let mode: ReconnectPolicy.Mode =
      !autoReconnect ? .never : retriesFirstConnection ? .always : .automatic
    var options = SessionOptions(
      service: service, activityTimeout: activityTimeout ?? Self.standardActivityTimeout,
      pongTimeout: retries.pongResponseTimeout, connectTimeout: connectTimeout,
      reconnect: retries.policy(mode))
    options.announcesRetries = true
    options.rewind = rewind
    return options
  }
}

/// Proxies, and the location of trusted certificates.
///
/// The library does not read the process's environment. Pass it if the client should use it:
///
/// ```swift
/// let network = PusherNetwork(environment: ProcessInfo.processInfo.environment)
/// let options = PusherClientOptions(network: network)
/// ```
public struct PusherNetwork: Sendable, Equatable {
  /// Proxy for all servers and endpoints: `http://`, `socks5h://` or `socks5://`, then
  /// `[USER[:PASSWORD]@]HOST[:PORT]`.
  ///
  /// An empty string means no proxy; `nil` means the environment's.
  public var proxy: String?
  /// Environment variables by name.
  ///
  /// The library reads `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, then `ALL_PROXY`, and
  /// `NO_PROXY`, the lower-case name of each first; and, without a `caFile`, `SSL_CERT_FILE` and
  /// `SSL_CERT_DIR`. If `REQUEST_METHOD` is set, a web client may have set `HTTP_PROXY`, so only
  /// `http_proxy` is used.
  public var environment: [String: String]

  /// Creates a network; by default without a proxy, and with the system's trusted certificates.
  public init(proxy: String? = nil, environment: [String: String] = [:]) {
    (self.proxy, self.environment) = (proxy, environment)
  }

  func routing() throws(PusherConfigurationError) -> Routing {
    do throws(ExplainedError) {
      return try Routing(proxy: proxy, environment: environment)
    } catch {
      throw .invalidProxy("\(error)")
    }
  }

  var trust: TLSEnvironment { TLSEnvironment(environment) }
}

extension PusherNetwork: CustomStringConvertible, CustomReflectable {
  /// Says whether there is a proxy; its URL may contain a password.
  public var description: String { proxy == nil ? "network" : "network with a proxy" }

  /// Empty, so that no dump shows a password or the environment.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Times of retries; see <doc:Reconnecting>.
public struct RetrySettings: Sendable, Equatable {
  /// Minimum delay before an attempt, from which longer delays grow; at least 10 ms.
  public var reconnectDelay: Duration
  /// Maximum delay between two attempts; `nil` for no limit.
  public var maxReconnectGap: Duration?
  /// Maximum number of failed attempts in a row, counted until a connection lasts 5 s; `nil` for no
  /// limit.
  public var reconnectAttemptsMax: Int?
  /// Maximum time for the answer to a ping before the connection counts as lost.
  public var pongResponseTimeout: Duration

  /// Creates settings; the defaults are those of ``standard``.
  public init(
    reconnectDelay: Duration = .seconds(1), maxReconnectGap: Duration? = .seconds(120),
    reconnectAttemptsMax: Int? = nil, pongResponseTimeout: Duration = .seconds(30)
  ) {
    (self.reconnectDelay, self.maxReconnectGap) = (reconnectDelay, maxReconnectGap)
    self.reconnectAttemptsMax = reconnectAttemptsMax
    self.pongResponseTimeout = pongResponseTimeout
  }

  /// Default: any number of attempts, with delays from 1 s to 120 s.
  public static let standard = RetrySettings()

  /// Defaults in PusherSwift's README: six attempts, no maximum delay.
  public static let pusherSwift = RetrySettings(maxReconnectGap: nil, reconnectAttemptsMax: 6)

  /// Defaults of libPusher 1.6: three attempts, delays from 5 s.
  public static let libPusher = RetrySettings(reconnectDelay: .seconds(5), reconnectAttemptsMax: 3)
}

extension RetrySettings {
  static let longestGap = Duration.seconds(31_536_000)

  func policy(_ mode: ReconnectPolicy.Mode) -> ReconnectPolicy {
    let ceiling = maxReconnectGap ?? Self.longestGap
    // A maximum below the minimum means quick retries, but the client must still wait.
    let shortest = Duration.milliseconds(10)
    let floor = min(max(reconnectDelay, shortest), max(shortest, ceiling))
    return ReconnectPolicy(
      mode: mode, maximumAttempts: reconnectAttemptsMax.map { max($0, 0) },
      backoff: Backoff(floor: floor, ceiling: ceiling))
  }
}

/// Writes a client's log messages.
///
/// The library depends on no logging package. <doc:OnServers> has an adapter for swift-log.
public protocol PusherLogger: Sendable {
  /// Logs one message without secrets; called on the callback thread, in order.
  ///
  /// Call `message` only if the level is enabled: it makes the text.
  func log(_ level: PusherLogLevel, _ message: () -> String)
}

/// Importance of a message, with swift-log's names.
public enum PusherLogLevel: String, Sendable, CaseIterable, Comparable {
  /// Messages sent, and received ones that the client handles itself.
  case trace
  /// Information for developers.
  case debug
  /// Connections and sign-ins.
  case info
  /// Something failed, and the client continues.
  case warning
  /// The client has given up.
  case error

  /// Returns whether `left` is less important.
  public static func < (left: PusherLogLevel, right: PusherLogLevel) -> Bool {
    left.rank < right.rank
  }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Takes a client's counts, for a monitoring system.
///
/// The library depends on no metrics package. <doc:OnServers> has an adapter for swift-metrics.
public protocol PusherMetrics: Sendable {
  /// Adds to a counter; called on the callback thread, for events once per read.
  func count(_ what: PusherCount, by amount: Int)
}

/// Counters of a client; the raw values are names for a monitoring system.
public enum PusherCount: String, Sendable, CaseIterable {
  /// Received events, including the service's own if a handler is bound to them.
  case events = "events_total"
  /// Sockets that the server has greeted.
  case connections = "connections_total"
  /// Lost connections and failed attempts.
  case losses = "losses_total"
  /// Gaps in which events may be missing.
  case gaps = "gaps_total"
  /// Events that slow readers of ``PusherEventBindings/events(buffering:)`` did not get.
  case dropped = "dropped_total"
  /// Failed subscriptions.
  case failedSubscriptions = "failed_subscriptions_total"
  /// Dropped messages: malformed, unknown, or impossible to decrypt.
  case leftOut = "left_out_total"
}
