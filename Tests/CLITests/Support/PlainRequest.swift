import Foundation
import PusherCore
import TestSupport

/// A connection to a port of 127.0.0.1 that requests one page.
final class PlainRequest {
  enum Outcome: Equatable {
    case refused
    case dropped
    case answered(status: Int)
  }

  private let descriptor: Int32
  private var isSent = false
  private var isRefused = false

  init(_ port: UInt16) throws { descriptor = try Loopback.dial(port) }

  deinit { close(descriptor) }

  /// Waits for the connection and sends the request; returns false if the connection failed.
  func send() throws -> Bool {
    guard !isSent else { return true }
    try wait(for: POLLOUT)
    let request = Array(
      "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    let count = Socket.send(request[...], to: descriptor)
    isSent = count == request.count
    isRefused = count < 0 && errno == ECONNREFUSED
    return isSent
  }

  func outcome() throws -> Outcome {
    guard try send() else { return isRefused ? .refused : .dropped }
    var answer: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      try wait(for: POLLIN)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      guard count > 0 else { break }
      answer += bytes[..<count]
    }
    let words = String(decoding: answer, as: UTF8.self).split(separator: " ", maxSplits: 2)
    guard words.count == 3, let status = Int(words[1]) else { return .dropped }
    return .answered(status: status)
  }

  private func wait(for event: Int32) throws {
    let limit = Int32(patience.inSeconds * 1000)
    guard Socket.wait(for: event, on: descriptor, milliseconds: limit) else {
      throw Late("a connection to 127.0.0.1 was neither taken nor refused")
    }
  }
}

/// Requests a page again and again, each on a new connection, until it is stopped.
final class RepeatedRequest: Sendable {
  private let outcomes = Record<PlainRequest.Outcome>()
  private let isStopped = Locked(false)
  private let hasEnded = Gate()

  init(_ port: UInt16) {
    Thread.detachNewThread { [self] in
      while !isStopped.withLock({ $0 }) {
        outcomes.add((try? PlainRequest(port).outcome()) ?? .dropped)
      }
      hasEnded.open()
    }
  }

  /// Waits until `count` more requests have ended.
  func wait(for count: Int) throws {
    let goal = outcomes.values.count + count
    try waitUntil("\(goal) requests have ended") { outcomes.values.count >= goal }
  }

  func stop() throws -> [PlainRequest.Outcome] {
    isStopped.withLock { $0 = true }
    try hasEnded.wait()
    return outcomes.values
  }
}

/// A client that writes bytes to a port of 127.0.0.1, and reads only on request.
final class RawClient {
  private let descriptor: Int32
  private var received: [UInt8] = []

  init(_ port: UInt16) throws {
    descriptor = try Loopback.dial(port)
  }

  deinit { close(descriptor) }

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
      guard count > 0 else { return }
      received += bytes[..<count]
    }
  }

  func await(_ wanted: String) throws {
    try waitUntil("'\(wanted)' has come, not '\(text)'") { text.contains(wanted) }
  }
}
