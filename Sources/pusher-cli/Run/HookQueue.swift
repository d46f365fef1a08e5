internal import PusherCore

/// The events that wait for a command or a receiver, and which of them may start now.
///
/// Events of one lane start in the order in which they came, and never two of them at once; lanes take turns. It is pure:
/// its owner starts the work and says when it has ended.
struct HookQueue<Event> {
  /// One event that waits or runs.
  struct Entry {
    /// From 1, in the order in which they came.
    let number: Int
    let lane: String
    /// How many bytes it takes while it waits.
    let cost: Int
    let event: Event
  }

  /// The events of one lane that wait.
  private struct Lane {
    var entries = Line<Entry>()
    var isRunning = false
  }

  /// How many may run at once; one means that all are of one lane.
  let jobs: Int
  private var lanes = NameTable<Lane>()
  /// Lanes whose first event may start.
  private var turns = Line<String>()
  /// How many have come.
  private(set) var count = 0
  private(set) var waiting = 0
  private(set) var running = 0
  /// What waits, in bytes.
  private(set) var cost = 0

  init(jobs: Int) {
    self.jobs = jobs
  }

  var isEmpty: Bool { waiting == 0 && running == 0 }

  /// The event that may start now.
  var first: Entry? {
    guard running < jobs, let lane = turns.first else { return nil }
    return lanes[lane]?.entries.first
  }

  /// Adds an event at the end of its lane.
  mutating func add(_ event: Event, lane: String, cost: Int) {
    count += 1
    waiting += 1
    self.cost += cost
    let lane = jobs == 1 ? "" : lane
    let entry = Entry(number: count, lane: lane, cost: cost, event: event)
    if lanes[lane] == nil { turns.append(lane) }
    lanes[lane, default: Lane()].entries.append(entry)
  }

  /// Counts an event that will never be handled, so that those handled stay fewer than those that came.
  mutating func pass() {
    count += 1
  }

  /// Takes ``first`` as running.
  mutating func start() -> Entry? {
    guard running < jobs, let lane = turns.takeFirst() else { return nil }
    lanes[lane, default: Lane()].isRunning = true
    let entry = lanes[lane, default: Lane()].entries.takeFirst()
    running += 1
    waiting -= 1
    cost -= entry?.cost ?? 0
    return entry
  }

  /// The command of a running event has ended.
  mutating func end(_ entry: Entry) {
    running -= 1
    lanes[entry.lane, default: Lane()].isRunning = false
    if lanes[entry.lane]?.entries.first == nil {
      lanes.removeValue(of: entry.lane)
    } else {
      turns.append(entry.lane)
    }
  }

  /// A running event could not start after all, and is the first to start again.
  mutating func putBack(_ entry: Entry) {
    running -= 1
    waiting += 1
    cost += entry.cost
    lanes[entry.lane, default: Lane()].isRunning = false
    lanes[entry.lane, default: Lane()].entries.prepend(entry)
    turns.prepend(entry.lane)
  }

  /// Forgets what waits, and answers how many events that were.
  mutating func drop() -> Int {
    defer { (waiting, cost) = (0, 0) }
    lanes.removeAll()
    turns = Line()
    return waiting
  }

  /// Forgets what waits, and answers it in the order in which it came.
  mutating func takeWaiting() -> [Entry] {
    let entries = lanes.elements.flatMap(\.entries.elements).sorted { $0.number < $1.number }
    _ = drop()
    return entries
  }
}

/// A line in which the first leaves in constant time.
private struct Line<Element> {
  /// Those who have left are empty places until there are many.
  private var places: [Element?] = []
  private var start = 0

  var first: Element? { start < places.count ? places[start] : nil }
  var elements: [Element] { places.compactMap(\.self) }

  mutating func append(_ element: Element) {
    places.append(element)
  }

  mutating func prepend(_ element: Element) {
    if start == 0 { return places.insert(element, at: 0) }
    start -= 1
    places[start] = element
  }

  mutating func takeFirst() -> Element? {
    guard start < places.count else { return nil }
    let element = places[start]
    places[start] = nil
    start += 1
    if start * 2 > places.count {
      places.removeFirst(start)
      start = 0
    }
    return element
  }
}
