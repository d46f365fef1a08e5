/// Orders from any thread to the one that a loop runs on, in the order of calls; part of a state that a lock guards.
package struct ThreadOrders<Element: Sendable>: Sendable {
  private var orders: [Element] = []
  /// Whether the thread was asked for.
  var hasThread = false
  /// Set once the thread's loop runs.
  package var wakeUp: WakeUp?

  package init() {}

  /// Adds one; answers what to signal once the lock is open, which is nothing where orders wait already.
  package mutating func post(_ order: Element) -> WakeUp? {
    orders.append(order)
    return orders.count == 1 ? wakeUp : nil
  }

  /// Takes what was posted.
  package mutating func take() -> [Element] {
    defer { orders = [] }
    return orders
  }

  /// Takes leave of the thread; false, and nothing happens, when orders came meanwhile.
  mutating func leave() -> Bool {
    guard orders.isEmpty else { return false }
    self = ThreadOrders()
    return true
  }
}

/// Orders to a member of a ``LoopThread`` that is there only while it has work.
final class ThreadDesk<Order: Sendable>: Sendable {
  private let thread: LoopThread
  private let orders = Locked(ThreadOrders<Order>())

  init(_ thread: LoopThread) {
    self.thread = thread
  }

  /// Whether the member has work.
  var isWorking: Bool { orders.withLock { $0.hasThread } }

  /// Posts an order.
  ///
  /// - Parameters:
  ///   - isFirst: Whether the order makes sense to a new member; others are dropped when there is none.
  ///   - begin: Makes the member, on the loop's thread.
  ///   - failed: Gets the reason and the lost orders when the system has no thread left.
  func post(
    _ order: Order, isFirst: Bool,
    begin: @escaping @Sendable (EventLoop) -> any LoopMember,
    failed: @escaping @Sendable (String, [Order]) -> Void
  ) {
    let (wakeUp, needsThread) = orders.withLock { orders -> (WakeUp?, Bool) in
      guard isFirst || orders.hasThread else { return (nil, false) }
      defer { orders.hasThread = true }
      return (orders.post(order), !orders.hasThread)
    }
    wakeUp?.signal()
    guard needsThread else { return }
    thread.join { [self] loop in
      orders.withLock { $0.wakeUp = loop.wakeUp }
      return begin(loop)
    } failed: { [self] reason in
      let lost = orders.withLock { orders in
        defer { orders = ThreadOrders() }
        return orders.take()
      }
      failed(reason, lost)
    }
  }

  // MARK: From the loop's thread

  /// Hands out the orders until there is none, and then ends a member that is idle.
  func serve(
    _ member: any LoopMember, on loop: EventLoop, isIdle: () -> Bool, carryOut: (Order) -> Void
  ) {
    while true {
      let taken = orders.withLock { $0.take() }
      for order in taken { carryOut(order) }
      if !taken.isEmpty { continue }
      guard isIdle() else { return }
      // False when an order came just now.
      if orders.withLock({ $0.leave() }) { return thread.leave(member, loop) }
    }
  }
}
