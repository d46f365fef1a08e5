public import Testing

/// Runs each async test on a thread of its own.
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
  /// For async tests only; tests without `await` gain nothing.
  public static var ownThread: Self { OwnThreadTrait() }
}
