package import PusherCore

/// Decides by `Origin` and `Host` who may use the server, before any path, key or signature is checked.
package struct AccessPolicy: Sendable, Equatable {
  package var origins = OriginPolicy()
  package var hosts = HostPolicy()

  package init() {}

  /// Why a request is refused; `nil` when it is allowed.
  ///
  /// Of several fields of a name each must be allowed, and so must the name in a target that is a whole URL.
  package func refusal(_ head: HTTPRequestHead) -> AccessRefusal? {
    if let origin = head.headers.all("Origin").first(where: { !origins.allows($0) }) {
      return .origin(origin)
    }
    let named = RequestTarget.authority(of: head.target).map { [$0] } ?? []
    return (named + head.headers.all("Host")).first { !hosts.allows($0) }.map { .host($0) }
  }
}

/// A policy that keeps in mind which host it allowed last: the calls of a program all name the same one.
struct AccessGate {
  private let policy: AccessPolicy
  /// Of a request without an `Origin`.
  private var admitted: String?

  init(_ policy: AccessPolicy) {
    self.policy = policy
  }

  /// Why a request is refused; `nil` when it is allowed.
  mutating func refusal(_ head: HTTPRequestHead) -> AccessRefusal? {
    let host = Self.onlyHost(of: head)
    if let admitted, let host, host.isSame(as: admitted) { return nil }
    let refusal = policy.refusal(head)
    if refusal == nil, let host { admitted = host }
    return refusal
  }

  /// The `Host` where nothing else counts: one field, no `Origin`, and no other name in the target.
  private static func onlyHost(of head: HTTPRequestHead) -> String? {
    guard head.target.begins(with: "/"), head.headers["Origin"] == nil else { return nil }
    let hosts = head.headers.all("Host")
    return hosts.count == 1 ? hosts[0] : nil
  }
}

/// The allowed `Host` names, against pages whose own name was made to lead here (DNS rebinding).
///
/// For such a page the request goes to its own server, so the browser sends no `Origin` when it only reads; but `Host`
/// holds the page's name.
package struct HostPolicy: Sendable, Equatable {
  /// Beside the local ones.
  package var allowed: Set<LocalHost>
  /// Whether other machines reach the server too, by names that are not known here; programs may use any of them.
  package var isPublic: Bool

  package init(allowed: Set<LocalHost> = [], isPublic: Bool = false) {
    self.allowed = allowed
    self.isPublic = isPublic
  }

  /// Whether this `Host` is allowed; it is empty where there is no name.
  package func allows(_ field: String) -> Bool {
    guard !isPublic, !field.isEmpty else { return true }
    guard let (host, _) = LocalHost.split(field) else { return false }
    return host.isLocal || allowed.contains(host)
  }
}

/// The pages that may use the server: local ones, and the listed origins.
///
/// A browser says in `Origin` where a page comes from (RFC 6454 section 7; the Fetch standard), and no script can
/// change it. A request without one comes from a program.
package struct OriginPolicy: Sendable, Equatable {
  /// An origin in the one spelling that browsers send.
  package struct Origin: Sendable, Hashable, CustomStringConvertible {
    package let description: String
    /// Whether a server of this machine sent the page.
    let isLocal: Bool

    /// Reads `SCHEME://HOST`, `SCHEME://HOST:PORT`, `file://` or `null`; `nil` for everything else.
    ///
    /// Letters count without their case, and a scheme's default port counts as none.
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
        let (host, port) = LocalHost.split(
          String(decoding: bytes[(colon + 3)...], as: UTF8.self))
      else { return nil }
      let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
      let own = ["http": 80, "https": 443][scheme]
      let shown = port.flatMap { $0 == own ? nil : ":\($0)" } ?? ""
      description = "\(scheme)://\(host)\(shown)"
      // Only http pages come from a server; the owner of another scheme is unknown.
      isLocal = own != nil && host.isLocal
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
      bytes.first.map { $0 &- 0x61 < 26 } ?? false
        && bytes.allSatisfy { $0 &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0) }
    }
  }

  /// Beside the local ones.
  package var allowed: Set<Origin>

  package init(allowed: Set<Origin> = []) {
    self.allowed = allowed
  }

  /// Whether a page with this `Origin` may speak to the server; a malformed origin may not.
  package func allows(_ field: String) -> Bool {
    guard let origin = Origin(field) else { return false }
    return origin.isLocal || allowed.contains(origin)
  }
}

extension AccessRefusal {
  /// The message to the client.
  var answer: HTTPAnswer {
    switch self {
    case .origin: .refusal(403, "pages of this origin may not speak to this server")
    case .host: .refusal(403, "this server is not to be asked for by this host name")
    case .remote(let part, let sign):
      .refusal(403, "\(part): for programs on the server's own machine alone (\(sign))")
    }
  }
}

/// Logs refusals without letting clients fill the log: each origin and host once, and up to a limit.
package struct RefusalReport {
  /// How many are told.
  package static let limit = 20

  private var told: Set<AccessRefusal> = []

  package init() {}

  /// Notes a refusal; `nil` when it is not told, else whether it is the last that is.
  package mutating func note(_ refusal: AccessRefusal) -> Bool? {
    guard told.count < Self.limit, told.insert(refusal).inserted else { return nil }
    return told.count == Self.limit
  }
}
