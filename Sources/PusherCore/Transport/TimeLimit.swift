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
        try await Deadlines.shared.wait(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }
}

/// Deadlines of waiting tasks, on one thread that there is only while a task waits.
///
/// `Task.sleep` keeps a kilobyte for each sleep that is cancelled, until its time has passed; this keeps nothing.
final class Deadlines: Sendable {
  /// Those of the process.
  static let shared = Deadlines()

  /// Whether the time has passed, or the task was cancelled before.
  typealias End = FirstAnswer<Bool>

  enum Order: Sendable {
    case add(End, Instant)
    case drop(End)
  }

  private let thread = LoopThread(name: "pusher-limits")
  private let orders = Locked(ThreadOrders<Order>())

  /// Whether a task waits.
  var isWorking: Bool { orders.withLock { $0.hasThread } }

  /// Returns after `time`, and at once when there is no thread to wait on.
  ///
  /// - Throws: `CancellationError` at once when the task is cancelled.
  func wait(for time: Duration) async throws {
    let end = End()
    let deadline = SystemClock.now().advanced(by: time)
    let hasPassed = await withTaskCancellationHandler {
      await end.value { post(.add(end, deadline)) }
    } onCancel: {
      end.give(false)
      post(.drop(end))
    }
    if !hasPassed { throw CancellationError() }
  }

  private func post(_ order: Order) {
    let (wakeUp, needsThread) = orders.withLock { orders -> (WakeUp?, Bool) in
      if case .drop = order, !orders.hasThread { return (nil, false) }
      defer { orders.hasThread = true }
      return (orders.post(order), !orders.hasThread)
    }
    wakeUp?.signal()
    guard needsThread else { return }
    thread.join { [self] loop in
      orders.withLock { $0.wakeUp = loop.wakeUp }
      return DeadlineDriver(loop: loop, deadlines: self)
    } failed: { [self] _ in
      let lost = orders.withLock { orders in
        defer { orders = ThreadOrders() }
        return orders.take()
      }
      for case .add(let end, _) in lost { end.give(true) }
    }
  }

  // MARK: From the loop's thread

  func takeOrders() -> [Order] { orders.withLock { $0.take() } }

  /// Takes leave; false when orders came meanwhile.
  func leave(_ driver: DeadlineDriver, _ loop: EventLoop) -> Bool {
    guard orders.withLock({ $0.leave() }) else { return false }
    thread.leave(driver, loop)
    return true
  }
}

/// What the thread of ``Deadlines`` does.
final class DeadlineDriver: LoopMember {
  private let loop: EventLoop
  private let deadlines: Deadlines
  private var timers: [ObjectIdentifier: LoopTimer] = [:]

  init(loop: EventLoop, deadlines: Deadlines) {
    self.loop = loop
    self.deadlines = deadlines
  }

  func beginRound() {
    while true {
      let orders = deadlines.takeOrders()
      for order in orders { carryOut(order) }
      if !orders.isEmpty { continue }
      if !timers.isEmpty || deadlines.leave(self, loop) { return }
    }
  }

  func end() {}

  private func carryOut(_ order: Deadlines.Order) {
    switch order {
    case .add(let end, let deadline):
      // Its task was cancelled between the two orders.
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
