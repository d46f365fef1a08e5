internal import PusherCore

/// The ports from which the system picks one for each outgoing connection.
///
/// Linux tries every second port first. Once these are all in use for one address, it looks at each
/// of them before it takes another, which costs about 0.8 ms a connection. Source: ip(7),
/// ip_local_port_range.
struct LocalPorts {
  private let count: Int

  /// - Parameter text: The first and the last port, as Linux writes them.
  init?(_ text: String) {
    let ports = text.split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
    guard ports.count == 2, ports[0] <= ports[1] else { return nil }
    count = Int(ports[1] - ports[0]) + 1
  }

  /// The ports of this machine; `nil` on systems that do not tell.
  static var current: LocalPorts? {
    let path = "/proc/sys/net/ipv4/ip_local_port_range"
    guard case .success(let bytes) = FileAccess.system.contents(path, 100) else { return nil }
    return LocalPorts(String(decoding: bytes, as: UTF8.self))
  }

  /// Says why so many connections to one address open slowly, or not at all; `nil` if they do not.
  func warning(for connections: Int) -> String? {
    let quick = (count + 1) / 2
    guard connections > quick else { return nil }
    let limit =
      connections > count
      ? "the system has \(count) local ports for connections to one address"
      : "the system finds a local port slowly after \(quick) connections to one address"
    return "--subscribers \(connections): \(limit); as root, run "
      + "'sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"'"
  }
}
