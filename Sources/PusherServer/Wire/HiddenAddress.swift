internal import PusherCore

extension ClientAddress {
  /// Returns the address of a socket's client; `nil` if a proxy hides it.
  ///
  /// A proxy is near: it connects from this machine or from a private network, and adds a field.
  /// A field alone proves nothing, because a client could send it to escape its share.
  init?(of peer: SocketAddress?, sending head: HTTPRequestHead) {
    guard let peer, !(peer.isNear && RemoteSign.hasField(head)) else { return nil }
    self.init(peer)
  }
}

extension SocketAddress {
  /// True for loopback, link-local and private addresses (RFC 6890).
  var isNear: Bool {
    if octets.count == 16 {
      let isMapped = octets[..<10].allSatisfy { $0 == 0 } && octets[10...11] == [255, 255]
      if isMapped {
        return SocketAddress(family: .ipv4, octets: Array(octets[12...]), port: port).isNear
      }
      let isLoopback = octets[..<15].allSatisfy { $0 == 0 } && octets[15] == 1
      return isLoopback || octets[0] & 0xFE == 0xFC || octets[0] == 0xFE && octets[1] & 0xC0 == 0x80
    }
    return switch (octets[0], octets[1]) {
    case (10, _), (127, _), (169, 254), (172, 16...31), (192, 168), (100, 64...127): true
    default: false
    }
  }
}
