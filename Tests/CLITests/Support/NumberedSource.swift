import Foundation
import PusherCore
import TestSupport

/// Publishes numbered events at a steady pace, whether or not anybody is subscribed, and remembers when.
///
/// Like a real server it writes each number to every subscription that is confirmed when it is published.
final class NumberedSource: Sendable {
  static let channel = "numbers"

  private struct State {
    /// When each number was published, the first at index 0.
    var times: [Instant] = []
    var written = 0
    var isFinished = false
  }

  private let state = Locked(State())

  /// Begins to publish; the pace is drawn from `seed`.
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

  /// Publishes nothing more, and lets go of every connection that is fed.
  func finish() {
    state.withLock { $0.isFinished = true }
  }

  /// The last number so far.
  var last: Int { state.withLock { $0.times.count } }

  /// When a number was published.
  func time(of number: Int) -> Instant { state.withLock { $0.times[number - 1] } }

  /// How many events were written to confirmed subscriptions.
  var written: Int { state.withLock { $0.written } }

  /// Writes what is published from a number on to a confirmed subscription, at most so many events.
  func feed(_ connection: ScriptedConnection, from first: Int, atMost limit: Int) throws {
    var next = first
    let end = limit == .max ? .max : next + limit
    while next < end {
      guard next <= last else {
        if state.withLock({ $0.isFinished }) { throw PeerLeft() }
        usleep(200)
        // A client that has gone is noticed also when nothing is written.
        try connection.checkPeer()
        continue
      }
      state.withLock { $0.written += 1 }
      try connection.send(event: "n", channel: Self.channel, data: Self.data(next))
      next += 1
    }
  }

  /// The data of a number, long enough at times to be cut in the middle.
  static func data(_ number: Int) -> String {
    let length = number % 97 == 0 ? 20_000 : number * 7919 % 300
    return #"{"n":\#(number),"é\"":"\#(String(repeating: "x", count: length))"}"#
  }

  /// The line that the program prints for a number.
  static func line(_ number: Int) -> String {
    #"{"event":"n","channel":"\#(channel)","data":\#(data(number))}"#
  }
}
