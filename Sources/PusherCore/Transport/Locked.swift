internal import PusherPlatform

/// A value behind a lock.
///
/// The system's lock, because ThreadSanitizer reports false races for the standard library's
/// `Mutex` on Linux.
@safe package final class Locked<Value>: @unchecked Sendable {
  // Sendable because the value is only reached under the lock.
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  package init(_ value: sending Value) {
    self.value = value
    unsafe lock = .allocate(capacity: 1)
    unsafe lock.initialize(to: pthread_mutex_t())
    let code = unsafe pthread_mutex_init(lock, nil)
    precondition(code == 0, "cannot make a lock: error \(code)")
  }

  deinit {
    unsafe pthread_mutex_destroy(lock)
    unsafe lock.deinitialize(count: 1)
    unsafe lock.deallocate()
  }

  /// Runs `body` with the value; `body` must not take the same lock.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return try body(&value)
  }
}
