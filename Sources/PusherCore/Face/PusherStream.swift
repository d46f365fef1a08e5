/// An event, or a mark at the place where events are missing; see <doc:MissingEvents>.
public enum PusherStreamElement<Value: Sendable>: Sendable {
  case event(Value)
  /// The reader was too slow, and this number of events was dropped here.
  case lost(Int)
  /// There was no connection; events of that time may be missing.
  case gap(PusherGap)

  /// The event; `nil` for a loss or a gap.
  public var event: Value? {
    if case .event(let event) = self { event } else { nil }
  }
}

extension PusherStreamElement: Equatable where Value: Equatable {}

/// Time without a connection, in which events may have been missed; see <doc:MissingEvents>.
///
/// A client reports a gap after it has subscribed to all channels again, to the sequences of the
/// client and of the affected channels. Some new events may come before it: compare their
/// ``PusherEvent/timeReceived``. An ``EventSource`` reports the gap before further events. A first
/// stream has a gap without length if a Mercure hub does not find the requested event. There is no
/// gap after `disconnect()`.
public struct PusherGap: Sendable, Equatable {
  /// Time of the former connection's last message, or of the loss of an event stream.
  public var from: WallTime
  /// Time from which events were certain to arrive again.
  public var to: WallTime

  /// Creates a gap, for tests of readers.
  public init(from: WallTime, to: WallTime) { (self.from, self.to) = (from, to) }

  /// Converts a gap from the monotonic clock, which shows `now`.
  init(from: Instant, to: Instant, at now: Instant) {
    let wall = SystemClock.wall()
    self.from = wall.advanced(by: now.duration(to: from))
    self.to = wall.advanced(by: now.duration(to: to))
  }

  /// Length of the gap, in whole milliseconds.
  public var duration: Duration {
    .milliseconds(to.millisecondsSince1970 - from.millisecondsSince1970)
  }
}

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
  /// ``PusherStreamElement/gap(_:)`` follow. `disconnect()` still works; `connect()` completes
  /// after the reader has caught up.
  public static func suspending(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .suspending(max(count, 1)))
  }

  /// Keeps the latest events; a new one replaces the oldest, and a loss marks its place.
  public static func newest(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .newest(max(count, 1)))
  }

  /// Keeps the first events; a new one is dropped, and a loss marks its place.
  public static func oldest(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .oldest(max(count, 1)))
  }
}

/// Events of a client, a channel, a user or an ``EventSource``, with marks where events are
/// missing.
///
/// A sequence is for one reader and has its own ``PusherBuffering``. It ends when its client
/// disconnects, gives up or is gone, its source closes, its channel is unsubscribed, or
/// `unbindAll()` drops it. The reader still gets the buffered events. Cancelling the reading task
/// ends the sequence immediately. An unread sequence continues to buffer and, with
/// ``PusherBuffering/suspending``, pauses its client: release it or call ``cancel()``.
public struct PusherStream<Value: Sendable>: AsyncSequence, Sendable {
  /// An event, a loss or a gap.
  public typealias Element = PusherStreamElement<Value>
  /// The sequence never fails.
  public typealias Failure = Never
  /// Buffer for events that arrive faster than the reader takes them.
  public typealias Buffering = PusherBuffering

  private let reader: StreamReader<Value>

  init(_ reader: StreamReader<Value>) { self.reader = reader }

  /// Total number of events dropped because the buffer was full.
  public var droppedCount: Int { reader.queue.droppedCount }

  /// Ends the sequence and drops its buffered elements, even while a task reads it.
  public func cancel() { reader.queue.cancel() }

  /// Creates a reader; its `next()` returns `nil` at the end and when the task is cancelled.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// Reader of a ``PusherStream``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: StreamReader<Value>

    /// Returns the next element, waiting if necessary.
    public func next() async -> PusherStreamElement<Value>? { await reader.queue.next() }

    /// Returns the next element on the caller's actor.
    public func next(isolation actor: isolated (any Actor)?) async -> PusherStreamElement<Value>? {
      await reader.queue.next(isolation: actor)
    }
  }
}

/// Events of a client, a channel or a user; see ``PusherEventBindings/events(buffering:)``.
public typealias PusherEvents = PusherStream<PusherEvent>

/// Events of an ``EventSource``; see ``EventSource/messages(buffering:)``.
public typealias EventSourceMessages = PusherStream<EventSourceMessage>

final class StreamReader<Value: Sendable>: Sendable {
  let queue: EventQueue<Value>

  init(_ queue: EventQueue<Value>) { self.queue = queue }

  deinit { queue.cancel() }

  /// Events only, for buffers that never drop.
  var events: AsyncStream<Value> {
    AsyncStream { [self] in
      while let element = await queue.next() {
        if let event = element.event { return event }
      }
      return nil
    }
  }
}
