import Foundation
import PusherCore
import Testing

/// Time limit for expected events; it only keeps a test from hanging, so it exceeds any busy
/// period.
let patience = Duration.seconds(60)

/// Waits until the condition holds.
///
/// The pauses between two looks grow with a look's cost: some looks start a program.
func waitUntil(
  _ what: @autoclosure () -> String, within limit: Duration = patience, _ isSo: () throws -> Bool
) throws {
  let deadline = SystemClock.now().advanced(by: limit)
  while true {
    let start = SystemClock.now()
    if try isSo() { return }
    let now = SystemClock.now()
    guard now < deadline else { throw Late("in \(limit) it never was so: \(what())") }
    usleep(UInt32(min(100_000, max(2000, start.duration(to: now).inSeconds * 9_000_000))))
  }
}

func waitFor<Value>(_ what: @autoclosure () -> String, _ value: () throws -> Value?) throws -> Value
{
  var found: Value?
  try waitUntil(what()) {
    found = try value()
    return found != nil
  }
  return try #require(found)
}

/// Synchronises a server's script with the test.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }

  func wait() throws {
    guard isOpened(within: patience.inSeconds) else {
      throw Late("nobody opened the gate within \(patience)")
    }
  }

  /// Returns true if ``open()`` was called within the time.
  func isOpened(within seconds: Double) -> Bool {
    semaphore.wait(timeout: .now() + seconds) == .success
  }
}

final class Record<Value: Sendable>: Sendable {
  private let stored = Locked<[Value]>([])

  func add(_ value: Value) {
    stored.withLock { $0.append(value) }
  }

  var values: [Value] { stored.withLock { $0 } }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) { description = what }
}

/// A wait that was too long.
typealias Late = Unexpected

/// The other side or the test ended the connection; not a failure by itself.
struct PeerLeft: Error {}
