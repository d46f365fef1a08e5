/// Starts threads that run an event loop, for faces that are called from any thread.
enum LoopThread {
  /// Has `body` called with a loop of its own on a new thread, which ends with it.
  ///
  /// `failed` gets the reason when the system has no thread, or nothing for a loop, left; it may be called on this thread.
  static func start(
    _ body: @escaping @Sendable (EventLoop) -> Void, failed: @escaping @Sendable (String) -> Void
  ) {
    let hasStarted = DetachedThread.start {
      do throws(TransportError) {
        body(try EventLoop())
      } catch {
        failed("\(error)")
      }
    }
    if !hasStarted { failed("the system gave no thread") }
  }
}

/// Orders from any thread to the one that a loop runs on, in the order of calls; part of a state that a lock guards.
struct ThreadOrders<Element: Sendable>: Sendable {
  private var orders: [Element] = []
  /// Whether the thread was asked for.
  var hasThread = false
  /// Set once the thread's loop runs.
  var wakeUp: WakeUp?

  var isEmpty: Bool { orders.isEmpty }

  /// Adds one; answers what to signal once the lock is open, which is nothing where orders wait already.
  mutating func post(_ order: Element) -> WakeUp? {
    orders.append(order)
    return orders.count == 1 ? wakeUp : nil
  }

  /// Takes what was posted.
  mutating func take() -> [Element] {
    defer { orders = [] }
    return orders
  }
}
