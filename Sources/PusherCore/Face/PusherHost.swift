/// Where the service is: your own host, or a cluster of the service.
public enum PusherHost: Sendable, Equatable {
  /// A name or an address, without scheme, port and path; an IPv6 address with or without its brackets.
  case host(String)
  /// The short name of a cluster, such as `eu`; ``Service/clusterHost`` tells its host.
  case cluster(String)

  /// The name of `host`, where `name` tells those of clusters and of the service's default.
  static func name(_ host: PusherHost?, _ name: (_ cluster: String?) -> String) -> String {
    switch host {
    case .host(let host): host
    case .cluster(let cluster): name(cluster)
    case nil: name(nil)
    }
  }
}
