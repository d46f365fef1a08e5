import TestSupport
import Testing

/// Gives each test of a suite, or one test, a thread of its own for what it awaits.
struct OwnThreadTrait: TestTrait, SuiteTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope of a suite holds all its tests at once.
    guard testCase != nil else { return try await function() }
    let thread = OwnThread()
    defer { thread.end() }
    try await withTaskExecutorPreference(thread) { try await function() }
  }
}

extension Trait where Self == OwnThreadTrait {
  /// Not for tests that only call what waits: those have nothing to await.
  static var ownThread: Self { OwnThreadTrait() }
}
