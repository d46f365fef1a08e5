internal import PusherCore

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
  package init?(_ text: some StringProtocol) {
    var bytes = Array(text.utf8)[...]
    isAddress6 = bytes.first == UInt8(ascii: "[")
    if isAddress6 {
      guard bytes.last == UInt8(ascii: "]"), bytes.count > 2 else { return nil }
      bytes = bytes.dropFirst().dropLast()
      guard bytes.allSatisfy(Self.isAddressByte) else { return nil }
    } else {
      if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
      let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard bytes.count <= 253, !labels.contains(where: \.isEmpty),
        bytes.allSatisfy(Self.isNameByte)
      else { return nil }
    }
    name = String(decoding: bytes.map(Self.lowercased), as: UTF8.self)
  }

  /// Parses `HOST` or `HOST:PORT` of a Host field or an origin; returns `nil` for all other texts.
  package static func split(_ authority: some StringProtocol) -> (host: LocalHost, port: Int?)? {
    let bytes = Array(authority.utf8)
    let end = bytes.lastIndex(of: UInt8(ascii: "]")) ?? bytes.startIndex
    guard let colon = bytes[end...].firstIndex(of: UInt8(ascii: ":")) else {
      return LocalHost(authority).map { ($0, nil) }
    }
    let digits = bytes[(colon + 1)...]
    guard let host = LocalHost(String(decoding: bytes[..<colon], as: UTF8.self)),
      digits.count <= 5, digits.allSatisfy({ $0 &- 0x30 < 10 })
    else { return nil }
    guard !digits.isEmpty else { return (host, nil) }
    guard let port = Int(String(decoding: digits, as: UTF8.self)), 1...65_535 ~= port else {
      return nil
    }
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

  /// Parses four decimal numbers without leading zeros.
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
    let zeros = [UInt8](repeating: 0, count: 15)
    let isMapped = address.octets.starts(with: zeros.prefix(10) + [0xFF, 0xFF])
    return address.octets == zeros + [1] || isMapped && address.octets[12] == 127
  }

  // MARK: Characters

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 || byte == UInt8(ascii: ":")
      || byte == UInt8(ascii: ".")
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
