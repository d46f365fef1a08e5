public import Testing

/// Gives each test of a suite, or one test, a thread of its own for what it awaits.
public struct OwnThreadTrait: TestTrait, SuiteTrait, TestScoping {
  /// A suite's trait is that of its tests.
  public var isRecursive: Bool { true }

  /// Runs a test with the thread as the executor that its tasks prefer.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope of a suite holds all its tests at once.
    guard testCase != nil else { return try await function() }
    try await OwnThread.perform(function)
  }
}

extension Trait where Self == OwnThreadTrait {
  /// Not for tests that only call what waits: those have nothing to await.
  public static var ownThread: Self { OwnThreadTrait() }
}
