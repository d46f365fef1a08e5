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
  private let queue: EventQueue<PusherEvent>

  /// How many events were dropped because the buffer was full.
  public var droppedCount: Int { queue.droppedCount }

  /// A sequence of the events for the handlers of `list`.
  init(_ list: BindingList, _ buffering: Buffering) {
    let binding = PusherBinding()
    let (stream, queue) = EventQueue<PusherEvent>.make(buffering) { [weak list] _ in
      list?.unbind(binding)
    }
    list.insert(EventHandler(binding, { queue.add($0) }, onUnbind: { queue.finish() }), for: nil)
    self.stream = stream
    self.queue = queue
  }

  /// A reader of the events; its `next()` gives `nil` at the end and when the task is cancelled.
  public func makeAsyncIterator() -> AsyncStream<PusherEvent>.Iterator {
    stream.makeAsyncIterator()
  }
}

/// The events of an ``EventSource`` as a sequence, for one reader.
///
/// It has a buffer of its own: when that is full the oldest event is dropped for a new one, and ``droppedCount`` tells
/// how many were. It ends when the source is closed.
public struct EventSourceMessages: AsyncSequence, Sendable {
  private let stream: AsyncStream<EventSourceMessage>
  private let queue: EventQueue<EventSourceMessage>

  /// How many events were dropped because they were not taken in time.
  public var droppedCount: Int { queue.droppedCount }

  init(_ core: EventSourceCore, limit: Int) {
    (stream, queue) = EventQueue.make(.newest(limit)) { [weak core] key in
      _ = core?.state.withLock { $0.streams.removeValue(forKey: key) != nil }
    }
    core.state.withLock { $0.streams[ObjectIdentifier(queue)] = queue }
  }

  /// A reader of the events; its `next()` gives `nil` at the end and when the task is cancelled.
  public func makeAsyncIterator() -> AsyncStream<EventSourceMessage>.Iterator {
    stream.makeAsyncIterator()
  }
}

/// Where the callback thread puts the events of a sequence; it does not keep the sequence alive.
final class EventQueue<Element: Sendable>: Sendable {
  private let dropped = Atomic<Int>(0)
  private let continuation: AsyncStream<Element>.Continuation

  private init(_ continuation: AsyncStream<Element>.Continuation) {
    self.continuation = continuation
  }

  /// A queue and the stream of what is put into it.
  ///
  /// - Parameter whenOver: Called with the queue's identity when the stream has no reader any more, or is finished.
  static func make(
    _ buffering: PusherEvents.Buffering,
    whenOver: @escaping @Sendable (ObjectIdentifier) -> Void
  ) -> (AsyncStream<Element>, EventQueue) {
    let policy: AsyncStream<Element>.Continuation.BufferingPolicy =
      switch buffering {
      case .newest(let count): .bufferingNewest(max(count, 1))
      case .oldest(let count): .bufferingOldest(max(count, 1))
      }
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
    let queue = EventQueue(continuation)
    let key = ObjectIdentifier(queue)
    // Set before the queue is known to anybody: the sequence may be released at once.
    continuation.onTermination = { _ in whenOver(key) }
    return (stream, queue)
  }

  var droppedCount: Int { dropped.load(ordering: .relaxed) }

  func add(_ element: Element) {
    if case .dropped = continuation.yield(element) {
      dropped.wrappingAdd(1, ordering: .relaxed)
    }
  }

  func finish() {
    continuation.finish()
  }
}
