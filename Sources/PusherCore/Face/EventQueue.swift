internal import Synchronization

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

/// Counts slow readers; a client's socket is not read while there is one.
final class ReadingHold: Sendable {
  private let holders = Atomic<Int>(0)

  @inline(__always) var isHeld: Bool { holders.load(ordering: .relaxed) > 0 }

  /// Adds or removes a slow reader, and returns whether the last one was removed.
  func change(_ isBehind: Bool) -> Bool {
    holders.wrappingAdd(isBehind ? 1 : -1, ordering: .relaxed).newValue == 0 && !isBehind
  }
}
