internal import PusherPlatform

package struct PollEvents: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = PollEvents(rawValue: 1)
  package static let write = PollEvents(rawValue: 2)
  /// The other end is gone; for sources that neither read nor write.
  package static let hangUp = PollEvents(rawValue: 4)
}

package struct LoopInterest: Sendable, Equatable {
  package var descriptor: Int32
  /// If empty, the descriptor is ignored, its end included.
  package var events: PollEvents
  /// Latest time of the next call; `nil` for never, ``immediately`` for at once.
  package var deadline: Instant?

  package init(descriptor: Int32 = -1, events: PollEvents = [], deadline: Instant? = nil) {
    (self.descriptor, self.events, self.deadline) = (descriptor, events, deadline)
  }

  package static let immediately = Instant(nanoseconds: .min)
}

/// A source of events for an ``EventLoop``: a descriptor, a deadline, or both.
///
/// All calls come on the loop's thread and may add and remove sources.
package protocol LoopSource: AnyObject {
  var interest: LoopInterest { get }

  /// The descriptor is ready; a hang-up or an error counts as all requested events.
  func ready(_ events: PollEvents, at now: Instant)

  func expired(at now: Instant)
}

/// Calls its action once at its deadline, which may be moved until then.
package final class LoopTimer: LoopSource {
  /// `nil` for never, and after the call.
  package var deadline: Instant?
  private let action: () -> Void

  package init(deadline: Instant?, action: @escaping () -> Void) {
    (self.deadline, self.action) = (deadline, action)
  }

  package var interest: LoopInterest { LoopInterest(deadline: deadline) }

  package func ready(_ events: PollEvents, at now: Instant) {}

  package func expired(at now: Instant) {
    deadline = nil
    action()
  }
}

extension EventLoop {
  /// Calls `action` once after `time`; the timer stays in the loop until it is removed.
  @discardableResult
  package func schedule(after time: Duration, _ action: @escaping () -> Void) -> LoopTimer {
    let timer = LoopTimer(deadline: now.advanced(by: time), action: action)
    add(timer)
    return timer
  }
}

extension PollEvents {
  /// Bits for reading and writing; an end is always reported.
  var bits: Int32 {
    (contains(.read) ? Int32(POLLIN) : 0) | (contains(.write) ? Int32(POLLOUT) : 0)
  }

  /// Events of a descriptor; its end counts as all requested events.
  init(ready bits: Int32, asked: Int32) {
    let isOver = bits & Int32(POLLHUP | POLLERR | POLLNVAL) != 0
    self = isOver ? [.hangUp] : []
    let ready = isOver ? bits | asked : bits
    if ready & Int32(POLLIN) != 0 { insert(.read) }
    if ready & Int32(POLLOUT) != 0 { insert(.write) }
  }
}
