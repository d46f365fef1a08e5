import PusherCore

/// Limit of every wait; only a broken program reaches it.
let patience = Duration.seconds(30)

/// A condition did not hold within ``patience``.
struct Late: Error, CustomStringConvertible {
  let description: String
}

/// Returns when the condition holds.
///
/// - Throws: ``Late`` with the complaint, after ``patience``.
func eventually(_ complaint: String, _ condition: () async throws -> Bool) async throws {
  let limit = ContinuousClock.now + patience
  while ContinuousClock.now < limit {
    if try await condition() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  throw Late(description: complaint)
}

extension Task where Success == Void, Failure == any Error {
  /// Returns when the task has ended, and cancels it at the time limit of the test.
  func ended() async throws {
    try await withTaskCancellationHandler {
      try await value
    } onCancel: {
      cancel()
    }
  }
}

extension PusherClientOptions {
  /// Retries fast enough for tests.
  func retryingQuickly() -> PusherClientOptions {
    var options = self
    options.retries.reconnectDelay = .milliseconds(10)
    return options
  }
}
