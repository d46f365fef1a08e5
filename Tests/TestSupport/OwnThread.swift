import Foundation

/// Runs tasks on a thread of its own.
///
/// Tests without `async` block the shared threads of all tasks while they wait for a program or a
/// clock. A test with `await` would wait for them, until its timeouts have passed.
public final class OwnThread: TaskExecutor {
  private let jobs = Jobs()

  private final class Jobs: @unchecked Sendable {
    // Sendable because the condition guards the state.
    private let condition = NSCondition()
    private var waiting: [UnownedJob] = []
    private var hasEnded = false

    func add(_ job: UnownedJob) {
      condition.withLock { waiting.append(job) }
      condition.signal()
    }

    func end() {
      condition.withLock { hasEnded = true }
      condition.signal()
    }

    func next() -> UnownedJob? {
      condition.withLock {
        while waiting.isEmpty, !hasEnded { condition.wait() }
        return waiting.isEmpty ? nil : waiting.removeFirst()
      }
    }
  }

  /// Starts a thread that waits for jobs until ``end()``.
  public init() {
    let jobs = jobs
    Thread.detachNewThread { [self] in
      while let job = jobs.next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }

  /// Runs `body` with a new thread as the preferred executor of its tasks.
  static func perform(_ body: @Sendable () async throws -> Void) async throws {
    let thread = OwnThread()
    defer { thread.end() }
    try await withTaskExecutorPreference(thread) { try await body() }
  }

  /// Adds a job to the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    jobs.add(UnownedJob(job))
  }

  /// Lets the thread end after the queued jobs.
  public func end() {
    jobs.end()
  }
}
