import Foundation
import PusherCore

/// A client that writes bytes to a port of 127.0.0.1, and reads only on request.
final class RawClient {
  private let descriptor: Int32
  private var received: [UInt8] = []
  private var hasEnded = false

  init(_ port: UInt16, receiveBuffer: Int32? = nil) throws {
    descriptor = try Loopback.dial(port, receiveBuffer: receiveBuffer)
  }

  deinit {
    close(descriptor)
  }

  /// Sends `bytes` repeatedly without reading, until the limit or until the other side accepts none
  /// for two seconds; returns the number of bytes sent.
  func flood(_ bytes: [UInt8], atMost limit: Int) throws -> Int {
    var total = 0
    var place = 0
    while total < limit {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&waiting, 1, 2000) > 0 else { return total }
      let count = bytes[place...].withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if count < 0, errno != EAGAIN { return total }
      total += max(count, 0)
      place = (place + max(count, 0)) % bytes.count
    }
    return total
  }

  func send(_ text: String) throws {
    try send(Array(text.utf8))
  }

  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&waiting, 1, Int32(patience.inSeconds * 1000)) == 1 else {
        throw Late("\(rest.count) bytes were not taken")
      }
      let count = rest.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      guard count >= 0 || errno == EAGAIN else { throw SystemFailure("send", errno) }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  var text: String {
    fill()
    return String(decoding: received, as: UTF8.self)
  }

  private func fill() {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      guard count > 0 else {
        hasEnded = count == 0 || errno != EAGAIN
        return
      }
      received += bytes[..<count]
    }
  }

  /// Reads until the other side ends; returns the number of bytes of the whole connection.
  func readToEnd() throws -> Int {
    try waitUntil("the other side has ended") {
      fill()
      return hasEnded
    }
    return received.count
  }

  func await(_ wanted: String) throws {
    try waitUntil("'\(wanted)' has come, not '\(text)'") { text.contains(wanted) }
  }
}
