package import PusherCore

/// A sign that a request came from another machine.
///
/// The peer's address is not enough: a local proxy connects from 127.0.0.1 for every client. A
/// proxy that adds no field and replaces `Host` by a local name cannot be recognised;
/// docs/cluster.md explains its setup.
package enum RemoteSign: Sendable, Hashable, CustomStringConvertible {
  case address
  /// The request names no host, or a host that is not local.
  case host
  /// Field of a proxy, in its usual spelling.
  case field(String)

  /// Fields that proxies add: RFC 7239, RFC 9110 section 7.6.3, RFC 8586, and names of products.
  package static let fields = [
    "Forwarded", "Via", "CDN-Loop", "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP",
    "X-Original-Forwarded-For", "X-Original-Host", "X-Original-URL", "X-ProxyUser-IP",
    "X-Envoy-External-Address", "X-Amzn-Trace-Id", "X-Azure-ClientIP", "X-Azure-SocketIP",
    "True-Client-IP", "CF-Connecting-IP", "CF-Ray", "Fastly-Client-IP", "Fly-Client-IP",
    "Proxy-Client-IP", "WL-Proxy-Client-IP", "Front-End-Https",
  ]
  /// Common prefix of `X-Forwarded-For`, `-Host`, `-Proto` and their relatives, in lower case.
  package static let family = "x-forwarded"

  package init?(_ head: HTTPRequestHead, peer: SocketAddress?) {
    guard let peer, LocalHost.split(peer.description)?.host.isLocal == true else {
      self = .address
      return
    }
    let named = RequestTarget.authority(of: head.target).map { [$0] } ?? []
    let hosts = named + head.headers.all("Host")
    guard !hosts.isEmpty, hosts.allSatisfy({ LocalHost.split($0)?.host.isLocal == true }) else {
      self = .host
      return
    }
    guard let name = Self.proxyField(of: head) else { return nil }
    self = .field(name)
  }

  static func hasField(_ head: HTTPRequestHead) -> Bool { proxyField(of: head) != nil }

  private static func proxyField(of head: HTTPRequestHead) -> String? {
    head.headers.fields.lazy.compactMap { proxyField($0.name) }.first
  }

  private static func proxyField(_ name: String) -> String? {
    let lower = name.lowercased()
    // The family has one name: a client may invent endless names, and each sign is logged once.
    if lower.begins(with: family) { return "X-Forwarded-*" }
    return fields.first { $0.lowercased().isSame(as: lower) }
  }

  package var description: String {
    switch self {
    case .address: "the connection comes from another machine"
    case .host: "its Host is not local"
    case .field(let name): "it has \(name)"
    }
  }
}

package enum Reach: Sendable, Equatable {
  case nobody
  /// Requests that began on this machine, by ``RemoteSign``.
  case thisMachine
  /// Everybody who reaches the server, also through a proxy.
  case everybody
}
