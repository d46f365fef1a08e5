/// A queue of work in lanes.
///
/// Items of one lane start in order, one at a time; lanes take turns. The queue is pure: its owner
/// starts the work and reports its end.
package struct LaneQueue<Item> {
  package struct Entry {
    /// Counted from 1, in the order of arrival.
    package let number: Int
    package let lane: String
    package let cost: Int
    package let item: Item
  }

  /// Maximum number of running items; with one job, all items share one lane.
  package let jobs: Int
  /// Includes lanes that only have a running item.
  private var lanes = NameTable<Fifo<Entry>>()
  /// Lanes whose first item may start.
  private var turns = Fifo<String>()
  package private(set) var count = 0
  package private(set) var waiting = 0
  package private(set) var running = 0
  /// In bytes.
  package private(set) var cost = 0

  package init(jobs: Int) { self.jobs = jobs }

  package var isEmpty: Bool { waiting == 0 && running == 0 }

  package var first: Entry? {
    guard running < jobs, let lane = turns.first else { return nil }
    return lanes[lane]?.first
  }

  package mutating func add(_ item: Item, lane: String = "", cost: Int) {
    count += 1
    waiting += 1
    self.cost += cost
    let lane = jobs == 1 ? "" : lane
    let entry = Entry(number: count, lane: lane, cost: cost, item: item)
    if lanes[lane] == nil { turns.append(lane) }
    lanes[lane, default: Fifo()].append(entry)
  }

  /// Counts an item that will never start.
  package mutating func pass() { count += 1 }

  /// Marks ``first`` as running.
  package mutating func start() -> Entry? {
    guard running < jobs, let lane = turns.popFirst() else { return nil }
    let entry = lanes[lane]?.popFirst()
    running += 1
    waiting -= 1
    cost -= entry?.cost ?? 0
    return entry
  }

  package mutating func end(_ entry: Entry) {
    running -= 1
    if lanes[entry.lane]?.isEmpty != false {
      lanes.removeValue(of: entry.lane)
    } else {
      turns.append(entry.lane)
    }
  }

  /// Makes a running item wait again, as the first one.
  package mutating func putBack(_ entry: Entry) {
    running -= 1
    waiting += 1
    cost += entry.cost
    lanes[entry.lane, default: Fifo()].prepend(entry)
    turns.prepend(entry.lane)
  }

  package mutating func drop() -> Int {
    defer { (waiting, cost) = (0, 0) }
    lanes.removeAll()
    turns = Fifo()
    return waiting
  }

  /// Items are in the order of arrival.
  package mutating func takeWaiting() -> [Entry] {
    let entries = lanes.elements.joined().sorted { $0.number < $1.number }
    _ = drop()
    return entries
  }
}
