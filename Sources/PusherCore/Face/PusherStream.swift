/// Buffer for events that arrive faster than the reader takes them; numbers are at least 1.
public struct PusherBuffering: Sendable, Equatable {
  enum Kind: Equatable {
    case unbounded
    case suspending(Int)
    case newest(Int)
    case oldest(Int)
  }

  let kind: Kind

  /// Keeps all events: a fast server can fill the memory.
  public static let unbounded = PusherBuffering(kind: .unbounded)

  /// Same as ``suspending(_:)`` with 1024 events.
  public static let suspending = PusherBuffering.suspending(1024)

  /// Drops nothing: the socket is not read from this number of events until half of them are read.
  ///
  /// Events that have already arrived may exceed the number. The whole client pauses: it handles no
  /// other channels, subscriptions, handlers or pings, and makes no attempts. Pusher's server
  /// closes such a connection after a minute or two; then a reconnect and a
  /// ``PusherFeedElement/gap(_:)`` follow. `disconnect()` still works; `connect()` completes
  /// after the reader has caught up.
  public static func suspending(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .suspending(max(count, 1)))
  }

  /// Keeps the latest events; a new one replaces the oldest, and the loss is reported.
  public static func newest(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .newest(max(count, 1)))
  }

  /// Keeps the first events; a new one is dropped, and the loss is reported.
  public static func oldest(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .oldest(max(count, 1)))
  }
}

/// Events of a client, a channel, a user or an ``EventSource``.
///
/// A sequence is for one reader and has its own ``PusherBuffering``. It ends when its client
/// disconnects, gives up or is gone, its source closes, its channel is unsubscribed, or
/// `unbindAll()` drops it. The reader still gets the buffered events. ``PusherConnection/failure``
/// and ``EventSource/failure`` tell why a client or a source gave up. Cancelling the reading task
/// ends the sequence immediately. An unread sequence continues to buffer and, with
/// ``PusherBuffering/suspending``, pauses its client: release it or call ``cancel()``.
///
/// The sequence skips the places where events are missing. The client reports them: see
/// <doc:MissingEvents>. A ``PusherFeed`` has the same events and marks these places.
public struct PusherStream<Value: Sendable>: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = Value
  /// The sequence never fails.
  public typealias Failure = Never
  /// Buffer for events that arrive faster than the reader takes them.
  public typealias Buffering = PusherBuffering

  private let reader: StreamReader<Value>

  init(_ reader: StreamReader<Value>) { self.reader = reader }

  /// Total number of events dropped because the buffer was full.
  public var droppedCount: Int { reader.queue.droppedCount }

  /// Ends the sequence and drops its buffered events, even while a task reads it.
  public func cancel() { reader.queue.cancel() }

  /// Creates a reader; its `next()` returns `nil` at the end and when the task is cancelled.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// Reader of a ``PusherStream``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: StreamReader<Value>

    /// Returns the next event, waiting if necessary.
    public func next() async -> Value? { await reader.nextEvent() }

    /// Returns the next event on the caller's actor.
    public func next(isolation actor: isolated (any Actor)?) async -> Value? {
      await reader.nextEvent(isolation: actor)
    }
  }
}

/// Events of a client, a channel or a user; see ``PusherEventBindings/events(buffering:)``.
public typealias PusherEvents = PusherStream<PusherEvent>

/// Events of an ``EventSource``; see ``EventSource/messages(buffering:)``.
public typealias EventSourceMessages = PusherStream<EventSourceMessage>

/// Releases its queue after the last reader of a sequence is gone.
final class StreamReader<Value: Sendable>: Sendable {
  let queue: EventQueue<Value>

  init(_ queue: EventQueue<Value>) { self.queue = queue }

  deinit { queue.cancel() }

  /// Returns the next event and skips losses and gaps.
  func nextEvent(isolation actor: isolated (any Actor)? = #isolation) async -> Value? {
    while let element = await queue.next(isolation: actor) {
      if let event = element.event { return event }
    }
    return nil
  }

  /// Events only, for buffers that never drop.
  var events: AsyncStream<Value> { AsyncStream { [self] in await nextEvent() } }
}
