import Foundation
import PusherCore

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

  init(_ port: UInt16) throws {
    descriptor = try Loopback.dial(port)
  }

  deinit {
    close(descriptor)
  }

  /// Waits for the connection and sends the request; returns false if the connection failed.
  func send() throws -> Bool {
    guard !isSent else { return true }
    try wait(for: POLLOUT)
    let request = Array(
      "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    let count = request.withUnsafeBytes {
      Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
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
    var waiting = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    guard poll(&waiting, 1, Int32(patience.inSeconds * 1000)) == 1 else {
      throw Late("a connection to 127.0.0.1 was neither taken nor refused")
    }
  }
}

/// Requests a page again and again, each on a new connection, until it is stopped.
final class RepeatedRequest: Sendable {
  private let outcomes = Locked<[PlainRequest.Outcome]>([])
  private let isStopped = Locked(false)
  private let hasEnded = Gate()

  init(_ port: UInt16) {
    Thread.detachNewThread { [self] in
      while !isStopped.withLock({ $0 }) {
        let outcome = (try? PlainRequest(port).outcome()) ?? .dropped
        outcomes.withLock { $0.append(outcome) }
      }
      hasEnded.open()
    }
  }

  /// Waits until `count` more requests have ended.
  func wait(for count: Int) throws {
    let goal = outcomes.withLock { $0.count } + count
    try waitUntil("\(goal) requests have ended") { outcomes.withLock { $0.count } >= goal }
  }

  func stop() throws -> [PlainRequest.Outcome] {
    isStopped.withLock { $0 = true }
    try hasEnded.wait()
    return outcomes.withLock { $0 }
  }
}
