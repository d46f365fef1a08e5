internal import Synchronization

/// The events of a client or of a channel as a sequence.
///
/// Each sequence has a buffer of its own, which bounds what a slow reader may cost: when it is full, events are dropped
/// as ``Buffering`` says, and ``droppedCount`` tells how many. It ends when its channel is unsubscribed, when
/// `unbindAll()` drops it, and when its client is gone. A reader that stops, by `break` or cancellation, and releases
/// the sequence costs nothing from then on. A sequence is for one reader: two readers would share its events.
public struct PusherEvents: AsyncSequence, Sendable {
  /// What happens to events that come faster than they are read.
  public enum Buffering: Sendable, Equatable {
    /// The latest events are kept, up to this number; a new one replaces the oldest.
    case newest(Int)
    /// The first events are kept, up to this number; a new one is dropped.
    case oldest(Int)
  }

  private let stream: AsyncStream<PusherEvent>
  private let drops: Drops

  /// How many events were dropped because the buffer was full.
  public var droppedCount: Int { drops.count.load(ordering: .relaxed) }

  private final class Drops: Sendable {
    let count = Atomic<Int>(0)
  }

  /// A sequence of the events for the handlers of `list`.
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
    // Set before the handler is known to anybody: the sequence may be released at once.
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
