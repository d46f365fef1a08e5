/// What waits for the reader of a sequence, and where something is missing.
struct EventBuffer<Value: Sendable>: Sendable {
  typealias Element = PusherStreamElement<Value>

  /// How many gaps may wait; a further one prolongs the latest, so that a server cannot cost memory by hanging up.
  private static var gapLimit: Int { 16 }

  private let kind: PusherBuffering.Kind
  /// Word of what is missing before everything in `ring`.
  private var front: [Element] = []
  private var ring = Ring<Element>()
  private var eventCount = 0
  private var gapCount = 0
  /// How many events were dropped in all.
  private(set) var droppedCount = 0

  init(_ buffering: PusherBuffering) {
    kind = buffering.kind
  }

  /// Whether nothing more should be read for now.
  var isFull: Bool {
    if case .suspending(let limit) = kind { eventCount >= limit } else { false }
  }

  /// Whether there is so much room again that reading is worth while.
  var hasRoom: Bool {
    if case .suspending(let limit) = kind { eventCount <= limit / 2 } else { true }
  }

  mutating func add(_ event: Value) {
    switch kind {
    case .unbounded, .suspending: break
    case .newest(let limit): if eventCount >= limit { dropOldest() }
    case .oldest(let limit):
      guard eventCount < limit else { return dropNewest() }
    }
    eventCount += 1
    ring.append(.event(event))
  }

  private mutating func dropOldest() {
    while let element = ring.popFirst() {
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
    if case .lost(let count)? = ring.last {
      ring[ring.count - 1] = .lost(count + 1)
    } else {
      ring.append(.lost(1))
    }
  }

  mutating func add(_ gap: PusherGap) {
    guard gapCount >= Self.gapLimit else {
      gapCount += 1
      return ring.append(.gap(gap))
    }
    for index in stride(from: ring.count - 1, through: 0, by: -1) {
      guard case .gap(let former) = ring[index] else { continue }
      ring[index] = .gap(PusherGap(from: former.from, to: gap.to))
      return
    }
    for index in front.indices.reversed() {
      guard case .gap(let former) = front[index] else { continue }
      front[index] = .gap(PusherGap(from: former.from, to: gap.to))
      return
    }
  }

  /// The next element; `nil` when there is none.
  mutating func take() -> Element? {
    let element = front.isEmpty ? ring.popFirst() : front.removeFirst()
    switch element {
    case .event: eventCount -= 1
    case .gap: gapCount -= 1
    case .lost, nil: break
    }
    return element
  }

  /// Forgets what waits.
  mutating func removeAll() {
    front = []
    ring = Ring()
    (eventCount, gapCount) = (0, 0)
  }
}

/// A queue on an array that grows to what it once held.
struct Ring<Element: Sendable>: Sendable {
  /// As many as a power of two, or none.
  private var slots: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var last: Element? { count == 0 ? nil : slots[place(count - 1)] }

  subscript(index: Int) -> Element? {
    get { slots[place(index)] }
    set { slots[place(index)] = newValue }
  }

  private func place(_ index: Int) -> Int { (head &+ index) & (slots.count &- 1) }

  mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[place(count)] = element
    count += 1
  }

  private mutating func grow() {
    let former = (0..<count).map { slots[place($0)] }
    slots = former + Array(repeating: nil, count: max(count, 8))
    head = 0
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    defer {
      slots[head] = nil
      head = place(1)
      count -= 1
    }
    return slots[head]
  }
}
