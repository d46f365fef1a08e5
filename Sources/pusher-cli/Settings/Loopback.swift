enum Loopback {
  /// Returns a host for clients on this machine; "any address" becomes a loopback address.
  static func reachable(_ host: String) -> String {
    ["0.0.0.0": "127.0.0.1", "::": "::1"][host] ?? host
  }

  /// Returns true for `localhost`, `::1` and addresses from 127.0.0.0/8.
  static func contains(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    // A name such as `127.example.com` may lead elsewhere; an address cannot.
    return host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 0x2E || $0 &- 0x30 < 10 }
  }
}
