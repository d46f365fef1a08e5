/// Servers to reach without a proxy, as in `NO_PROXY`.
///
/// Entries are separated by commas or blanks:
/// - A name matches itself and its subdomains, with or without `.` or `*.` in front.
/// - An address matches itself, `ADDRESS/BITS` a network, `*` everything.
/// - `:PORT` after an entry limits it to that port.
/// - Any other entry matches nothing.
///
/// Loopback addresses are not exceptions by default.
package struct ProxyExceptions: Sendable, Equatable {
  private enum Place: Sendable, Equatable {
    case everything
    /// In lower case, without dots at its ends.
    case domain(String)
    case network(SocketAddress, bits: Int)
  }

  private struct Entry: Sendable, Equatable {
    let place: Place
    let port: UInt16?
  }

  private let entries: [Entry]

  package init(_ text: String) {
    entries = text.split { $0 == "," || $0.isWhitespace }.compactMap(Self.entry)
  }

  package func contains(host: String, port: UInt16) -> Bool {
    guard !entries.isEmpty else { return false }
    let address = Resolver.literal(host, port: 0)
    let name = Self.trimmed(host)
    return entries.contains { entry in
      guard entry.port == nil || entry.port == port else { return false }
      switch entry.place {
      case .everything: return true
      case .domain(let domain):
        return address == nil && (name == domain || name.hasSuffix("." + domain))
      case .network(let network, let bits):
        return address.map { Self.isInside($0, network, bits: bits) } ?? false
      }
    }
  }

  private static func entry(_ text: Substring) -> Entry? {
    if text.first == "[" {
      let place = text.dropFirst().prefix { $0 != "]" }
      let rest = text[place.endIndex...].dropFirst()
      if rest.first == ":" { return entry(place, port: rest.dropFirst()) }
      return place.endIndex < text.endIndex ? entry(place + rest, port: nil) : nil
    }
    if let colon = text.firstIndex(of: ":"), colon == text.utf8.lastIndex(of: UInt8(ascii: ":")) {
      return entry(text[..<colon], port: text[colon...].dropFirst())
    }
    return entry(text, port: nil)
  }

  private static func entry(_ text: Substring, port: Substring?) -> Entry? {
    guard let place = place(text) else { return nil }
    guard let port else { return Entry(place: place, port: nil) }
    guard let number = UInt16(port), number > 0 else { return nil }
    return Entry(place: place, port: number)
  }

  private static func place(_ text: Substring) -> Place? {
    if text == "*" { return .everything }
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    if let address = Resolver.literal(String(parts[0]), port: 0) {
      let length = address.octets.count * 8
      guard parts.count > 1 else { return .network(address, bits: length) }
      guard let bits = Int(parts[1]), (0...length).contains(bits) else { return nil }
      return .network(address, bits: bits)
    }
    let domain = trimmed(text.hasPrefix("*.") ? text.dropFirst() : text)
    return domain.isEmpty || parts.count > 1 ? nil : .domain(domain)
  }

  private static func isInside(_ address: SocketAddress, _ network: SocketAddress, bits: Int)
    -> Bool
  {
    guard address.family == network.family else { return false }
    return zip(address.octets, network.octets).enumerated().allSatisfy { index, pair in
      let count = min(max(bits - index * 8, 0), 8)
      return (pair.0 ^ pair.1) & ~(UInt8.max >> UInt8(count)) == 0
    }
  }

  private static func trimmed(_ name: some StringProtocol) -> String {
    var name = name.lowercased()[...]
    while name.first == "." { name.removeFirst() }
    while name.last == "." { name.removeLast() }
    return String(name)
  }
}
