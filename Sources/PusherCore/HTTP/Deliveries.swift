/// Items for one receiver, each sent until the receiver takes it.
///
/// Decides the time of each try, and when to give an item up. A receiver can ask for a longer wait
/// than the ``Backoff``, up to its ceiling. Does no I/O: time and random numbers are arguments, and
/// the owner sends. Everything is inlinable, as in ``Fifo``.
@usableFromInline
package struct Deliveries<Item> {
  @usableFromInline
  package struct Delivery {
    @usableFromInline internal let entry: LaneQueue<Item>.Entry
    @usableFromInline package internal(set) var tries = 1
    @usableFromInline package internal(set) var reason = ""
    /// No try begins from then on; `nil` for no limit.
    @usableFromInline internal let patienceEnds: Instant?
    /// Time to give the item up, even during a try; `nil` for never.
    @usableFromInline internal var deadline: Instant?
    @usableFromInline internal var nextTry: Instant?

    @inlinable internal init(_ entry: LaneQueue<Item>.Entry, until end: Instant?) {
      self.entry = entry
      (patienceEnds, deadline) = (end, end)
    }

    /// Position in the order of arrival, from 1.
    @inlinable package var number: Int { entry.number }
    @inlinable package var item: Item { entry.item }
    @inlinable package var isUnderWay: Bool { nextTry == nil }
  }

  @usableFromInline internal var queue: LaneQueue<Item>
  @usableFromInline internal var open: [Int: Delivery] = [:]
  @usableFromInline internal let backoff: Backoff
  @usableFromInline internal let patience: Duration?
  @usableFromInline internal let cutsTries: Bool

  /// - Parameters:
  ///   - jobs: Maximum number of items in delivery, including waits for a retry.
  ///   - patience: Maximum time from an item's first try to its last one; `nil` for no limit.
  ///   - cutsTries: Gives an item up at that time even during a try.
  @inlinable package init(jobs: Int, backoff: Backoff, patience: Duration?, cutsTries: Bool = false)
  {
    queue = LaneQueue(jobs: jobs)
    (self.backoff, self.patience, self.cutsTries) = (backoff, patience, cutsTries)
  }

  @inlinable package var count: Int { queue.count }
  @inlinable package var isEmpty: Bool { queue.isEmpty }
  @inlinable package var openCount: Int { queue.waiting + queue.running }
  /// Size of the items before their first try, in bytes.
  @inlinable package var waitingCost: Int { queue.cost }
  @inlinable package var openCost: Int { open.values.reduce(queue.cost) { $0 + $1.entry.cost } }
  @inlinable package var isAnyUnderWay: Bool { open.values.contains(where: \.isUnderWay) }

  /// Time of the next call of ``next(at:mayStart:)`` or ``overdue(at:)``; new items aside.
  @inlinable package var deadline: Instant? {
    open.values.reduce(nil) {
      Instant.earliest($0, Instant.earliest($1.nextTry, cutsTries ? $1.deadline : nil))
    }
  }

  /// Adds an item; items of one lane are sent in order, one at a time.
  @inlinable package mutating func add(_ item: Item, lane: String = "", cost: Int) {
    queue.add(item, lane: lane, cost: cost)
  }

  /// Starts a try and returns its item: one whose wait is over, or a new one if it `mayStart`.
  @inlinable package mutating func next(
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
    let delivery = Delivery(entry, until: patience.map(now.advanced))
    open[entry.number] = delivery
    return delivery
  }

  /// Records a failed try; returns the wait before the next one, or `nil` to give the item up.
  @inlinable package mutating func failed(
    _ number: Int, _ reason: String, retryAfter: Duration? = nil, at now: Instant, random: UInt64
  ) -> Duration? {
    open[number]?.reason = reason
    let wait = wait(number, retryAfter, at: now, random)
    guard let end = open[number]?.patienceEnds, now.advanced(by: wait) >= end else { return wait }
    return nil
  }

  @inlinable internal mutating func wait(
    _ number: Int, _ retryAfter: Duration?, at now: Instant, _ random: UInt64
  ) -> Duration {
    let attempt = (open[number]?.tries ?? 1) - 1
    let asked = min(retryAfter ?? .zero, backoff.ceiling)
    let wait = max(backoff.delay(attempt: attempt, random: random), asked)
    open[number]?.nextTry = now.advanced(by: wait)
    return wait
  }

  /// Returns an item to give up now, with its try if one is running.
  @inlinable package func overdue(at now: Instant) -> Delivery? {
    open.values.first { delivery in delivery.deadline.map { $0 <= now } ?? false }
  }

  /// Retries an item that could not be kept elsewhere; the next failure gives it up again.
  @inlinable package mutating func keep(_ number: Int, at now: Instant, random: UInt64) {
    open[number]?.deadline = nil
    _ = wait(number, nil, at: now, random)
  }

  @inlinable package mutating func retrySoon(at now: Instant) {
    for (number, delivery) in open where !delivery.isUnderWay { open[number]?.nextTry = now }
  }

  @inlinable package mutating func end(_ number: Int) {
    if let delivery = open.removeValue(forKey: number) { queue.end(delivery.entry) }
  }

  /// Removes and returns all items in the order of arrival.
  @inlinable package mutating func takeAll() -> [Item] {
    let begun = open.values.map(\.entry)
    for entry in begun { end(entry.number) }
    return (begun + queue.takeWaiting()).sorted { $0.number < $1.number }.map(\.item)
  }
}
