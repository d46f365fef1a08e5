import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Time limits` {
  private func run(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await PusherWaitError.limit(limit, body) { "no end" }
  }

  @Test func `a body that ends in time has ended by itself`() async throws {
    try await run(.seconds(600)) {}
  }

  @Test func `a body that does not end is cancelled when its time has passed`() async throws {
    let cancelled = Gathered<Bool>()
    await #expect(throws: PusherWaitError.timeout(.milliseconds(1), reason: "no end")) {
      try await run(.milliseconds(1)) {
        for await _ in AsyncStream<Never>.makeStream().stream {}
        cancelled.add(Task.isCancelled)
      }
    }
    #expect(cancelled.values == [true])
  }

  @Test func `an error of the body is thrown`() async throws {
    await #expect(throws: PusherWaitError.ended) {
      try await run(.seconds(600)) { throw PusherWaitError.ended }
    }
  }

  @Test func `a task that is cancelled throws that, not that its time has passed`() async {
    let task = Task { try await run(.seconds(600)) { try await Task.sleep(for: .seconds(600)) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
