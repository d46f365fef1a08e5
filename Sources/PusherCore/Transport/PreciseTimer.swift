internal import CSystemEpoll

/// Calls its action at a time, to within microseconds where the system has such timers.
///
/// The loop rounds other deadlines up to whole milliseconds. Source: timerfd_create(2).
package final class PreciseTimer: LoopSource {
  /// -1 on systems without such timers, and without a free descriptor; the loop then calls.
  private let descriptor: Int32
  private let action: (Instant) -> Void

  /// - Parameter action: Gets the current time; it may set the next deadline.
  package init(action: @escaping (Instant) -> Void) {
    self.action = action
    descriptor = pusher_timer_create()
  }

  deinit { if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) } }

  /// `nil` for never, and after the call.
  package var deadline: Instant? {
    didSet {
      guard descriptor >= 0, deadline != oldValue else { return }
      // The system takes 0 for "off".
      _ = pusher_timer_set(descriptor, deadline.map { max($0.nanoseconds, 1) } ?? 0)
    }
  }

  package var interest: LoopInterest {
    guard descriptor >= 0 else { return LoopInterest(deadline: deadline) }
    return LoopInterest(descriptor: descriptor, events: deadline == nil ? [] : .read)
  }

  package func ready(_ events: PollEvents, at now: Instant) { call(at: now) }

  package func expired(at now: Instant) { call(at: now) }

  private func call(at now: Instant) {
    guard let time = deadline, time <= now else { return }
    deadline = nil
    action(now)
  }
}
