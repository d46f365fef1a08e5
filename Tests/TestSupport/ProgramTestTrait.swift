internal import PusherCore
public import Testing

/// Gives each test that runs programs, and waits for them, a thread of its own: a few such tests at a time.
///
/// Such a test blocks. On the threads that all tasks share, of which there are as many as processors, two would keep
/// everything else waiting, and leave the machine idle while they wait themselves.
public struct ProgramTestTrait: TestTrait, SuiteTrait, TestScoping {
  /// So many programs at a time leave each enough of a machine with two processors to keep its time limits.
  private static let places = Places(count: 6)

  /// A suite's trait is that of its tests.
  public var isRecursive: Bool { true }

  /// Runs a test on a thread of its own, once there is a place.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope of a suite holds all its tests at once.
    guard testCase != nil else { return try await function() }
    await Self.places.take()
    defer { Self.places.giveBack() }
    try await OwnThread.perform(function)
  }
}

extension Trait where Self == ProgramTestTrait {
  /// For tests that start the program or another one.
  public static var runsPrograms: Self { ProgramTestTrait() }
}

/// A number of places, taken in the order of asking.
private final class Places: Sendable {
  private struct Status {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let status: Locked<Status>

  init(count: Int) {
    status = Locked(Status(free: count))
  }

  func take() async {
    await withCheckedContinuation { continuation in
      let hasPlace = status.withLock { status in
        guard status.free == 0 else {
          status.free -= 1
          return true
        }
        status.waiting.append(continuation)
        return false
      }
      if hasPlace { continuation.resume() }
    }
  }

  func giveBack() {
    let next = status.withLock { status -> CheckedContinuation<Void, Never>? in
      guard status.waiting.isEmpty else { return status.waiting.removeFirst() }
      status.free += 1
      return nil
    }
    next?.resume()
  }
}
