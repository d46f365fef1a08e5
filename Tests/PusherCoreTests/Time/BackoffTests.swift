import PusherCore
import TestSupport
import Testing

struct BackoffTests {
  private let backoff = Backoff(floor: .seconds(1), ceiling: .seconds(120))

  @Test func `the first wait lies between the floor and twice the floor`() {
    for (random, wait): (UInt64, Int) in [(0, 1000), (.max, 2000), (1 << 63, 1500)] {
      #expect(backoff.delay(attempt: 0, random: random) == .milliseconds(wait))
    }
  }

  @Test(
    arguments: [
      (0, 2), (1, 4), (2, 8), (3, 16), (4, 32), (5, 64), (6, 120), (7, 120), (39, 120), (40, 120),
      (61, 120), (62, 120), (63, 120), (64, 120), (1000, 120), (.max, 120),
      // An attempt below zero counts as the first.
      (-1, 2), (.min, 2),
    ] as [(Int, Int)])
  func `the upper end doubles up to the ceiling, the floor stays`(attempt: Int, upper: Int) {
    #expect(backoff.delay(attempt: attempt, random: 0) == .seconds(1))
    #expect(backoff.delay(attempt: attempt, random: .max) == .seconds(upper))
  }

  @Test func `a ceiling below the floor counts as the floor`() {
    let flat = Backoff(floor: .seconds(5), ceiling: .seconds(1))
    for random: UInt64 in [0, 1, .max] {
      #expect(flat.delay(attempt: 3, random: random) == .seconds(5))
    }
    var lowered = backoff
    lowered.ceiling = .zero
    #expect(lowered.delay(attempt: 3, random: .max) == .seconds(1))
  }

  @Test func `no bounds of a backoff overflow`() {
    let vast = Backoff(floor: .seconds(Int64.max), ceiling: .seconds(Int64.max))
    #expect(vast.delay(attempt: 50, random: .max) == .nanoseconds(Int64.max))
    let wide = Backoff(floor: .nanoseconds(1), ceiling: .seconds(Int64.max))
    #expect(wide.delay(attempt: .max, random: .max) == .nanoseconds(Int64(1) << 62))
    let negative = Backoff(floor: .seconds(Int64.min), ceiling: .seconds(Int64.min))
    #expect(negative.delay(attempt: 0, random: .max) == .zero)
    var lowered = backoff
    lowered.floor = .seconds(Int64.min)
    #expect(lowered.delay(attempt: 9, random: .max) == .zero)
  }

  @Test func `every wait lies between its bounds, and they are spread out`() {
    var random = SeededGenerator(seed: 1)
    var upperHalf = 0
    for _ in 0..<2000 {
      let attempt = random.below(12)
      let upper = min(120, 1 << (attempt + 1))
      let delay = backoff.delay(attempt: attempt, random: random.next())
      #expect(delay >= .seconds(1) && delay <= .seconds(upper))
      if delay > .milliseconds(500 * (1 + upper)) { upperHalf += 1 }
    }
    #expect((900...1100).contains(upperHalf))
  }
}
