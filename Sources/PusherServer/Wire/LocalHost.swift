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

  private static func octets4(_ text: some StringProtocol) -> [UInt8]? {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var octets: [UInt8] = []
    for part in parts {
      guard let octet = UInt8(String(decoding: part, as: UTF8.self)),
        String(octet).utf8.elementsEqual(part)
      else { return nil }
      octets.append(octet)
    }
    return octets
  }

  /// Accepts `::1` and IPv4 loopback addresses in IPv6 (RFC 4291 sections 2.5.3 and 2.5.5.2).
  private static func isLoopback6(_ text: String) -> Bool {
    guard let groups = groups6(text) else { return false }
    if groups == [0, 0, 0, 0, 0, 0, 0, 1] { return true }
    return groups.prefix(6) == [0, 0, 0, 0, 0, 0xFFFF] && groups[6] >> 8 == 127
  }

  /// Parses the eight groups of an IPv6 address (RFC 4291 section 2.2).
  private static func groups6(_ text: String) -> [UInt16]? {
    var halves: [[UInt16]] = [[]]
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard (3...9).contains(parts.count) else { return nil }
    for (index, part) in parts.enumerated() {
      if part.isEmpty {
        // `::` appears as one empty part between others, or as two at an end.
        let isOuter = index == 0 || index == parts.count - 1
        if isOuter {
          let neighbour = parts[index == 0 ? 1 : index - 1]
          guard neighbour.isEmpty else { return nil }
        } else {
          guard halves.count == 1 else { return nil }
          halves.append([])
        }
        continue
      }
      let word = String(decoding: part, as: UTF8.self)
      if index == parts.count - 1, let octets = octets4(word) {
        halves[halves.count - 1] += [
          UInt16(octets[0]) << 8 | UInt16(octets[1]), UInt16(octets[2]) << 8 | UInt16(octets[3]),
        ]
        continue
      }
      guard part.count <= 4, let group = UInt16(word, radix: 16), part.first != UInt8(ascii: "+")
      else { return nil }
      halves[halves.count - 1].append(group)
    }
    let count = halves.reduce(0) { $0 + $1.count }
    guard halves.count == 2 else { return count == 8 ? halves[0] : nil }
    guard count < 8 else { return nil }
    return halves[0] + [UInt16](repeating: 0, count: 8 - count) + halves[1]
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
