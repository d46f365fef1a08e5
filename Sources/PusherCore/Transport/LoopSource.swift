/// What a source waits for, and what is ready.
package struct PollEvents: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Reading would not block: bytes, the end, or an error are there.
  package static let read = PollEvents(rawValue: 1)
  /// Writing would not block.
  package static let write = PollEvents(rawValue: 2)
  /// The other end is gone; for sources that neither read nor write.
  package static let hangUp = PollEvents(rawValue: 4)
}

/// A source's request for the next wait.
package struct LoopInterest: Sendable, Equatable {
  /// -1 for none.
  package var descriptor: Int32
  /// Empty means that the descriptor is left alone, its end included.
  package var events: PollEvents
  /// When to call at the latest; `nil` for never, ``immediately`` for at once.
  package var deadline: Instant?

  package init(descriptor: Int32 = -1, events: PollEvents = [], deadline: Instant? = nil) {
    (self.descriptor, self.events, self.deadline) = (descriptor, events, deadline)
  }

  /// A deadline that has always passed.
  package static let immediately = Instant(nanoseconds: .min)
}

/// Something that an ``EventLoop`` calls when its descriptor is ready or its time has come.
///
/// All calls come on the loop's thread, and may add and remove sources.
package protocol LoopSource: AnyObject {
  /// Asked anew before every wait.
  var interest: LoopInterest { get }

  /// The descriptor is ready; a hang-up or an error counts as ready for all that was asked for.
  func ready(_ events: PollEvents, at now: Instant)

  /// The deadline has passed.
  func expired(at now: Instant)
}

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
