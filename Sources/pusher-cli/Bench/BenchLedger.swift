internal import PusherCore

/// Everything that was sent and that came, and how late: account, delays and rows a second.
///
/// The sender and all subscribers share it, on the loop's thread.
final class BenchLedger {
  let plan: BenchPlan
  private let message: BenchMessage
  private(set) var account: DeliveryAccount
  /// The accepted events, by channel.
  private(set) var accepted: [EventSet]
  private(set) var figures = EventFigures()
  var seconds = BenchSeconds()
  /// Beginning of the plan; `nil` before it.
  ///
  /// Deliveries before it are of another run.
  var begin: Instant? { didSet { origin = begin } }
  /// Time of the first row; connections that are made before the plan begins have no row.
  var origin: Instant?

  init(plan: BenchPlan, message: BenchMessage, subscribers: Int) {
    (self.plan, self.message) = (plan, message)
    account = DeliveryAccount(subscribers: subscribers, events: plan.longestChannel)
    accepted = (0..<plan.channels).map { _ in EventSet(events: plan.longestChannel) }
  }

  // MARK: Deliveries

  /// Takes a message for a subscriber; returns false if it is no event of this run.
  ///
  /// - Parameters:
  ///   - isData: True for the data alone, of an event that was decrypted.
  ///   - subscriber: Number of the subscriber.
  func take(
    _ view: ByteView, isData: Bool = false, for subscriber: Int, on channel: Int, at now: Instant
  ) -> Bool {
    switch message.read(view, isData: isData) {
    case .foreign: return false
    case .wrong: figures.wrong += 1
    case .event(let name): note(name.number, name, subscriber, channel, at: now)
    case .member(let name, let hasLeft):
      note(hasLeft ? name.number + 1 : name.number, name, subscriber, channel, at: now)
    }
    return true
  }

  private func note(
    _ number: Int, _ name: BenchMessage.Name, _ subscriber: Int, _ channel: Int, at now: Instant
  ) {
    // The label of a member who leaves has the time of the join.
    guard let begin, name.channel == channel, let call = plan.call(of: number, on: channel),
      number != name.number || plan.microseconds(of: call) == name.microseconds
    else {
      figures.wrong += 1
      return
    }
    figures.lastDelivery = now
    guard account.note(number, by: subscriber) else { return }
    let elapsed = begin.duration(to: now)
    let delay = elapsed - plan.time(of: call)
    figures.delays.record(delay)
    seconds.noteDelivery(at: elapsed, after: delay)
  }

  /// Elapsed time of the plan, or of a run without events; zero before the beginning.
  func elapsed(at now: Instant) -> Duration { origin?.duration(to: now) ?? .zero }

  func noteConnected(at now: Instant) {
    if origin != nil { seconds.count(\.connected, at: elapsed(at: now)) }
  }

  func noteError(at now: Instant) {
    if origin != nil { seconds.count(\.errors, at: elapsed(at: now)) }
  }

  // MARK: Calls

  /// Called when a call is handed to the network.
  func noteBegin(_ call: Int, at now: Instant) {
    figures.late.record(elapsed(at: now) - plan.time(of: call))
  }

  func noteAccepted(_ call: Int, at now: Instant) {
    figures.lastAccepted = now
    for number in plan.numbers(of: call) { accepted[plan.channel(of: call)].insert(number) }
    figures.sent += plan.batch
    seconds.count(\.sent, plan.batch, at: plan.time(of: call))
  }

  func noteFailed(
    _ call: Int, _ code: String, _ reason: String, _ cause: Cause? = nil, at now: Instant
  ) {
    figures.failed += plan.batch
    seconds.count(\.failed, plan.batch, at: plan.time(of: call))
    noteError(code, reason, cause, at: now)
  }

  /// Notes an error that is about no single call.
  func noteError(_ code: String, _ reason: String, _ cause: Cause?, at now: Instant) {
    figures.errors.note(code, reason, cause)
    noteError(at: now)
  }
}

/// The events that each subscriber got: a bit for each event and subscriber.
///
/// Memory is fixed at the start; ``BenchLoad`` has its limit.
struct DeliveryAccount {
  private let words: Int
  /// One row of ``words`` words for each subscriber.
  private var bits: [UInt64]
  /// The number after the highest that came, by subscriber.
  private var next: [Int]
  private(set) var delivered = 0
  private(set) var doubled = 0
  /// Deliveries that came after a later event of the same channel.
  private(set) var outOfOrder = 0

  init(subscribers: Int, events: Int) {
    words = (max(events, 1) + 63) / 64
    bits = [UInt64](repeating: 0, count: subscribers * words)
    next = [Int](repeating: 0, count: subscribers)
  }

  /// Notes a delivery; returns false if the subscriber already has the event.
  ///
  /// - Parameter number: Must be an event of the plan.
  mutating func note(_ number: Int, by subscriber: Int) -> Bool {
    let word = subscriber * words + number / 64
    let bit: UInt64 = 1 << UInt64(number % 64)
    guard bits[word] & bit == 0 else {
      doubled += 1
      return false
    }
    bits[word] |= bit
    delivered += 1
    if number < next[subscriber] { outOfOrder += 1 } else { next[subscriber] = number + 1 }
    return true
  }

  /// Returns the number of accepted events that a subscriber lacks, and calls `body` with each.
  func missing(
    by subscriber: Int, of accepted: EventSet, _ body: (_ number: Int) -> Void
  ) -> Int {
    var count = 0
    for (index, wanted) in accepted.words.prefix(words).enumerated() {
      var rest = wanted & ~bits[subscriber * words + index]
      count += rest.nonzeroBitCount
      while rest != 0 {
        body(index * 64 + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
    }
    return count
  }

  /// Returns the number of accepted events that a subscriber has.
  func received(by subscriber: Int, of accepted: EventSet) -> Int {
    accepted.words.prefix(words).enumerated().reduce(0) { sum, word in
      sum + (word.element & bits[subscriber * words + word.offset]).nonzeroBitCount
    }
  }
}

/// A set of the numbers of one channel's events.
struct EventSet: Equatable {
  fileprivate(set) var words: [UInt64]
  private(set) var count = 0

  /// - Parameter events: Numbers are below this.
  init(events: Int) { words = [UInt64](repeating: 0, count: (max(events, 1) + 63) / 64) }

  mutating func insert(_ number: Int) {
    let bit: UInt64 = 1 << UInt64(number % 64)
    guard words[number / 64] & bit == 0 else { return }
    words[number / 64] |= bit
    count += 1
  }
}
