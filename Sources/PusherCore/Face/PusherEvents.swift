internal import Synchronization

/// The events of a client or of a channel as a sequence.
///
/// Each sequence has a buffer of its own, which bounds what a slow reader may cost: when it is full, events are dropped as
/// ``Buffering`` says, and ``droppedCount`` tells how many. It ends when its channel is unsubscribed, when `unbindAll()`
/// drops it, and when its client is gone. A reader that stops, by `break` or because its task is cancelled, and lets go of
/// the sequence costs nothing from then on. It is for one reader: two that iterate share the events between them.
public struct PusherEvents: AsyncSequence, Sendable {
  /// What happens to events that come faster than they are taken.
  public enum Buffering: Sendable, Equatable {
    /// The latest so many are kept; the oldest is dropped for one more.
    case newest(Int)
    /// The first so many are kept; one more is dropped.
    case oldest(Int)
  }

  private let stream: AsyncStream<PusherEvent>
  private let drops: Drops

  /// How many events were dropped because the buffer was full.
  public var droppedCount: Int { drops.count.load(ordering: .relaxed) }

  private final class Drops: Sendable {
    let count = Atomic<Int>(0)
  }

  /// A sequence of what is handed to the handlers of `list`.
  init(_ list: BindingList, _ buffering: Buffering) {
    let policy: AsyncStream<PusherEvent>.Continuation.BufferingPolicy =
      switch buffering {
      case .newest(let count): .bufferingNewest(Swift.max(count, 1))
      case .oldest(let count): .bufferingOldest(Swift.max(count, 1))
      }
    let (stream, continuation) = AsyncStream.makeStream(
      of: PusherEvent.self, bufferingPolicy: policy)
    let drops = Drops()
    let binding = PusherBinding()
    let call: @Sendable (PusherEvent) -> Void = { event in
      if case .dropped = continuation.yield(event) {
        drops.count.wrappingAdd(1, ordering: .relaxed)
      }
    }
    let handler = EventHandler(binding, call, onUnbind: { continuation.finish() })
    // Set before the handler is known to anybody: the sequence may be given up at once.
    continuation.onTermination = { [weak list] _ in list?.unbind(binding) }
    list.insert(handler, for: nil)
    self.stream = stream
    self.drops = drops
  }

  /// Takes the events one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<PusherEvent>.Iterator

    /// The next event, once there is one; `nil` at the end and when the task is cancelled.
    public mutating func next() async -> PusherEvent? {
      await base.next()
    }
  }

  /// A reader of the events.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: stream.makeAsyncIterator())
  }
}
