import Foundation
public import Testing

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

/// Runs each test on a thread of its own.
public struct OwnThreadTrait: TestTrait, SuiteTrait, TestScoping {
  /// A suite's trait applies to its tests.
  public var isRecursive: Bool { true }

  /// Runs a test with the thread as the preferred executor of its tasks.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope of a suite holds all its tests at once.
    guard testCase != nil else { return try await function() }
    try await OwnThread.perform(function)
  }
}

extension Trait where Self == OwnThreadTrait {
  /// For tests that wait: two of them on the shared threads would stop all others.
  public static var ownThread: Self { OwnThreadTrait() }
}
