/// Elements that wait for the reader of a sequence, with marks for losses and gaps.
struct EventBuffer<Value: Sendable>: Sendable {
  typealias Element = PusherFeedElement<Value>

  /// A further gap extends the last one, so that reconnects cannot fill memory.
  private static var gapLimit: Int { 16 }

  private let kind: PusherBuffering.Kind
  /// Losses and gaps before all elements of `queue`.
  private var front: [Element] = []
  private var queue = Fifo<Element>()
  private var eventCount = 0
  private var gapCount = 0
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
    while let element = queue.popFirst() {
      guard case .event = element else {
        front.append(element)
        continue
      }
      eventCount -= 1
      droppedCount += 1
      if case .lost(let count)? = front.last {
        front[front.count - 1] = .lost(count + 1)
      } else {
        front.append(.lost(1))
      }
      return
    }
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
    for index in queue.indices.reversed() {
      guard case .gap(let former) = queue[index] else { continue }
      queue[index] = .gap(PusherGap(from: former.from, to: gap.to))
      return
    }
    for index in front.indices.reversed() {
      guard case .gap(let former) = front[index] else { continue }
      front[index] = .gap(PusherGap(from: former.from, to: gap.to))
      return
    }
  }

  mutating func take() -> Element? {
    let element = front.isEmpty ? queue.popFirst() : front.removeFirst()
    switch element {
    case .event: eventCount -= 1
    case .gap: gapCount -= 1
    case .lost, nil: break
    }
    return element
  }

  mutating func removeAll() {
    front = []
    queue = Fifo()
    (eventCount, gapCount) = (0, 0)
  }
}
