package import PusherCore

/// A client's address, for its share of an app's channels: an IPv4 address, or an IPv6 network of
/// 64 bits, which one client has for itself.
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
  private let family: SocketAddress.Family
  private let number: UInt64

  package init(_ address: SocketAddress) {
    let octets = address.octets
    // An IPv4 client of a socket for both families (RFC 4291 section 2.5.5.2).
    let isMapped =
      octets.count == 16 && octets[..<10].allSatisfy { $0 == 0 } && octets[10...11] == [255, 255]
    family = isMapped ? .ipv4 : address.family
    let part = isMapped ? octets[12...] : octets[..<(octets.count == 4 ? 4 : 8)]
    number = part.reduce(0) { $0 << 8 | UInt64($1) }
  }

  package var description: String {
    let size = family == .ipv4 ? 4 : 8
    let octets = (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) }
    guard family == .ipv6 else { return octets.map { String($0) }.joined(separator: ".") }
    let whole = octets + [UInt8](repeating: 0, count: 8)
    return SocketAddress(family: .ipv6, octets: whole, port: 0).host + "/64"
  }
}

/// The occupied channels that each address has to answer for.
///
/// The address whose socket occupies a channel answers for it. When that socket leaves, the
/// address of another subscriber takes over.
struct AddressShares {
  private var owners = NameTable<ClientAddress>()
  private var counts: [ClientAddress: Int] = [:]

  func count(of address: ClientAddress) -> Int { counts[address] ?? 0 }
  func hasOwner(_ channel: String) -> Bool { owners[channel] != nil }

  /// Notes who occupies a channel, unless it has an owner.
  mutating func occupy(_ channel: String, by address: ClientAddress?) {
    guard let address, owners[channel] == nil else { return }
    owners[channel] = address
    counts[address, default: 0] += 1
  }

  /// Passes a channel that `former` answers for to another address, if there is one.
  mutating func hand(_ channel: String, from former: ClientAddress?, to next: ClientAddress?) {
    guard let former, former != next, owners[channel] == former else { return }
    vacate(channel)
    occupy(channel, by: next)
  }

  mutating func vacate(_ channel: String) {
    guard let address = owners.removeValue(of: channel), let count = counts[address] else { return }
    counts[address] = count == 1 ? nil : count - 1
  }
}

/// A limit on an app's channels, with the client that reached it.
package enum ChannelLimit: Sendable, Equatable {
  case app
  case socket(id: String)
  case address(ClientAddress)
  /// The socket subscribes faster than it may.
  case pace(socketID: String)

  /// The kinds of limits that were logged; each is logged once.
  struct Kinds: OptionSet {
    let rawValue: UInt8
  }

  var kind: Kinds {
    switch self {
    case .app: Kinds(rawValue: 1)
    case .socket: Kinds(rawValue: 2)
    case .address: Kinds(rawValue: 4)
    case .pace: Kinds(rawValue: 8)
    }
  }
}
