/// The hosts that are this machine and nothing else.
enum Loopback {
  /// Whether a connection to `host` cannot leave this machine: `localhost`, `::1` and addresses from 127.0.0.0/8.
  static func contains(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    // A name may begin so too; only an address cannot lead elsewhere.
    return host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || $0 &- 0x30 < 10 }
  }
}
