/// Calls back once when its time has come; the time may be moved until then.
package final class LoopTimer: LoopSource {
  /// When to call; `nil` for never, and again after the call.
  package var deadline: Instant?
  private let action: () -> Void

  package init(deadline: Instant?, action: @escaping () -> Void) {
    self.deadline = deadline
    self.action = action
  }

  package var interest: LoopInterest { LoopInterest(deadline: deadline) }

  package func ready(_ events: PollEvents, at now: Instant) {}

  package func expired(at now: Instant) {
    deadline = nil
    action()
  }
}
