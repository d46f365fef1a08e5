package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  package enum Family: Sendable, Hashable {
    case ipv4
    case ipv6
  }

  package let family: Family
  /// 4 or 16 bytes in network order.
  package let octets: [UInt8]
  package let port: UInt16
  /// Interface of a link-local IPv6 address; 0 for none.
  package let scope: UInt32

  /// Stops the program if `octets` does not fit the family.
  package init(family: Family, octets: [UInt8], port: UInt16, scope: UInt32 = 0) {
    precondition(octets.count == (family == .ipv4 ? 4 : 16), "wrong number of octets")
    (self.family, self.octets, self.port, self.scope) = (family, octets, port, scope)
  }

  /// `127.0.0.1:80` or `[::1]:80`.
  package var description: String { family == .ipv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

  /// Address without the port: `127.0.0.1` or `::1` (RFC 5952).
  package var host: String {
    switch family {
    case .ipv4: octets.map { String($0) }.joined(separator: ".")
    case .ipv6: compressed + (scope == 0 ? "" : "%\(scope)")
    }
  }

  /// The eight groups without the longest run of two or more zero groups.
  private var compressed: String {
    let groups = (0..<8).map { UInt16(octets[2 * $0]) << 8 | UInt16(octets[2 * $0 + 1]) }
    var longest = 0..<0
    var start = 0
    while start < 8 {
      let end = groups[start...].firstIndex { $0 != 0 } ?? 8
      if end - start > max(longest.count, 1) { longest = start..<end }
      start = max(end, start) + 1
    }
    func text(_ range: Range<Int>) -> String {
      groups[range].map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard !longest.isEmpty else { return text(0..<8) }
    return text(0..<longest.lowerBound) + "::" + text(longest.upperBound..<8)
  }
}
