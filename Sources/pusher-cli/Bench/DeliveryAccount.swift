internal import PusherCore

/// The events that each subscriber got: a bit for each event and subscriber.
///
/// Memory is fixed at the start; ``BenchLoad`` has its limit.
struct DeliveryAccount {
  enum Arrival: Equatable {
    case new
    /// The subscriber already has the event.
    case doubled
  }

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

  /// Notes a delivery; `number` must be an event of the plan.
  mutating func note(_ number: Int, by subscriber: Int) -> Arrival {
    let word = subscriber * words + number / 64
    let bit: UInt64 = 1 << UInt64(number % 64)
    guard bits[word] & bit == 0 else {
      doubled += 1
      return .doubled
    }
    bits[word] |= bit
    delivered += 1
    if number < next[subscriber] { outOfOrder += 1 } else { next[subscriber] = number + 1 }
    return .new
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
