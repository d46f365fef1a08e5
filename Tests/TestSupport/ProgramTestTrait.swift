internal import PusherCore
public import Testing

/// Runs each test that waits for programs on a thread of its own, a few at a time.
///
/// Such a test blocks its thread. The shared threads are as many as the processors, so two such
/// tests would stop all others while the machine idles. The wait for a place and its return run on
/// a thread of their own too. On the shared threads they would queue behind every other test.
public struct ProgramTestTrait: TestTrait, SuiteTrait, TestScoping {
  /// With this number of programs, each keeps its time limits on a machine with two processors.
  private static let places = Places(count: 8)
  private static let gate = OwnThread()

  fileprivate let isFirst: Bool

  /// A suite's trait applies to its tests.
  public var isRecursive: Bool { true }

  /// Runs a test on a thread of its own, after it gets a place.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope of a suite holds all its tests at once.
    guard testCase != nil else { return try await function() }
    try await withTaskExecutorPreference(Self.gate) {
      await Self.places.take(isFirst: isFirst)
      try await OwnThread.perform {
        defer { Self.places.giveBack() }
        // The runner's own time includes the wait for a place.
        let start = ContinuousClock.now
        defer { print("test: took \(ContinuousClock.now - start): \(test.name)") }
        try await function()
      }
    }
  }
}

extension Trait where Self == ProgramTestTrait {
  /// For tests that start the program or another one.
  public static var runsPrograms: Self { ProgramTestTrait(isFirst: false) }

  /// The same for a suite that is serialized or waits for times, which would otherwise run alone at
  /// the end.
  public static var runsProgramsFirst: Self { ProgramTestTrait(isFirst: true) }
}

/// A number of places, given in the order of the requests, those of ``isFirst`` before the others.
private final class Places: Sendable {
  private struct Status {
    var free: Int
    var first = Fifo<CheckedContinuation<Void, Never>>()
    var others = Fifo<CheckedContinuation<Void, Never>>()
  }

  private let status: Locked<Status>

  init(count: Int) {
    status = Locked(Status(free: count))
  }

  func take(isFirst: Bool) async {
    await withCheckedContinuation { continuation in
      let hasPlace = status.withLock { status in
        guard status.free == 0 else {
          status.free -= 1
          return true
        }
        if isFirst { status.first.append(continuation) } else { status.others.append(continuation) }
        return false
      }
      if hasPlace { continuation.resume() }
    }
  }

  func giveBack() {
    let next = status.withLock { status -> CheckedContinuation<Void, Never>? in
      let next = status.first.popFirst() ?? status.others.popFirst()
      if next == nil { status.free += 1 }
      return next
    }
    next?.resume()
  }
}
