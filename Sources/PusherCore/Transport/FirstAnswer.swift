/// An answer that one task awaits and any thread may give; later answers are ignored.
final class FirstAnswer<Value: Sendable>: Sendable {
  private struct Progress {
    var continuation: CheckedContinuation<Value, Never>?
    var value: Value?
  }

  private let progress = Locked(Progress())

  var isGiven: Bool { progress.withLock { $0.value != nil } }

  /// Waits for the answer; calls `ask` first if there is none yet.
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
