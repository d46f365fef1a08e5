/// Items that are sent to one receiver until it takes them.
///
/// The machine decides which item is sent when, and when a failed one is sent again or given up. The wait after a
/// failure grows by a ``Backoff``; a receiver can ask for a longer one, up to the ceiling. The machine is pure: the time
/// and random numbers are arguments, and its owner sends.
package struct Deliveries<Item> {
  /// An item that is being sent, or waits for its next try.
  package struct Delivery {
    fileprivate let entry: LaneQueue<Item>.Entry
    /// Number of tries that have begun.
    package fileprivate(set) var tries = 1
    /// Why the last try failed.
    package fileprivate(set) var reason = ""
    /// The end of the owner's patience: no try begins from then on; `nil` for never.
    fileprivate let patienceEnds: Instant?
    /// The time at which the item is given up even during a try; `nil` for never.
    fileprivate var deadline: Instant?
    /// Start of the next try; `nil` during a try.
    fileprivate var nextTry: Instant?

    /// The item's place in the order of arrival, from 1.
    package var number: Int { entry.number }
    package var item: Item { entry.item }
    package var isUnderWay: Bool { nextTry == nil }
  }

  private var queue: LaneQueue<Item>
  private var open: [Int: Delivery] = [:]
  private let backoff: Backoff
  private let patience: Duration?
  private let cutsTries: Bool

  /// - Parameters:
  ///   - jobs: Maximum number of items that are sent or sent again at a time.
  ///   - backoff: The wait before each further try.
  ///   - patience: An item whose next try would begin this long after its first is given up; `nil` for never.
  ///   - cutsTries: Whether an item is given up at that time even during a try.
  package init(jobs: Int, backoff: Backoff, patience: Duration?, cutsTries: Bool = false) {
    queue = LaneQueue(jobs: jobs)
    (self.backoff, self.patience, self.cutsTries) = (backoff, patience, cutsTries)
  }

  /// Number of items that have come.
  package var count: Int { queue.count }
  package var isEmpty: Bool { queue.isEmpty }
  /// Number of items that have not ended.
  package var openCount: Int { queue.waiting + queue.running }
  /// Size of the items whose first try has not begun, in bytes.
  package var waitingCost: Int { queue.cost }
  /// Size of the items that have not ended, in bytes.
  package var openCost: Int { open.values.reduce(queue.cost) { $0 + $1.entry.cost } }
  package var isAnyUnderWay: Bool { open.values.contains(where: \.isUnderWay) }

  /// Time of the next call of ``next(at:mayStart:)`` or ``overdue(at:)``; new items aside.
  package var deadline: Instant? {
    open.values.reduce(nil) {
      Instant.earliest($0, Instant.earliest($1.nextTry, cutsTries ? $1.deadline : nil))
    }
  }

  /// Adds an item; items of one lane are sent in their order, one at a time.
  package mutating func add(_ item: Item, lane: String = "", cost: Int) {
    queue.add(item, lane: lane, cost: cost)
  }

  // MARK: Sending

  /// The item to send now: one whose wait is over, or a new one that `mayStart`; its try has begun.
  package mutating func next(
    at now: Instant, mayStart: (Item) -> Bool = { _ in true }
  ) -> Delivery? {
    if var delivery = open.values.first(where: { $0.nextTry.map { $0 <= now } ?? false }) {
      delivery.nextTry = nil
      delivery.tries += 1
      open[delivery.number] = delivery
      return delivery
    }
    guard let first = queue.first, mayStart(first.item), let entry = queue.start() else {
      return nil
    }
    let end = patience.map(now.advanced)
    let delivery = Delivery(entry: entry, patienceEnds: end, deadline: end)
    open[entry.number] = delivery
    return delivery
  }

  /// Takes the failure of a try, and returns the wait before the next one; `nil` when the item is to be given up.
  ///
  /// - Parameters:
  ///   - retryAfter: The wait that the receiver asks for.
  ///   - random: The place of the wait in its range.
  package mutating func failed(
    _ number: Int, _ reason: String, retryAfter: Duration? = nil, at now: Instant, random: UInt64
  ) -> Duration? {
    open[number]?.reason = reason
    let wait = wait(number, retryAfter, at: now, random)
    guard let end = open[number]?.patienceEnds, now.advanced(by: wait) >= end else { return wait }
    return nil
  }

  private mutating func wait(
    _ number: Int, _ retryAfter: Duration?, at now: Instant, _ random: UInt64
  ) -> Duration {
    let attempt = (open[number]?.tries ?? 1) - 1
    let asked = min(retryAfter ?? .zero, backoff.ceiling)
    let wait = max(backoff.delay(attempt: attempt, random: random), asked)
    open[number]?.nextTry = now.advanced(by: wait)
    return wait
  }

  /// An item that is to be given up now, with its try where it is under way.
  package func overdue(at now: Instant) -> Delivery? {
    open.values.first { delivery in delivery.deadline.map { $0 <= now } ?? false }
  }

  /// Tries an item again although it is to be given up, because it could not be kept elsewhere.
  ///
  /// The next failure gives it up again.
  package mutating func keep(_ number: Int, at now: Instant, random: UInt64) {
    open[number]?.deadline = nil
    _ = wait(number, nil, at: now, random)
  }

  /// Ends all waits.
  package mutating func hasten(at now: Instant) {
    for (number, delivery) in open where !delivery.isUnderWay { open[number]?.nextTry = now }
  }

  // MARK: The end

  /// An item was taken, or is given up.
  package mutating func end(_ number: Int) {
    if let delivery = open.removeValue(forKey: number) { queue.end(delivery.entry) }
  }

  /// Removes and returns all items in the order of arrival.
  package mutating func takeAll() -> [Item] {
    let begun = open.values.map(\.entry)
    for entry in begun { end(entry.number) }
    return (begun + queue.takeWaiting()).sorted { $0.number < $1.number }.map(\.item)
  }
}
