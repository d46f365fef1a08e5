import Foundation
import PusherCore

/// A client that writes bytes to a port of 127.0.0.1 and reads nothing.
final class RawClient {
  private let descriptor: Int32

  init(_ port: UInt16) throws {
    descriptor = try Loopback.dial(port)
  }

  deinit {
    close(descriptor)
  }

  /// Sends `bytes` again and again and reads nothing, until so many are sent, or the other side takes none for two
  /// seconds; answers how many were sent.
  func flood(_ bytes: [UInt8], atMost limit: Int) throws -> Int {
    var total = 0
    var place = 0
    while total < limit {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&waiting, 1, 2000) > 0 else { return total }
      let count = bytes[place...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if count < 0, errno != EAGAIN { return total }
      total += max(count, 0)
      place = (place + max(count, 0)) % bytes.count
    }
    return total
  }
}
