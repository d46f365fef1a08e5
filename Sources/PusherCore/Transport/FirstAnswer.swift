/// An answer that one task waits for and any thread may give; the first one counts.
final class FirstAnswer<Value: Sendable>: Sendable {
  private struct Progress {
    var continuation: CheckedContinuation<Value, Never>?
    var value: Value?
  }

  private let progress = Locked(Progress())

  /// Whether there is an answer.
  var isGiven: Bool { progress.withLock { $0.value != nil } }

  /// Waits for the answer, for which `ask` is called first unless it is there already.
  func value(asking ask: () -> Void) async -> Value {
    await withCheckedContinuation { continuation in
      let value = progress.withLock { progress -> Value? in
        if progress.value == nil { progress.continuation = continuation }
        return progress.value
      }
      if let value { continuation.resume(returning: value) } else { ask() }
    }
  }

  func give(_ value: Value) {
    let continuation = progress.withLock { progress -> CheckedContinuation<Value, Never>? in
      guard progress.value == nil else { return nil }
      progress.value = value
      defer { progress.continuation = nil }
      return progress.continuation
    }
    continuation?.resume(returning: value)
  }
}
