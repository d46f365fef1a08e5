import Foundation
import PusherCore
import Testing

/// How long a test waits for what has to come: it only keeps a test from hanging, so it is longer than any machine is busy.
let patience = Duration.seconds(60)

/// Waits until something is so, and looks every few milliseconds.
///
/// - Parameter what: What is waited for, as a sentence; it is asked for when the wait has been in vain.
func waitUntil(
  _ what: @autoclosure () -> String, within limit: Duration = patience, _ isSo: () throws -> Bool
) throws {
  let deadline = SystemClock.now().advanced(by: limit)
  while try !isSo() {
    guard SystemClock.now() < deadline else { throw Late("in \(limit) it never was so: \(what())") }
    usleep(2000)
  }
}

/// Waits until something is there, and answers it.
func waitFor<Value>(_ what: @autoclosure () -> String, _ value: () throws -> Value?) throws -> Value
{
  var found: Value?
  try waitUntil(what()) {
    found = try value()
    return found != nil
  }
  return try #require(found)
}

/// Lets a server's script wait for the test, and the other way round.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// Lets one wait pass.
  func open() {
    semaphore.signal()
  }

  /// Waits for one ``open()``.
  func wait() throws {
    guard isOpened(within: patience.inSeconds) else {
      throw Late("nobody opened the gate within \(patience)")
    }
  }

  /// Whether one ``open()`` came in time.
  func isOpened(within seconds: Double) -> Bool {
    semaphore.wait(timeout: .now() + seconds) == .success
  }
}

/// Values that a server's script leaves for the test.
final class Record<Value: Sendable>: Sendable {
  private let stored = Locked<[Value]>([])

  func add(_ value: Value) {
    stored.withLock { $0.append(value) }
  }

  var values: [Value] { stored.withLock { $0 } }
}
