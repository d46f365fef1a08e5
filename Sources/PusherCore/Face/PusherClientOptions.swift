/// The settings of a ``Pusher`` besides its key; every part has a default.
///
/// The options are read when `connect()` is called; the delegate then gets a ``PusherConfigurationError`` for settings
/// that cannot work, before anything is sent.
public struct PusherClientOptions: Sendable {
  /// How subscriptions to private and presence channels are signed.
  public var authMethod: AuthMethod
  /// How the user is authenticated, for ``PusherUser/signIn()``.
  public var userAuthMethod: UserAuthMethod
  /// Makes the keys of encrypted channels, with ``AuthMethod/inline(secret:)``; the other methods bring the keys.
  public var encryptionMasterKey: EncryptionMasterKey?
  /// Whether handlers bound with `callback:` get data as a parsed ``JSONValue``; else they get its text.
  public var attemptToReturnJSONObject: Bool
  /// Whether lost connections, and first attempts that fail, are followed by new attempts.
  public var autoReconnect: Bool
  /// Where the service is; `nil` for the service's default cluster.
  public var host: PusherHost?
  /// 1 to 65535; `nil` for 443 with TLS and 80 without.
  public var port: Int?
  /// The URL's path before `/app/KEY`; may be `nil` or empty.
  public var path: String?
  /// Whether the connection is encrypted.
  public var useTLS: Bool
  /// The silence after which the server is pinged; the server's own value counts when it is shorter.
  public var activityTimeout: Duration?
  /// The service, with its names and hosts; ``PusherService/pusher`` by default.
  public var service: PusherService
  /// How the service's certificate is checked, and what is shown to it.
  ///
  /// Authorisation endpoints are checked against the same authorities, and shown no certificate; pins are not theirs.
  public var tls: TLSConfiguration
  /// Sent with the upgrade, such as `Origin`; the fields of the WebSocket handshake itself are refused.
  public var headers: [String: String]
  /// WebSocket sub-protocols to offer, the preferred one first; most servers want none.
  public var subprotocols: [String]
  /// Whether permessage-deflate is offered.
  public var offersCompression: Bool
  /// Proxies, and the environment variables to use; neither unless given.
  public var network: PusherNetwork
  /// How long connecting may take, from the name's resolution to the server's greeting, and each answer to a
  /// subscription; also how long an endpoint or an ``Authorizer`` may take.
  public var connectTimeout: Duration
  /// Whether a first connection that fails is tried again, as PusherSwift does; libPusher does not.
  public var retriesFirstConnection: Bool
  /// The thread that the client shares with others; `nil` for one of its own.
  public var runtime: PusherRuntime?
  /// Told what goes on, beside the delegates; a client keeps the first one for its life.
  public var logger: (any PusherLogger)?
  /// Told what there is to count; a client keeps the first one for its life.
  public var metrics: (any PusherMetrics)?
  /// When a lost connection is made anew; ``PusherConnection`` has the same numbers under PusherSwift's names.
  public var retries: RetrySettings

  /// Options; without arguments those of PusherSwift.
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
    (self.autoReconnect, self.host, self.port) = (autoReconnect, host, port)
    (self.path, self.useTLS, self.activityTimeout) = (path, useTLS, activityTimeout)
    (self.service, self.tls) = (service, tls)
    if let caFile { self.tls.caFile = caFile }
    (self.headers, self.subprotocols) = (headers, subprotocols)
    (self.offersCompression, self.connectTimeout) = (offersCompression, connectTimeout)
    (self.retriesFirstConnection, self.runtime) = (retriesFirstConnection, runtime)
    (self.logger, self.metrics, self.retries) = (logger, metrics, retries)
  }

  /// A PEM file with the only authorities to trust, the service's and the endpoints'; `nil` for the system's: that of
  /// ``tls``.
  public var caFile: String? {
    get { tls.caFile }
    set { tls.caFile = newValue }
  }

  /// ``useTLS`` under the name that it had before PusherSwift 8.
  public var encrypted: Bool {
    get { useTLS }
    set { useTLS = newValue }
  }
}

/// Why a client cannot connect with its options or on this machine; nothing was sent.
public enum PusherConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The key is empty.
  case missingKey
  /// The host or the cluster cannot stand in a URL; with the reason.
  case invalidHost(String, reason: String)
  /// The port is not from 1 to 65535.
  case invalidPort(Int)
  /// The path has an invalid character.
  case invalidPath(String)
  /// A field of the upgrade is the handshake's own, or cannot stand in a head; its name.
  case invalidHeader(String)
  /// A timeout is zero or less.
  case invalidTimeout(Duration)
  /// A proxy's URL is invalid; the message shows no part of it.
  case invalidProxy(String)
  /// The trust roots cannot be read.
  case tls(String)
  /// The system could not make a thread or a pipe.
  case system(String)

  /// What is wrong, in the words of a message to the user.
  public var description: String {
    switch self {
    case .missingKey: "the app's key is empty"
    case .invalidHost(let host, let reason): "'\(host)' is not a host: \(reason)"
    case .invalidPort(let port): "\(port) is not a port; ports are 1 to 65535"
    case .invalidPath(let path): "'\(path)' is not a path of a URL"
    case .invalidHeader(let name): "the field '\(name)' cannot be sent with the upgrade"
    case .invalidTimeout(let time): "a timeout of \(time) is not possible"
    case .invalidProxy(let reason), .tls(let reason), .system(let reason): reason
    }
  }
}

/// Where the service is: your own host, or a cluster of the service.
public enum PusherHost: Sendable, Equatable {
  /// A name or an address, without scheme, port and path; an IPv6 address with or without its brackets.
  case host(String)
  /// The short name of a cluster, such as `eu`; ``PusherService/clusterHost`` tells its host.
  case cluster(String)

  /// Pusher's default cluster, under PusherSwift's name; options without a host go there too, unless they name another
  /// service.
  public static let defaultHost = PusherHost.cluster("mt1")

  /// The host's name, a cluster's as Pusher has it, such as `ws-eu.pusher.com`.
  public var stringValue: String { Self.name(self, PusherService.pusher.host(cluster:)) }

  /// The name of `host`, where `name` tells those of clusters and of the service's default.
  static func name(_ host: PusherHost?, _ name: (_ cluster: String?) -> String) -> String {
    switch host {
    case .host(let host): host
    case .cluster(let cluster): name(cluster)
    case nil: name(nil)
    }
  }
}

/// Turns options into the settings of the machines.
extension PusherClientOptions {
  /// What the client calls itself in the socket's URL.
  static let clientName = "swift-pusher-core"
  static let clientVersion = "1.0"

  /// Where and how to connect with `key`.
  func destination(key: String) throws(PusherConfigurationError) -> Destination {
    guard !key.isEmpty else { throw .missingKey }
    let prefix = try checkedPath()
    let url = service.socketURL(
      isSecure: useTLS, host: try checkedHost(), port: try checkedPort(), prefix: prefix, key: key,
      clientName: Self.clientName, version: Self.clientVersion)
    return Destination(
      url: url, headers: try checkedHeaders(), routing: try network.routing(), tls: tls,
      trust: network.trust)
  }

  /// What is offered with the upgrade.
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
    // More than one colon is an IPv6 address; a single one would be a port's.
    let colons = name.utf8.count { $0 == UInt8(ascii: ":") }
    let isBare = colons > 1 && !name.begins(with: "[")
    guard colons != 1, !name.begins(with: "[") || name.ends(with: "]") else {
      throw .invalidHost(name, reason: "the port is an option of its own")
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
    guard isHostAlone else {
      throw .invalidHost(name, reason: "it holds more than a host's name")
    }
    return url.host
  }

  private func checkedPort() throws(PusherConfigurationError) -> Int? {
    guard let port else { return nil }
    guard (1...65_535).contains(port) else { throw .invalidPort(port) }
    return port
  }

  private func checkedPath() throws(PusherConfigurationError) -> String {
    let text = path ?? ""
    guard let path = HTTPURL.prefix(text) else { throw .invalidPath(text) }
    return path
  }

  /// The session's options.
  func sessionOptions() throws(PusherConfigurationError) -> SessionOptions {
    for time in [activityTimeout, connectTimeout, retries.pongResponseTimeout] {
      if let time, time <= .zero { throw .invalidTimeout(time) }
    }
    let mode: ReconnectPolicy.Mode =
      !autoReconnect ? .never : retriesFirstConnection ? .always : .automatic
    var options = SessionOptions(
      service: service, activityTimeout: activityTimeout ?? .seconds(120),
      pongTimeout: retries.pongResponseTimeout, connectTimeout: connectTimeout,
      reconnect: retries.policy(mode))
    options.announcesRetries = true
    return options
  }
}
