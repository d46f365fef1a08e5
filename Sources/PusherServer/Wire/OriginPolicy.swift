/// Which pages may speak to the server: the local ones, and those that are named.
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
    /// Letters count without their case, and a scheme's own port is no port.
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
      // Only pages of http come from a server; who is behind another scheme is not known here.
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

  /// Whether a page with this `Origin` may speak to the server; what is no origin may not.
  package func allows(_ field: String) -> Bool {
    guard let origin = Origin(field) else { return false }
    return origin.isLocal || allowed.contains(origin)
  }
}
