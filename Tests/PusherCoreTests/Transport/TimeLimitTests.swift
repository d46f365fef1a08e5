import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Time limits` {
  @Test func `a body that ends in time has ended by itself`() async throws {
    #expect(try await TimeLimit.finishes({}, within: .seconds(600)))
  }

  @Test func `a body that does not end is cancelled when its time has passed`() async throws {
    let cancelled = Gathered<Bool>()
    let ended = try await TimeLimit.finishes(
      {
        for await _ in AsyncStream<Never>.makeStream().stream {}
        cancelled.add(Task.isCancelled)
      }, within: .milliseconds(1))
    #expect(!ended)
    #expect(cancelled.values == [true])
  }

  @Test func `an error of the body is thrown`() async throws {
    await #expect(throws: PusherWaitError.ended) {
      _ = try await TimeLimit.finishes({ throw PusherWaitError.ended }, within: .seconds(600))
    }
  }

  @Test func `a task that is cancelled throws that, not that its time has passed`() async {
    let task = Task {
      try await TimeLimit.finishes(
        { try await Task.sleep(for: .seconds(600)) }, within: .seconds(600))
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  @Test func `a cancelled wait returns at once, and nothing is left of it`() async throws {
    let deadlines = Deadlines()
    let waits = (0..<100).map { _ in
      Task(priority: .high) { try await deadlines.wait(for: .seconds(600)) }
    }
    try await condition("they wait") { deadlines.isWorking }
    for wait in waits { wait.cancel() }
    for wait in waits { _ = await wait.result }
    try await condition("the thread has ended") { !deadlines.isWorking }
  }

  @Test func `each wait ends when its time has passed`() async throws {
    let deadlines = Deadlines()
    let ends = Gathered<Int>()
    let gate = Task {
      await withTaskGroup(of: Void.self) { group in
        for time in [40, 1, 20] {
          group.addTask {
            try? await deadlines.wait(for: .milliseconds(time))
            ends.add(time)
          }
        }
      }
    }
    await gate.value
    #expect(ends.values.sorted() == [1, 20, 40])
    try await condition("the thread has ended") { !deadlines.isWorking }
  }
}
