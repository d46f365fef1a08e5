/// What a Pusher-protocol service calls things: data, so that no code branches on whose service it is.
public struct Service: Sendable, Equatable {
  /// How the names of the events begin that client and service exchange, such as `pusher:`.
  public var eventPrefix: String
  /// How the names of the events begin that libraries translate for their users, such as `pusher_internal:`.
  public var internalPrefix: String
  /// The WebSocket host of a cluster: `CLUSTER` stands for its name.
  public var clusterHost: String
  /// The HTTP API host of a cluster: `CLUSTER` stands for its name.
  public var clusterAPIHost: String
  /// The cluster when none is named.
  public var defaultCluster: String
  /// The protocol's version number, sent as `protocol`.
  public var protocolVersion: Int

  /// A service that calls things so.
  public init(
    eventPrefix: String, internalPrefix: String, clusterHost: String, clusterAPIHost: String,
    defaultCluster: String, protocolVersion: Int
  ) {
    self.eventPrefix = eventPrefix
    self.internalPrefix = internalPrefix
    self.clusterHost = clusterHost
    self.clusterAPIHost = clusterAPIHost
    self.defaultCluster = defaultCluster
    self.protocolVersion = protocolVersion
  }

  /// Pusher Channels, and the servers that speak its protocol: Laravel Reverb, soketi, sockudo.
  public static let pusher = Service(
    eventPrefix: "pusher:", internalPrefix: "pusher_internal:",
    clusterHost: "ws-CLUSTER.pusher.com", clusterAPIHost: "api-CLUSTER.pusher.com",
    defaultCluster: "mt1", protocolVersion: 7)
}

extension Service {
  /// The WebSocket host of `cluster`.
  public func host(cluster: String) -> String {
    Self.fill(clusterHost, cluster)
  }

  /// The HTTP API host of `cluster`.
  public func apiHost(cluster: String) -> String {
    Self.fill(clusterAPIHost, cluster)
  }

  private static func fill(_ pattern: String, _ cluster: String) -> String {
    pattern.split(separator: "CLUSTER", omittingEmptySubsequences: false).joined(separator: cluster)
  }

  /// What both prefixes begin with: an event that does not begin so is the application's.
  package var commonPrefix: String {
    var common = ""
    for (left, right) in zip(eventPrefix, internalPrefix) {
      guard left == right else { break }
      common.append(left)
    }
    return common
  }

  /// The path and query of the socket's URL, `prefix` being "" or a path that begins with a slash.
  package func socketTarget(key: String, prefix: String, clientName: String, version: String)
    -> String
  {
    "\(prefix)/app/\(key)?protocol=\(protocolVersion)&client=\(clientName)&version=\(version)"
  }
}
