enum TimeLimit {
  /// Runs `body` for at most `limit`, then cancels it; returns whether it ended before.
  static func finishes(
    _ body: @escaping @Sendable () async throws -> Void, within limit: Duration
  ) async throws -> Bool {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return true
      }
      group.addTask {
        try await Deadlines.shared.wait(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }
}

/// Deadlines of waiting tasks, on a thread that exists only while a task waits.
///
/// `Task.sleep` keeps 1 KB for each cancelled sleep until its time has passed; this keeps nothing.
final class Deadlines: Sendable {
  static let shared = Deadlines()

  /// True if the time has passed, false if the task was cancelled before.
  typealias End = FirstAnswer<Bool>

  enum Order: Sendable {
    case add(End, Instant)
    case drop(End)
  }

  fileprivate let desk = OnDemandThread<Order>(LoopThread(name: "pusher-limits"))

  var isWorking: Bool { desk.isWorking }

  /// Returns after `time`, or at once if the system has no thread left.
  ///
  /// Throws `CancellationError` at once if the task is cancelled.
  func wait(for time: Duration) async throws {
    let end = End()
    let deadline = SystemClock.now().advanced(by: time)
    let hasPassed = await withTaskCancellationHandler {
      await end.value { post(.add(end, deadline), isFirst: true) }
    } onCancel: {
      end.give(false)
      post(.drop(end), isFirst: false)
    }
    if !hasPassed { throw CancellationError() }
  }

  private func post(_ order: Order, isFirst: Bool) {
    desk.post(order, isFirst: isFirst) { [self] loop in
      DeadlineDriver(loop: loop, deadlines: self)
    } failed: { _, lost in
      for case .add(let end, _) in lost { end.give(true) }
    }
  }
}

final class DeadlineDriver: LoopMember {
  private let loop: EventLoop
  private let deadlines: Deadlines
  private var timers: [ObjectIdentifier: LoopTimer] = [:]

  init(loop: EventLoop, deadlines: Deadlines) { (self.loop, self.deadlines) = (loop, deadlines) }

  func beginRound() {
    deadlines.desk.serve(self, on: loop, isIdle: { timers.isEmpty }, carryOut: carryOut)
  }

  func end() {}

  private func carryOut(_ order: Deadlines.Order) {
    switch order {
    case .add(let end, let deadline):
      // The task was cancelled between the two orders.
      if end.isGiven { return }
      let key = ObjectIdentifier(end)
      let timer = LoopTimer(deadline: deadline) { [unowned self] in
        drop(key)
        end.give(true)
      }
      timers[key] = timer
      loop.add(timer)
    case .drop(let end): drop(ObjectIdentifier(end))
    }
  }

  private func drop(_ key: ObjectIdentifier) {
    if let timer = timers.removeValue(forKey: key) { loop.remove(timer) }
  }
}
