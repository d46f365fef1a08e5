internal import Synchronization

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

/// An event, or a mark at the place where events are missing; see <doc:MissingEvents>.
public enum PusherFeedElement<Value: Sendable>: Sendable {
  case event(Value)
  /// The reader was too slow, and this number of events was dropped here.
  case lost(Int)
  /// There was no connection; events of that time may be missing.
  case gap(PusherGap)
  /// There was no connection, and the server replayed this number of events: none is missing on the
  /// channel.
  case recovered(Int)

  /// The event; `nil` for a mark.
  public var event: Value? {
    if case .event(let event) = self { event } else { nil }
  }
}

extension PusherFeedElement: Equatable where Value: Equatable {}

/// Time without a connection, in which events may have been missed; see <doc:MissingEvents>.
///
/// After a reconnect, a client first subscribes to all channels again. Then it reports the gap to
/// its own feeds and to those of the affected channels. With ``PusherService/sockudo``, a channel
/// has a gap only if the server does not prove that it replayed every event. Some new events may
/// come before it: compare their ``PusherEvent/timeReceived``. An ``EventSource`` reports the gap
/// before further events. A first stream has a gap without length if a Mercure hub does not find
/// the requested event. There is no gap after `disconnect()`.
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

/// Queue from the callback thread to the reader of a sequence, without a reference to the latter.
///
/// `AsyncStream` has no backpressure and does not report where it dropped elements.
final class EventQueue<Value: Sendable>: Sendable {
  typealias Element = PusherFeedElement<Value>

  private struct Status {
    var buffer: EventBuffer<Value>
    /// Readers that wait for an element; several readers share the elements.
    var waiting: [CheckedContinuation<Element?, Never>] = []
    var isOver = false
    var isHolding = false

    /// Takes the next element, and whether reading may resume because of it.
    mutating func take() -> (Element?, Bool) {
      guard let element = buffer.take() else { return (nil, false) }
      guard isHolding, buffer.hasRoom else { return (element, false) }
      isHolding = false
      return (element, true)
    }
  }

  private let state: Locked<Status>
  private let whenHeld: @Sendable (Bool) -> Void
  private let whenDropped: @Sendable () -> Void
  private let whenCancelled: @Sendable (ObjectIdentifier, _ isTaskCancelled: Bool) -> Void

  /// - Parameters:
  ///   - whenHeld: Called with `true` when the buffer is full, with `false` when it has drained.
  ///   - whenDropped: Called on the callback thread for each event that was dropped.
  ///   - whenCancelled: Called with the queue's identity when the last reader is gone, and whether
  ///     its task was cancelled.
  init(
    _ buffering: PusherBuffering, whenHeld: @escaping @Sendable (Bool) -> Void = { _ in },
    whenDropped: @escaping @Sendable () -> Void = {},
    whenCancelled: @escaping @Sendable (ObjectIdentifier, _ isTaskCancelled: Bool) -> Void
  ) {
    state = Locked(Status(buffer: EventBuffer(buffering)))
    self.whenHeld = whenHeld
    self.whenDropped = whenDropped
    self.whenCancelled = whenCancelled
  }

  var droppedCount: Int { state.withLock { $0.buffer.droppedCount } }

  // MARK: The callback thread

  func add(_ event: Value) {
    var hasDropped = false
    change { hasDropped = $0.add(event) }
    if hasDropped { whenDropped() }
  }

  func add(_ gap: PusherGap) { change { $0.add(gap) } }

  func add(recovered count: Int) { change { $0.add(recovered: count) } }

  private func change(_ body: (inout EventBuffer<Value>) -> Void) {
    let (reader, element, isFull) = state.withLock {
      state -> (CheckedContinuation<Element?, Never>?, Element?, Bool) in
      guard !state.isOver else { return (nil, nil, false) }
      body(&state.buffer)
      if !state.waiting.isEmpty, let element = state.buffer.take() {
        return (state.waiting.removeFirst(), element, false)
      }
      guard state.buffer.isFull, !state.isHolding else { return (nil, nil, false) }
      state.isHolding = true
      return (nil, nil, true)
    }
    if isFull { whenHeld(true) }
    reader?.resume(returning: element)
  }

  /// Ends the sequence after the buffered elements.
  func finish() { end(dropping: false) }

  // MARK: The reader

  /// Ends the sequence and drops the buffered elements.
  ///
  /// A reader that leaves its loop is released in its task, which may be cancelled.
  func cancel(isTaskCancelled: Bool = Task.isCancelled) {
    if end(dropping: true) { whenCancelled(ObjectIdentifier(self), isTaskCancelled) }
  }

  @discardableResult private func end(dropping: Bool) -> Bool {
    let (readers, wasHolding, wasOver) = state.withLock { state in
      defer {
        (state.waiting, state.isOver, state.isHolding) = ([], true, false)
        if dropping { state.buffer.removeAll() }
      }
      return (state.waiting, state.isHolding, state.isOver)
    }
    if wasHolding { whenHeld(false) }
    for reader in readers { reader.resume(returning: nil) }
    return !wasOver
  }

  /// Returns the next element; `nil` at the end and when the task is cancelled.
  func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
    if Task.isCancelled {
      cancel()
      return nil
    }
    let (element, hasCaughtUp) = state.withLock { $0.take() }
    if hasCaughtUp { whenHeld(false) }
    if let element { return element }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { wait($0) }
    } onCancel: {
      cancel(isTaskCancelled: true)
    }
  }

  private func wait(_ reader: CheckedContinuation<Element?, Never>) {
    let (isOver, element, hasCaughtUp) = state.withLock { state -> (Bool, Element?, Bool) in
      // An element may have come in the meantime.
      let (element, hasCaughtUp) = state.take()
      let isOver = element != nil || state.isOver
      if !isOver { state.waiting.append(reader) }
      return (isOver, element, hasCaughtUp)
    }
    if hasCaughtUp { whenHeld(false) }
    if isOver { reader.resume(returning: element) }
  }
}

/// A client's or a source's readers that are too slow: the socket is not read while one is behind.
///
/// It also counts the events that the buffers of plain sequences dropped. The callback thread alone
/// counts and looks, but in closures that any thread may hold.
final class SlowReaders: Sendable {
  private let behind = Atomic<Int>(0)
  private let dropped = Atomic<Int>(0)

  @inline(__always) var areBehind: Bool { behind.load(ordering: .relaxed) > 0 }

  /// Adds or removes a slow reader, and returns whether the last one was removed.
  func change(_ isBehind: Bool) -> Bool {
    behind.wrappingAdd(isBehind ? 1 : -1, ordering: .relaxed).newValue == 0 && !isBehind
  }

  func noteDropped() { dropped.wrappingAdd(1, ordering: .relaxed) }

  /// Returns the number of dropped events since the last look.
  @inline(__always) fileprivate func takeDropped() -> Int {
    if dropped.load(ordering: .relaxed) == 0 { return 0 }
    return dropped.exchange(0, ordering: .relaxed)
  }
}

/// Elements that wait for the reader of a sequence, with marks for losses and gaps.
struct EventBuffer<Value: Sendable>: Sendable {
  typealias Element = PusherFeedElement<Value>

  /// A further gap extends the last one, so that reconnects cannot fill memory.
  private static var gapLimit: Int { 16 }

  private let kind: PusherBuffering.Kind
  private var queue = Fifo<Element>()
  private var eventCount = 0
  private var gapCount = 0
  private var recoveryCount = 0
  private(set) var droppedCount = 0

  init(_ buffering: PusherBuffering) { kind = buffering.kind }

  var isFull: Bool {
    if case .suspending(let limit) = kind { eventCount >= limit } else { false }
  }

  var hasRoom: Bool {
    if case .suspending(let limit) = kind { eventCount <= limit / 2 } else { true }
  }

  /// Returns whether an event was dropped: this one or the oldest.
  @discardableResult mutating func add(_ event: Value) -> Bool {
    let former = droppedCount
    switch kind {
    case .unbounded, .suspending: break
    case .newest(let limit): if eventCount >= limit { dropOldest() }
    case .oldest(let limit):
      guard eventCount < limit else {
        dropNewest()
        return true
      }
    }
    eventCount += 1
    queue.append(.event(event))
    return droppedCount != former
  }

  private mutating func dropOldest() {
    var marks: [Element] = []
    while let element = queue.popFirst() {
      if case .event = element { break }
      marks.append(element)
    }
    eventCount -= 1
    droppedCount += 1
    if case .lost(let count)? = marks.last {
      marks[marks.count - 1] = .lost(count + 1)
    } else {
      marks.append(.lost(1))
    }
    for mark in marks.reversed() { queue.prepend(mark) }
  }

  private mutating func dropNewest() {
    droppedCount += 1
    if case .lost(let count)? = queue.last {
      queue[queue.count - 1] = .lost(count + 1)
    } else {
      queue.append(.lost(1))
    }
  }

  mutating func add(_ gap: PusherGap) {
    guard gapCount >= Self.gapLimit else {
      gapCount += 1
      return queue.append(.gap(gap))
    }
    joinLast {
      if case .gap(let former) = $0 { .gap(PusherGap(from: former.from, to: gap.to)) } else { nil }
    }
  }

  /// Above the limit, the count joins the last one.
  mutating func add(recovered count: Int) {
    guard recoveryCount >= Self.gapLimit else {
      recoveryCount += 1
      return queue.append(.recovered(count))
    }
    joinLast { if case .recovered(let former) = $0 { .recovered(former + count) } else { nil } }
  }

  /// Replaces the last element for which `join` returns another one.
  private mutating func joinLast(_ join: (Element) -> Element?) {
    for index in queue.indices.reversed() {
      guard let joined = join(queue[index]) else { continue }
      queue[index] = joined
      return
    }
  }

  mutating func take() -> Element? {
    let element = queue.popFirst()
    switch element {
    case .event: eventCount -= 1
    case .gap: gapCount -= 1
    case .recovered: recoveryCount -= 1
    case .lost, nil: break
    }
    return element
  }

  mutating func removeAll() {
    queue = Fifo()
    (eventCount, gapCount) = (0, 0)
  }
}

/// Times for reports of dropped events: immediately, then at most one a second.
struct DropPace {
  static let interval = Duration.seconds(1)
  private var unreported = 0
  /// Earliest time of the next report; `nil` before the first one.
  private(set) var next: Instant?

  mutating func add(_ count: Int) { unreported += count }

  /// Time of the next report; `nil` if there is nothing to report.
  var deadline: Instant? { unreported > 0 ? next : nil }

  /// Returns the number of dropped events to report now; `nil` for no report.
  mutating func take(at now: Instant) -> Int? {
    guard unreported > 0, next.map({ $0 <= now }) ?? true else { return nil }
    next = now.advanced(by: Self.interval)
    return takeRest()
  }

  /// Returns the number of dropped events without a report, for the end; `nil` if there are none.
  mutating func takeRest() -> Int? {
    guard unreported > 0 else { return nil }
    defer { unreported = 0 }
    return unreported
  }
}

/// Reports the events that slow readers of plain sequences did not get, on the callback thread.
final class DropReporter {
  private let loop: EventLoop
  private let readers: SlowReaders
  private var pace = DropPace()
  private var timer: LoopTimer?
  private let report: (Int) -> Void

  init(_ loop: EventLoop, _ readers: SlowReaders, report: @escaping (Int) -> Void) {
    (self.loop, self.readers, self.report) = (loop, readers, report)
  }

  /// Reports what the last round dropped, or sets a timer for the report.
  func beginRound() {
    let count = readers.takeDropped()
    if count == 0 { return }
    pace.add(count)
    reportIfDue()
  }

  private func reportIfDue() {
    if let count = pace.take(at: loop.now) { report(count) }
    guard let deadline = pace.deadline else { return }
    if let timer {
      timer.deadline = deadline
    } else {
      timer = loop.schedule(after: loop.now.duration(to: deadline)) { [unowned self] in
        reportIfDue()
      }
    }
  }

  /// Reports the rest; the loop has no timer afterwards.
  func end() {
    pace.add(readers.takeDropped())
    loop.cancel(&timer)
    if let count = pace.takeRest() { report(count) }
  }
}
