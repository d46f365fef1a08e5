/// Where the service is: your own host, or a cluster of the service.
public enum PusherHost: Sendable, Equatable {
  /// A name or an address, without scheme, port and path; an IPv6 address with or without its brackets.
  case host(String)
  /// The short name of a cluster, such as `eu`; ``Service/clusterHost`` tells its host.
  case cluster(String)

  /// The host's name.
  func name(_ service: Service) -> String {
    switch self {
    case .host(let name): name
    case .cluster(let cluster): service.host(cluster: cluster)
    }
  }
}
