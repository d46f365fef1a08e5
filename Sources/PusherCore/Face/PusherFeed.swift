/// An event, or a mark at the place where events are missing; see <doc:MissingEvents>.
public enum PusherFeedElement<Value: Sendable>: Sendable {
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

extension PusherFeedElement: Equatable where Value: Equatable {}

/// Time without a connection, in which events may have been missed; see <doc:MissingEvents>.
///
/// After a reconnect, a client first subscribes to all channels again. Then it reports the gap to
/// its own feeds and to those of the affected channels. Some new events may come before it: compare
/// their ``PusherEvent/timeReceived``. An ``EventSource`` reports the gap before further events. A
/// first stream has a gap without length if a Mercure hub does not find the requested event. There
/// is no gap after `disconnect()`.
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

/// Events of a client, a channel, a user or an ``EventSource``, with marks where events are
/// missing.
///
/// A feed begins, buffers and ends as a ``PusherStream`` does, and its elements say more: an event,
/// a loss at its place, or a gap. Nobody else is told of a loss in a feed.
public struct PusherFeed<Value: Sendable>: AsyncSequence, Sendable {
  /// An event, a loss or a gap.
  public typealias Element = PusherFeedElement<Value>
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

  /// Reader of a ``PusherFeed``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: StreamReader<Value>

    /// Returns the next element, waiting if necessary.
    public func next() async -> PusherFeedElement<Value>? { await reader.queue.next() }

    /// Returns the next element on the caller's actor.
    public func next(isolation actor: isolated (any Actor)?) async -> PusherFeedElement<Value>? {
      await reader.queue.next(isolation: actor)
    }
  }
}

/// Events, losses and gaps of a client, a channel or a user; see
/// ``PusherEventBindings/feed(buffering:)``.
public typealias PusherEventFeed = PusherFeed<PusherEvent>

/// Events, losses and gaps of an ``EventSource``; see ``EventSource/feed(buffering:)``.
public typealias EventSourceFeed = PusherFeed<EventSourceMessage>
