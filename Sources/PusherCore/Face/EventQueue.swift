internal import Synchronization

/// Where the callback thread puts the events of a sequence; it does not keep the sequence alive.
///
/// The standard library's `AsyncStream` can neither hold its producer back nor say where something was dropped.
final class EventQueue<Value: Sendable>: Sendable {
  typealias Element = PusherStreamElement<Value>

  private struct Status {
    var buffer: EventBuffer<Value>
    /// Who waits while the buffer is empty: one reader, or several that share the elements.
    var waiting: [CheckedContinuation<Element?, Never>] = []
    var isOver = false
    var isHolding = false

    /// The next element, and whether the reader has caught up with it.
    mutating func take() -> (Element?, Bool) {
      guard let element = buffer.take() else { return (nil, false) }
      guard isHolding, buffer.hasRoom else { return (element, false) }
      isHolding = false
      return (element, true)
    }
  }

  private let state: Locked<Status>
  private let whenHeld: @Sendable (Bool) -> Void
  private let whenCancelled: @Sendable (ObjectIdentifier) -> Void

  /// - Parameters:
  ///   - whenHeld: Called when the reader falls behind so far that nothing should be read, and when that is over.
  ///   - whenCancelled: Called with the queue's identity when there is no reader any more.
  init(
    _ buffering: PusherBuffering, whenHeld: @escaping @Sendable (Bool) -> Void = { _ in },
    whenCancelled: @escaping @Sendable (ObjectIdentifier) -> Void
  ) {
    state = Locked(Status(buffer: EventBuffer(buffering)))
    self.whenHeld = whenHeld
    self.whenCancelled = whenCancelled
  }

  var droppedCount: Int { state.withLock { $0.buffer.droppedCount } }

  // MARK: The callback thread

  func add(_ event: Value) {
    change { $0.add(event) }
  }

  func add(_ gap: PusherGap) {
    change { $0.add(gap) }
  }

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

  /// No further event comes; those that wait are still read.
  func finish() {
    end(dropping: false)
  }

  // MARK: The reader

  /// There is no reader any more.
  func cancel() {
    if end(dropping: true) { whenCancelled(ObjectIdentifier(self)) }
  }

  /// Answers whether it was going on.
  @discardableResult
  private func end(dropping: Bool) -> Bool {
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

  /// The next element, once there is one; `nil` at the end, and when the task is or gets cancelled.
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
      cancel()
    }
  }

  private func wait(_ reader: CheckedContinuation<Element?, Never>) {
    let (isOver, element, hasCaughtUp) = state.withLock { state -> (Bool, Element?, Bool) in
      // An element may have come meanwhile.
      let (element, hasCaughtUp) = state.take()
      let isOver = element != nil || state.isOver
      if !isOver { state.waiting.append(reader) }
      return (isOver, element, hasCaughtUp)
    }
    if hasCaughtUp { whenHeld(false) }
    if isOver { reader.resume(returning: element) }
  }
}

/// Counts the readers that are behind: while there is one, a client's socket is left unread.
final class ReadingHold: Sendable {
  private let holders = Atomic<Int>(0)

  /// Read for every event.
  @inline(__always)
  var isHeld: Bool { holders.load(ordering: .relaxed) > 0 }

  /// One more is behind, or one less; answers whether none is any more.
  func change(_ isBehind: Bool) -> Bool {
    holders.wrappingAdd(isBehind ? 1 : -1, ordering: .relaxed).newValue == 0 && !isBehind
  }
}
