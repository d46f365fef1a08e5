package import PusherCore

/// Decides by `Origin` and `Host`, before any path, key or signature is checked.
package struct AccessPolicy: Sendable, Equatable {
  /// Origins of allowed pages besides local ones.
  ///
  /// A browser names a page's origin in `Origin` (RFC 6454 section 7; the Fetch standard), and no
  /// script can change it. A request without an `Origin` comes from a program.
  package var origins: Set<Origin> = []
  /// Allowed `Host` names besides local ones, as protection against DNS rebinding.
  ///
  /// After DNS rebinding, the browser takes this server for the page's own and sends no `Origin`.
  /// `Host` still has the page's name.
  package var hosts: Set<LocalHost> = []
  /// Allows any `Host`, because other machines reach the server by unknown names.
  package var isPublic = false

  package init() {}

  /// Returns `nil` if every field of a repeated name, and the host of a target that is a whole URL,
  /// are allowed.
  package func refusal(_ head: HTTPRequestHead) -> AccessRefusal? {
    if let origin = head.headers.all("Origin").first(where: { !allows(origin: $0) }) {
      return .origin(origin)
    }
    return head.hosts.first { !allows(host: $0) }.map { .host($0) }
  }

  /// Refuses a malformed origin.
  package func allows(origin field: String) -> Bool {
    guard let origin = Origin(field) else { return false }
    return origin.isLocal || origins.contains(origin)
  }

  /// Allows an empty `Host` too.
  package func allows(host field: String) -> Bool {
    guard !isPublic, !field.isEmpty else { return true }
    guard let (host, _) = LocalHost.split(field) else { return false }
    return host.isLocal || hosts.contains(host)
  }

  package struct Origin: Sendable, Hashable, CustomStringConvertible {
    package let description: String
    /// True if a server on this machine sent the page.
    let isLocal: Bool

    /// Parses `SCHEME://HOST`, `SCHEME://HOST:PORT`, `file://` or `null`; `nil` for all other
    /// texts.
    ///
    /// Ignores case and a scheme's default port.
    package init?(_ text: some StringProtocol) {
      let lower = text.lowercased()
      if lower == "null" || lower == "file://" {
        description = lower
        isLocal = false
        return
      }
      let bytes = Array(lower.utf8)
      guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
        bytes[colon...].starts(with: "://".utf8), Self.isScheme(bytes[..<colon]),
        let (host, port) = LocalHost.split(String(decoding: bytes[(colon + 3)...], as: UTF8.self))
      else { return nil }
      let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
      let own = ["http": 80, "https": 443][scheme]
      let shown = port.flatMap { $0 == own ? nil : ":\($0)" } ?? ""
      description = "\(scheme)://\(host)\(shown)"
      // Only http and https pages come from a server; the owner of another scheme is unknown.
      isLocal = own != nil && host.isLocal
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
      bytes.first.map { $0 &- 0x61 < 26 } ?? false
        && bytes.allSatisfy { $0 &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0) }
    }
  }
}

extension AccessRefusal {
  var answer: HTTPAnswer {
    switch self {
    case .origin: .refusal(403, "this server refuses pages of this origin")
    case .host: .refusal(403, "this server refuses this host name")
    case .remote(let part, let sign):
      .refusal(403, "only programs on the server's machine can use \(part) (\(sign))")
    }
  }
}

/// Logs each refused origin and host once, up to a limit, so that clients cannot fill the log.
package struct RefusalReport {
  package static let limit = 20

  private var told: Set<AccessRefusal> = []

  package init() {}

  /// Returns `nil` for a refusal that should not be logged, else true for the last logged one.
  package mutating func note(_ refusal: AccessRefusal) -> Bool? {
    guard told.count < Self.limit, told.insert(refusal).inserted else { return nil }
    return told.count == Self.limit
  }
}

/// The host of a request or an origin; knows whether it can only mean this machine.
///
/// Loopback addresses are local, and so are the names reserved by RFC 6761: `localhost`, and names
/// under `.localhost` and `.test`, which development servers use. A dot at the end is ignored (RFC
/// 1034 section 3.1), and so is case. Other spellings of addresses, such as `127.1` or `0x7f.1`,
/// are not local: browsers send the plain address instead.
package struct LocalHost: Sendable, Hashable, CustomStringConvertible {
  /// In lower case, without brackets, without a dot at the end.
  package let name: String
  private let isAddress6: Bool

  /// Parses a name, an address, or an IPv6 address in brackets; `nil` for all other texts.
  package init?(_ text: String) {
    guard text.utf8.last != UInt8(ascii: ":"), case (let host, nil)? = Self.split(text) else {
      return nil
    }
    self = host
  }

  private init?(name: String, isAddress6: Bool) {
    var bytes = name.utf8[...]
    if !isAddress6, bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard
      isAddress6
        ? bytes.allSatisfy(Self.isAddressByte)
        : bytes.count <= 253 && !labels.contains(where: \.isEmpty)
    else { return nil }
    (self.name, self.isAddress6) = (String(Substring(bytes)), isAddress6)
  }

  /// Parses `HOST` or `HOST:PORT` of a Host field or an origin; returns `nil` for all other texts.
  package static func split(_ authority: String) -> (host: LocalHost, port: Int?)? {
    guard let (name, port) = try? HTTPURL.hostAndPort(authority[...]),
      let host = LocalHost(
        name: name, isAddress6: authority.utf8.first == UInt8(ascii: "["))
    else { return nil }
    return (host, port)
  }

  package var isLocal: Bool {
    if isAddress6 { return Self.isLoopback6(name) }
    if let octets = Self.octets4(name) { return octets[0] == 127 }
    let labels = name.utf8.split(separator: UInt8(ascii: "."))
    let last = labels.last.map { Array($0) } ?? []
    return last == Array("localhost".utf8) || labels.count > 1 && last == Array("test".utf8)
  }

  package var description: String { isAddress6 ? "[\(name)]" : name }

  // MARK: Addresses

  private static func octets4(_ text: String) -> [UInt8]? {
    let octets = text.utf8.split(separator: UInt8(ascii: "."))
      .compactMap { UInt8(String(decoding: $0, as: UTF8.self)) }
    let isPlain = octets.map { String($0) }.joined(separator: ".").isSame(as: text)
    return octets.count == 4 && isPlain ? octets : nil
  }

  /// Accepts `::1` and IPv4 loopback addresses in IPv6 (RFC 4291 sections 2.5.3 and 2.5.5.2).
  private static func isLoopback6(_ text: String) -> Bool {
    guard let address = Resolver.literal(text, port: 0), address.family == .ipv6 else {
      return false
    }
    let octets = address.unmapped
    return octets.count == 4 ? octets[0] == 127 : octets == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// Allows no zone, unlike a URL.
  private static func isAddressByte(_ byte: UInt8) -> Bool {
    Hex.value(of: byte) != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
  }
}

// Signs that a request came from another machine.
//
// The peer's address is not enough: a local proxy connects from 127.0.0.1 for every client. A
// proxy that adds no field and replaces `Host` by a local name cannot be recognised;
// docs/cluster.md explains its setup.
extension AccessPolicy {
  /// Fields that proxies add: RFC 7239, RFC 9110 section 7.6.3, RFC 8586, and names of products.
  package static let proxyFields = [
    "Forwarded", "Via", "CDN-Loop", "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP",
    "X-Original-Forwarded-For", "X-Original-Host", "X-Original-URL", "X-ProxyUser-IP",
    "X-Envoy-External-Address", "X-Amzn-Trace-Id", "X-Azure-ClientIP", "X-Azure-SocketIP",
    "True-Client-IP", "CF-Connecting-IP", "CF-Ray", "Fastly-Client-IP", "Fly-Client-IP",
    "Proxy-Client-IP", "WL-Proxy-Client-IP", "Front-End-Https",
  ]
  private static let proxyNames = {
    var names = NameTable<String>()
    for name in proxyFields { names[name.lowercased()] = name }
    return names
  }()
  /// First letters of the fields, in lower case; most fields of a request have another.
  private static let proxyInitials = Array(Set(proxyNames.names.compactMap(\.utf8.first)))
  /// Common prefix of `X-Forwarded-For`, `-Host`, `-Proto` and their relatives, in lower case.
  private static let proxyFamily = "x-forwarded"

  /// Returns the sign in words; `nil` for a request that began on this machine.
  static func remoteSign(of head: HTTPRequestHead, from peer: SocketAddress?) -> String? {
    guard let peer, LocalHost.split(peer.description)?.host.isLocal == true else {
      return "the connection comes from another machine"
    }
    let hosts = head.hosts
    guard !hosts.isEmpty, hosts.allSatisfy({ LocalHost.split($0)?.host.isLocal == true }) else {
      return "its Host is not local"
    }
    return proxyField(of: head).map { "it has \($0)" }
  }

  /// Returns the first field of a proxy, in its usual spelling.
  fileprivate static func proxyField(of head: HTTPRequestHead) -> String? {
    head.headers.fields.lazy.compactMap { field in
      guard proxyInitials.contains((field.name.utf8.first ?? 0) | 0x20) else { return nil }
      // The family has one name: a client may invent endless names, and each sign is logged once.
      let name = field.name.lowercased()
      return name.begins(with: proxyFamily) ? "X-Forwarded-*" : proxyNames[name]
    }.first
  }
}

package enum Reach: Sendable, Equatable {
  case nobody
  /// Requests that began on this machine, by ``AccessPolicy/remoteSign(of:from:)``.
  case thisMachine
  /// Everybody who reaches the server, also through a proxy.
  case everybody
}

extension ClientAddress {
  /// Returns the address of a socket's client; `nil` if a proxy hides it.
  ///
  /// A proxy is near: it connects from this machine or from a private network, and adds a field.
  /// A field alone proves nothing, because a client could send it to escape its share.
  init?(of peer: SocketAddress?, sending head: HTTPRequestHead) {
    guard let peer, !(peer.isNear && AccessPolicy.proxyField(of: head) != nil) else { return nil }
    self.init(peer)
  }
}

extension SocketAddress {
  /// True for loopback, link-local and private addresses (RFC 6890).
  var isNear: Bool {
    let octets = unmapped
    if octets.count == 16 {
      let isLoopback = octets[..<15].allSatisfy { $0 == 0 } && octets[15] == 1
      return isLoopback || octets[0] & 0xFE == 0xFC || octets[0] == 0xFE && octets[1] & 0xC0 == 0x80
    }
    return switch (octets[0], octets[1]) {
    case (10, _), (127, _), (169, 254), (172, 16...31), (192, 168), (100, 64...127): true
    default: false
    }
  }
}
