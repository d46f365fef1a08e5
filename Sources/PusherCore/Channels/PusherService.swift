/// Names and hosts of a Pusher-protocol service, as data, so that no code branches on the service.
public struct PusherService: Sendable, Equatable {
  /// Prefix of events that client and service exchange, such as `pusher:`.
  public var eventPrefix: String
  /// Prefix of events that libraries translate for their users, such as `pusher_internal:`.
  public var internalPrefix: String
  /// WebSocket host of a cluster: `CLUSTER` stands for its name.
  public var clusterHost: String
  /// HTTP API host of a cluster: `CLUSTER` stands for its name.
  public var clusterAPIHost: String
  /// Default cluster, for services where every app is in a cluster.
  public var defaultCluster: String
  /// Host of socket and HTTP API without a named cluster; `nil` for the default cluster's hosts.
  public var defaultHost: String?
  /// Default path of the authorisation endpoint.
  public var authorizationPath: String
  /// Default path of the user authentication endpoint.
  public var userAuthenticationPath: String
  /// Version number of the protocol, sent as `protocol`.
  public var protocolVersion: Int

  /// Creates a service with these names and hosts.
  public init(
    eventPrefix: String, internalPrefix: String, clusterHost: String, clusterAPIHost: String,
    defaultCluster: String, protocolVersion: Int, defaultHost: String? = nil,
    authorizationPath: String = "/pusher/auth", userAuthenticationPath: String = "/pusher/user-auth"
  ) {
    (self.eventPrefix, self.internalPrefix) = (eventPrefix, internalPrefix)
    (self.clusterHost, self.clusterAPIHost) = (clusterHost, clusterAPIHost)
    (self.defaultCluster, self.protocolVersion) = (defaultCluster, protocolVersion)
    (self.defaultHost, self.authorizationPath) = (defaultHost, authorizationPath)
    self.userAuthenticationPath = userAuthenticationPath
  }

  /// Pusher Channels, and the servers that speak its protocol: Laravel Reverb, soketi, sockudo.
  public static let pusher = PusherService(
    eventPrefix: "pusher:", internalPrefix: "pusher_internal:",
    clusterHost: "ws-CLUSTER.pusher.com", clusterAPIHost: "api-CLUSTER.pusher.com",
    defaultCluster: "mt1", protocolVersion: 7)

  /// Eventflit, which speaks the same protocol under its own names and hosts.
  public static let eventflit = PusherService(
    eventPrefix: "eventflit:", internalPrefix: "eventflit_internal:",
    clusterHost: "ws-CLUSTER.eventflit.com", clusterAPIHost: "api-CLUSTER.eventflit.com",
    defaultCluster: "", protocolVersion: 7, defaultHost: "service.eventflit.com",
    authorizationPath: "/eventflit/auth", userAuthenticationPath: "/eventflit/user-auth")

  /// The Protocol V2 of sockudo, whose server replays the events of a lost connection.
  ///
  /// The hosts are those of its clients; a server of your own has another.
  public static let sockudo = PusherService(
    eventPrefix: "sockudo:", internalPrefix: "sockudo_internal:",
    clusterHost: "ws-CLUSTER.sockudo.io", clusterAPIHost: "sockjs-CLUSTER.sockudo.io",
    defaultCluster: "mt1", protocolVersion: 2, authorizationPath: "/sockudo/auth",
    userAuthenticationPath: "/sockudo/user-auth")

  package static let named: [(name: String, service: PusherService)] = [
    ("pusher", .pusher), ("eventflit", .eventflit), ("sockudo", .sockudo),
  ]
}

extension PusherService {
  /// Source: Pusher's page "Clusters"; dedicated clusters exist too.
  package static let clusters = ["mt1", "us2", "us3", "eu", "ap1", "ap2", "ap3", "ap4", "sa1"]

  /// Returns the WebSocket host of `cluster`.
  public func host(cluster: String) -> String { Self.fill(clusterHost, cluster) }

  /// Returns the HTTP API host of `cluster`.
  public func apiHost(cluster: String) -> String { Self.fill(clusterAPIHost, cluster) }

  package func host(cluster: String?) -> String {
    cluster.map(host(cluster:)) ?? defaultHost ?? host(cluster: defaultCluster)
  }

  package func apiHost(cluster: String?) -> String {
    cluster.map(apiHost(cluster:)) ?? defaultHost ?? apiHost(cluster: defaultCluster)
  }

  private static func fill(_ pattern: String, _ cluster: String) -> String {
    pattern.pieces(separatedBy: "CLUSTER").joined(separator: cluster)
  }

  /// True if events have serials, and the server replays them after a position.
  package var replaysEvents: Bool { protocolVersion == 2 }

  package var commonPrefix: String {
    var common = ""
    for (left, right) in zip(eventPrefix, internalPrefix) {
      guard left == right else { break }
      common.append(left)
    }
    return common
  }

  /// - Parameters:
  ///   - port: `nil` for the scheme's own.
  ///   - prefix: Empty, or a path that begins with a slash.
  package func socketURL(
    isSecure: Bool, host: String, port: Int?, prefix: String, key: String, clientName: String,
    version: String
  ) -> HTTPURL {
    HTTPURL(
      scheme: isSecure ? .wss : .ws, host: host, port: port,
      path: "\(prefix)/app/\(PercentEncoding.encode(key))",
      query: "protocol=\(protocolVersion)&client=\(clientName)&version=\(version)")
  }
}
