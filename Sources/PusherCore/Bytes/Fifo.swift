/// A queue: first in, first out.
///
/// Adding and removing take constant time on average, and a removed element is released at once.
/// Everything is inlinable: in other modules, unspecialised code costs several times as much.
@usableFromInline
package struct Fifo<Element> {
  /// The oldest elements, in reverse order.
  @usableFromInline internal var front: [Element] = []
  @usableFromInline internal var back: [Element] = []

  /// Empty arrays above this capacity are released, so that a burst does not hold memory for good.
  @inlinable internal static var keptCapacity: Int { 1024 }

  @inlinable package init() {}

  @inlinable package mutating func append(_ element: Element) { back.append(element) }
  @inlinable package mutating func prepend(_ element: Element) { front.append(element) }

  @inlinable package mutating func popFirst() -> Element? {
    if front.isEmpty {
      guard back.count > 1 else { return back.popLast() }
      // Both move the elements; a copy of each would cost more than the rest of the queue.
      swap(&front, &back)
      front.reverse()
    }
    defer { if front.isEmpty, front.capacity > Self.keptCapacity { front = [] } }
    return front.popLast()
  }

  @inlinable package mutating func takeAll() -> [Element] {
    defer { self = Fifo() }
    return Array(self)
  }
}

extension Fifo: RandomAccessCollection, MutableCollection {
  @inlinable package var startIndex: Int { 0 }
  @inlinable package var endIndex: Int { front.count + back.count }

  @inlinable package subscript(place: Int) -> Element {
    get { place < front.count ? front[front.count - 1 - place] : back[place - front.count] }
    set {
      if place < front.count {
        front[front.count - 1 - place] = newValue
      } else {
        back[place - front.count] = newValue
      }
    }
  }
}

extension Fifo: Sendable where Element: Sendable {}

extension Array {
  /// Removes and returns all elements.
  @inlinable package mutating func takeAll() -> [Element] {
    guard !isEmpty else { return [] }
    defer { removeAll(keepingCapacity: true) }
    return self
  }
}

/// Elements by their times, the earliest first; adding and removing take logarithmic time.
struct TimeHeap<Element> {
  private var entries: [(time: Instant, element: Element)] = []

  var first: (time: Instant, element: Element)? { entries.first }

  mutating func add(_ element: Element, at time: Instant) {
    var place = entries.count
    entries.append((time, element))
    while place > 0, entries[place].time < entries[(place - 1) / 2].time {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func removeFirst() {
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < entries.count && entries[child].time < entries[least].time {
        least = child
      }
      if least == place { return }
      entries.swapAt(place, least)
      place = least
    }
  }
}

extension TimeHeap: Sendable where Element: Sendable {}

/// A queue of work in lanes.
///
/// Items of one lane start in order, one at a time; lanes take turns. The queue is pure: its owner
/// starts the work and reports its end. Everything is inlinable, as in ``Fifo``.
@usableFromInline
package struct LaneQueue<Item> {
  @usableFromInline
  package struct Entry {
    /// Counted from 1, in the order of arrival.
    @usableFromInline package let number: Int
    @usableFromInline package let lane: String
    @usableFromInline package let cost: Int
    @usableFromInline package let item: Item

    @inlinable internal init(number: Int, lane: String, cost: Int, item: Item) {
      (self.number, self.lane, self.cost, self.item) = (number, lane, cost, item)
    }
  }

  /// Maximum number of running items; with one job, all items share one lane.
  @usableFromInline package let jobs: Int
  /// Includes lanes that only have a running item.
  @usableFromInline internal var lanes = NameTable<Fifo<Entry>>()
  /// Lanes whose first item may start.
  @usableFromInline internal var turns = Fifo<String>()
  @usableFromInline package internal(set) var count = 0
  @usableFromInline package internal(set) var waiting = 0
  @usableFromInline package internal(set) var running = 0
  /// In bytes.
  @usableFromInline package internal(set) var cost = 0

  @inlinable package init(jobs: Int) { self.jobs = jobs }

  @inlinable package var isEmpty: Bool { waiting == 0 && running == 0 }

  @inlinable package var first: Entry? {
    guard running < jobs, let lane = turns.first else { return nil }
    return lanes[lane]?.first
  }

  @inlinable package mutating func add(_ item: Item, lane: String = "", cost: Int) {
    count += 1
    waiting += 1
    self.cost += cost
    let lane = jobs == 1 ? "" : lane
    let entry = Entry(number: count, lane: lane, cost: cost, item: item)
    if lanes[lane] == nil { turns.append(lane) }
    lanes[lane, default: Fifo()].append(entry)
  }

  /// Counts an item that will never start.
  @inlinable package mutating func pass() { count += 1 }

  /// Marks ``first`` as running.
  @inlinable package mutating func start() -> Entry? {
    guard running < jobs, let lane = turns.popFirst() else { return nil }
    let entry = lanes[lane]?.popFirst()
    running += 1
    waiting -= 1
    cost -= entry?.cost ?? 0
    return entry
  }

  @inlinable package mutating func end(_ entry: Entry) {
    running -= 1
    if lanes[entry.lane]?.isEmpty != false {
      lanes.removeValue(of: entry.lane)
    } else {
      turns.append(entry.lane)
    }
  }

  /// Makes a running item wait again, as the first one.
  @inlinable package mutating func putBack(_ entry: Entry) {
    running -= 1
    waiting += 1
    cost += entry.cost
    lanes[entry.lane, default: Fifo()].prepend(entry)
    turns.prepend(entry.lane)
  }

  @inlinable package mutating func drop() -> Int {
    defer { (waiting, cost) = (0, 0) }
    lanes.removeAll()
    turns = Fifo()
    return waiting
  }

  /// Items are in the order of arrival.
  @inlinable package mutating func takeWaiting() -> [Entry] {
    let entries = lanes.elements.joined().sorted { $0.number < $1.number }
    _ = drop()
    return entries
  }
}
