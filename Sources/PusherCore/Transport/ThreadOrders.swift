/// Orders from any thread to a loop's thread, in the order of calls; part of a state behind a lock.
package struct ThreadOrders<Element: Sendable>: Sendable {
  private var orders: [Element] = []
  var hasThread = false
  package var wakeUp: WakeUp?

  package init() {}

  /// Adds an order; returns the wake-up to signal after unlocking, or `nil` if orders already wait.
  package mutating func post(_ order: Element) -> WakeUp? {
    orders.append(order)
    return orders.count == 1 ? wakeUp : nil
  }

  package mutating func take() -> [Element] {
    defer { orders = [] }
    return orders
  }

  /// Leaves the thread; returns false and does nothing if orders came meanwhile.
  mutating func leave() -> Bool {
    guard orders.isEmpty else { return false }
    self = ThreadOrders()
    return true
  }
}

/// Orders to a member of a ``LoopThread`` that exists only while it has work.
final class OnDemandThread<Order: Sendable>: Sendable {
  private let thread: LoopThread
  private let orders = Locked(ThreadOrders<Order>())

  init(_ thread: LoopThread) { self.thread = thread }

  var isWorking: Bool { orders.withLock { $0.hasThread } }

  /// Posts an order; `begin` makes the member if there is none and the order `isFirst`.
  ///
  /// `failed` gets the reason and the lost orders if the system has no thread left.
  func post(
    _ order: Order, isFirst: Bool, begin: @escaping @Sendable (EventLoop) -> any LoopMember,
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

  /// Carries out all orders, then removes the member if it is idle.
  func serve(
    _ member: any LoopMember, on loop: EventLoop, isIdle: () -> Bool, carryOut: (Order) -> Void
  ) {
    while true {
      let taken = orders.withLock { $0.take() }
      for order in taken { carryOut(order) }
      if !taken.isEmpty { continue }
      guard isIdle() else { return }
      if orders.withLock({ $0.leave() }) { return thread.leave(member, loop) }
    }
  }
}
