import Foundation
import PusherCore

/// A service manager as in sd_notify(3): a datagram socket under a path, or an abstract name with
/// `@`.
final class ListeningManager {
  let descriptor: Int32
  let name: String

  init(isAbstract: Bool) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    name = isAbstract ? "@pusher-cli-\(UUID())" : TemporaryFolder.shared.file("notify")
    var bytes = Array(name.utf8)
    if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(2 + bytes.count)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    guard result == 0 else { throw Unexpected("cannot bind \(name)") }
    limit(seconds: 60)
  }

  func limit(seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Waits for a datagram and drops those before it; returns false after the limit.
  func await(_ text: String) -> Bool {
    while true {
      let came = next()
      if came == text { return true }
      if came.isEmpty { return false }
    }
  }

  /// Returns all unread datagrams.
  func rest() -> [String] {
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var all: [String] = []
    while case let text = next(), !text.isEmpty { all.append(text) }
    return all
  }

  deinit { close(descriptor) }

  /// Returns the next datagram; empty after the limit.
  func next() -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    return String(decoding: bytes[..<max(recv(descriptor, &bytes, 256, 0), 0)], as: UTF8.self)
  }
}
