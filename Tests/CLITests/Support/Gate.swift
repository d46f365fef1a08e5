import Foundation
import PusherCore

/// Lets a server's script wait for the test, and the other way round.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// Lets one wait pass.
  func open() {
    semaphore.signal()
  }

  /// Waits for one ``open()``.
  func wait(within seconds: Double = 15) throws {
    guard isOpened(within: seconds) else {
      throw Late("nobody opened the gate within \(seconds) s")
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
