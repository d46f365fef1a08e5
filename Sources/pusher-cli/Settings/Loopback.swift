enum Loopback {
  /// Returns true for `localhost`, `::1` and addresses from 127.0.0.0/8.
  static func contains(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    // A name such as `127.example.com` may lead elsewhere; an address cannot.
    return host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || $0 &- 0x30 < 10 }
  }
}
