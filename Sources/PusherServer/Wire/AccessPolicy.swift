package import PusherCore

/// Decides by `Origin` and `Host`, before any path, key or signature is checked.
package struct AccessPolicy: Sendable, Equatable {
  package var origins = OriginPolicy()
  package var hosts = HostPolicy()

  package init() {}

  /// Returns `nil` if every field of a repeated name, and the host of a target that is a whole URL,
  /// are allowed.
  package func refusal(_ head: HTTPRequestHead) -> AccessRefusal? {
    if let origin = head.headers.all("Origin").first(where: { !origins.allows($0) }) {
      return .origin(origin)
    }
    let named = RequestTarget.authority(of: head.target).map { [$0] } ?? []
    return (named + head.headers.all("Host")).first { !hosts.allows($0) }.map { .host($0) }
  }
}

/// A policy with a cache of the last allowed host: a program's requests all name the same one.
struct AccessGate {
  private let policy: AccessPolicy
  /// Host of an allowed request without an `Origin`.
  private var admitted: String?

  init(_ policy: AccessPolicy) { self.policy = policy }

  mutating func refusal(_ head: HTTPRequestHead) -> AccessRefusal? {
    let host = Self.onlyHost(of: head)
    if let admitted, let host, host.isSame(as: admitted) { return nil }
    let refusal = policy.refusal(head)
    if refusal == nil, let host { admitted = host }
    return refusal
  }

  /// Returns the `Host` if nothing else counts: one field, no `Origin`, and no host in the target.
  private static func onlyHost(of head: HTTPRequestHead) -> String? {
    guard head.target.begins(with: "/"), head.headers["Origin"] == nil else { return nil }
    let hosts = head.headers.all("Host")
    return hosts.count == 1 ? hosts[0] : nil
  }
}

/// Allowed `Host` names, as protection against DNS rebinding.
///
/// A rebound page seems to read from its own server, so the browser sends no `Origin`. But `Host`
/// holds the page's name.
package struct HostPolicy: Sendable, Equatable {
  package var allowed: Set<LocalHost>
  /// Allows any name, because other machines reach the server by unknown names.
  package var isPublic: Bool

  package init(allowed: Set<LocalHost> = [], isPublic: Bool = false) {
    self.allowed = allowed
    self.isPublic = isPublic
  }

  /// Allows an empty `Host` too.
  package func allows(_ field: String) -> Bool {
    guard !isPublic, !field.isEmpty else { return true }
    guard let (host, _) = LocalHost.split(field) else { return false }
    return host.isLocal || allowed.contains(host)
  }
}

/// Allowed pages: local ones, and the listed origins.
///
/// A browser names a page's origin in `Origin` (RFC 6454 section 7; the Fetch standard), and no
/// script can change it. A request without an `Origin` comes from a program.
package struct OriginPolicy: Sendable, Equatable {
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

  package var allowed: Set<Origin>

  package init(allowed: Set<Origin> = []) { self.allowed = allowed }

  /// Refuses a malformed origin.
  package func allows(_ field: String) -> Bool {
    guard let origin = Origin(field) else { return false }
    return origin.isLocal || allowed.contains(origin)
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
