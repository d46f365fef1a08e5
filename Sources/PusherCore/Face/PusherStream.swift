/// What a sequence of events gives: an event, or word of events that are missing, where they are missing.
///
/// A reader that wants events alone says so in its pattern, and a `switch` sees everything:
///
/// ```swift
/// for await case .event(let event) in channel.events() { handle(event) }
///
/// for await element in channel.events() {
///   switch element {
///   case .event(let event): handle(event)
///   case .lost(let count): print("\(count) events came faster than they were read")
///   case .gap(let gap): reload(since: gap.from)
///   }
/// }
/// ```
///
/// It is an enumeration, not an event with marks, because a loss has neither name nor data, and because a reader that does
/// not care then has nothing to check.
public enum PusherStreamElement<Value: Sendable>: Sendable {
  /// An event.
  case event(Value)
  /// So many events were dropped here, between the element before and the one after, because the reader was behind.
  case lost(Int)
  /// There was no connection; what was sent then may be missing.
  case gap(PusherGap)

  /// The event; `nil` for word of missing ones.
  public var event: Value? {
    if case .event(let event) = self { event } else { nil }
  }
}

extension PusherStreamElement: Equatable where Value: Equatable {}

/// A time without a connection, in which events may have been missed.
///
/// A client tells a gap once all channels are subscribed again, to the sequences of the client and of the channels that were
/// subscribed before, so that the first events of a channel may stand in front of it: their
/// ``PusherEvent/timeReceived`` says on which side they are. Pusher's protocol sends nothing again. An ``EventSource``
/// tells it when the stream is open again, before further events; a server that knows `Last-Event-ID` sends what was
/// missed after it. After `disconnect()` there is no gap: you asked for it.
public struct PusherGap: Sendable, Equatable {
  /// When the last whole message of the former connection came; for an event stream, when it was lost.
  public var from: WallTime
  /// When events came again for sure.
  public var to: WallTime

  /// A gap, for tests of readers.
  public init(from: WallTime, to: WallTime) {
    self.from = from
    self.to = to
  }

  /// A gap on the clock that only runs forward, which shows `now`.
  init(from: Instant, to: Instant, at now: Instant) {
    let wall = SystemClock.wall()
    self.from = wall.advanced(by: now.duration(to: from))
    self.to = wall.advanced(by: now.duration(to: to))
  }

  /// How long it was, to the millisecond.
  public var duration: Duration {
    .milliseconds(to.millisecondsSince1970 - from.millisecondsSince1970)
  }
}

/// What happens to events that come faster than they are read.
///
/// Numbers below 1 count as 1. Word of gaps takes no place.
public struct PusherBuffering: Sendable, Equatable {
  enum Kind: Equatable {
    case unbounded
    case suspending(Int)
    case newest(Int)
    case oldest(Int)
  }

  let kind: Kind

  /// All are kept, whatever memory that takes: a server that is faster than the reader can fill it.
  public static let unbounded = PusherBuffering(kind: .unbounded)

  /// The same as ``suspending(_:)`` with 1024 events.
  public static let suspending = PusherBuffering.suspending(1024)

  /// Nothing is dropped: while this number waits, the socket is left unread, until half of them are read.
  ///
  /// What has arrived already may still come on top. With several such readers the socket is read while none is behind.
  /// It is the client that stands still, not the channel alone: other channels, the answers to subscriptions and the
  /// handlers get nothing either, nothing is dialled, and pings of the server have no answer. Pusher's own server gives
  /// such a connection up after a minute or two; then follow a reconnect and a ``PusherStreamElement/gap(_:)``. A
  /// reader that never goes on holds its client forever. `disconnect()` works meanwhile, and so does `connect()`, which
  /// is done once the reader has caught up.
  public static func suspending(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .suspending(max(count, 1)))
  }

  /// The latest are kept, up to this number; a new one replaces the oldest, and its place tells the loss.
  public static func newest(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .newest(max(count, 1)))
  }

  /// The first are kept, up to this number; a new one is dropped, and its place tells the loss.
  public static func oldest(_ count: Int) -> PusherBuffering {
    PusherBuffering(kind: .oldest(max(count, 1)))
  }
}

/// The events of a client, a channel, a user or an ``EventSource`` as a sequence, with word of those that are missing.
///
/// Each sequence has a buffer of its own, and ``PusherBuffering`` says what happens when it is full. It ends when its
/// client is disconnected or makes no further attempt, when its source is closed, when its channel is unsubscribed, when
/// `unbindAll()` drops it, and when its client is gone; what was buffered is still read then. Cancelling the task that
/// reads ends it at once. One that is released with its iterators,
/// as by leaving a loop over it, costs nothing from then on; one that is kept unread goes on to buffer, and
/// with ``PusherBuffering/suspending`` holds its client, so release or ``cancel()`` it.
///
/// A sequence is for one reader: several would share its elements.
public struct PusherStream<Value: Sendable>: AsyncSequence, Sendable {
  /// An event, or word of missing ones.
  public typealias Element = PusherStreamElement<Value>
  /// It ends, but never fails.
  public typealias Failure = Never
  /// What happens to events that come faster than they are read.
  public typealias Buffering = PusherBuffering

  private let reader: StreamReader<Value>

  init(_ reader: StreamReader<Value>) {
    self.reader = reader
  }

  /// How many events were dropped in all because the buffer was full; the elements say where.
  public var droppedCount: Int { reader.queue.droppedCount }

  /// Ends the sequence and drops what is buffered, also while it is read.
  public func cancel() {
    reader.queue.cancel()
  }

  /// A reader of the elements; its `next()` gives `nil` at the end and when the task is cancelled.
  public func makeAsyncIterator() -> Iterator {
    Iterator(reader: reader)
  }

  /// Reads a ``PusherStream``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: StreamReader<Value>

    /// The next element, once there is one.
    public func next() async -> PusherStreamElement<Value>? {
      await reader.queue.next()
    }

    /// The same on the caller's actor.
    public func next(
      isolation actor: isolated (any Actor)?
    ) async -> PusherStreamElement<Value>? {
      await reader.queue.next(isolation: actor)
    }
  }
}

/// The events of a client, a channel or a user as a sequence; see ``PusherEventBindings/events(buffering:)``.
public typealias PusherEvents = PusherStream<PusherEvent>

/// The events of an ``EventSource`` as a sequence; see ``EventSource/messages(buffering:)``.
public typealias EventSourceMessages = PusherStream<EventSourceMessage>

/// Ends the sequence when its last reader is released.
final class StreamReader<Value: Sendable>: Sendable {
  let queue: EventQueue<Value>

  init(_ queue: EventQueue<Value>) {
    self.queue = queue
  }

  deinit {
    queue.cancel()
  }

  /// The events alone, for what is never lost.
  var events: AsyncStream<Value> {
    AsyncStream { [self] in
      while let element = await queue.next() {
        if let event = element.event { return event }
      }
      return nil
    }
  }
}
