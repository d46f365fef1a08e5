/// A limit on how long a task waits.
enum TimeLimit {
  /// Runs `body` for so long at most, then cancels it; answers whether it has ended by itself.
  static func finishes(
    _ body: @escaping @Sendable () async throws -> Void, within limit: Duration
  ) async throws -> Bool {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return true
      }
      group.addTask {
        try await ContinuousClock().sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }
}
