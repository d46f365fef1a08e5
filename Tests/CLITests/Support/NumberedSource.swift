import Foundation
import PusherCore
import TestSupport

/// Publishes numbered events at a steady pace, with or without subscribers, and records the times.
///
/// Like a real server, it writes each number to every subscription confirmed at that time.
final class NumberedSource: Sendable {
  static let channel = "numbers"

  private struct State {
    /// Publication time of each number, the first at index 0.
    var times: [Instant] = []
    var written = 0
    var isFinished = false
  }

  private let state = Locked(State())

  /// Starts to publish; `seed` decides the pace.
  func start(seed: UInt64) {
    let source = self
    Thread.detachNewThread {
      var random = SeededGenerator(seed: seed)
      while !source.state.withLock({ $0.isFinished }) {
        source.publish(random.below(6))
        usleep(UInt32(300 + random.below(2500)))
      }
    }
  }

  private func publish(_ count: Int) {
    let now = SystemClock.now()
    state.withLock { state in
      for _ in 0..<count { state.times.append(now) }
    }
  }

  func finish() {
    state.withLock { $0.isFinished = true }
  }

  var last: Int { state.withLock { $0.times.count } }

  func time(of number: Int) -> Instant { state.withLock { $0.times[number - 1] } }

  var written: Int { state.withLock { $0.written } }

  /// Writes events from a number on to a confirmed subscription, at most `limit`.
  func feed(_ connection: ScriptedConnection, from first: Int, atMost limit: Int) throws {
    var next = first
    let end = limit == .max ? .max : next + limit
    while next < end {
      guard next <= last else {
        if state.withLock({ $0.isFinished }) { throw PeerLeft() }
        usleep(200)
        // Notices a client that left even when nothing is written.
        try connection.checkPeer()
        continue
      }
      state.withLock { $0.written += 1 }
      try connection.send(event: "n", channel: Self.channel, data: Self.data(next))
      next += 1
    }
  }

  /// Returns the data of a number, sometimes long enough to be cut in the middle.
  static func data(_ number: Int) -> String {
    let length = number % 97 == 0 ? 20_000 : number * 7919 % 300
    return #"{"n":\#(number),"é\"":"\#(String(repeating: "x", count: length))"}"#
  }

  static func line(_ number: Int) -> String {
    #"{"event":"n","channel":"\#(channel)","data":\#(data(number))}"#
  }
}
