import Foundation

/// Runs tasks on a thread of its own.
///
/// Tests without `async` hold the threads that all tasks share while they wait for a program or a clock. A test that
/// awaits something would go on only behind all of those, by when its time-outs have passed.
public final class OwnThread: TaskExecutor {
  private let jobs = Jobs()

  private final class Jobs: @unchecked Sendable {
    // Sendable because the condition guards what is inside.
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

    /// The next job; `nil` at the end.
    func next() -> UnownedJob? {
      condition.withLock {
        while waiting.isEmpty, !hasEnded { condition.wait() }
        return waiting.isEmpty ? nil : waiting.removeFirst()
      }
    }
  }

  /// A thread that waits for jobs until ``end()``.
  public init() {
    let jobs = jobs
    Thread.detachNewThread { [self] in
      while let job = jobs.next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }

  /// Runs `body` with a new thread as the executor that its tasks prefer.
  static func perform(_ body: @Sendable () async throws -> Void) async throws {
    let thread = OwnThread()
    defer { thread.end() }
    try await withTaskExecutorPreference(thread) { try await body() }
  }

  /// Adds a job behind the others.
  public func enqueue(_ job: consuming ExecutorJob) {
    jobs.add(UnownedJob(job))
  }

  /// Lets the thread end once nothing is left to do.
  public func end() {
    jobs.end()
  }
}
