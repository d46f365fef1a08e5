import PusherCore
import Testing

struct InstantTests {
  private let latest = Instant(nanoseconds: .max)
  private let earliest = Instant(nanoseconds: .min)

  @Test(
    arguments: [
      (5, .nanoseconds(7), 12), (5, .nanoseconds(-7), -2), (5, .zero, 5),
      // Moving past the end of the clock stops there.
      (.max, .nanoseconds(1), .max), (.min, .nanoseconds(-1), .min),
      (1, .seconds(Int64.max), .max), (-1, .seconds(Int64.min), .min),
    ] as [(Int64, Duration, Int64)])
  func `an instant moves in both directions`(start: Int64, duration: Duration, end: Int64) {
    let moved = Instant(nanoseconds: start).advanced(by: duration)
    #expect(moved == Instant(nanoseconds: end))
  }

  @Test func `instants are ordered, and their distance has a sign and saturates`() {
    let (early, late) = (Instant(nanoseconds: 10), Instant(nanoseconds: 35))
    #expect(early.duration(to: late) == .nanoseconds(25))
    #expect(late.duration(to: early) == .nanoseconds(-25))
    #expect(earliest.duration(to: latest) == .nanoseconds(Int64.max))
    #expect(latest.duration(to: earliest) == .nanoseconds(Int64.min))
    #expect(earliest < early && early < late && late < latest && !(latest < latest))
  }

  @Test func `no deadline is later than any deadline`() {
    let (some, later) = (Instant(nanoseconds: 3), Instant(nanoseconds: 4))
    for (left, right, earliest) in [
      (nil, nil, nil), (some, nil, some), (nil, some, some), (later, some, some),
      (some, later, some),
    ] as [(Instant?, Instant?, Instant?)] {
      #expect(Instant.earliest(left, right) == earliest)
    }
  }

  @Test(arguments: [
    (Duration.zero, Int64(0)), (.milliseconds(1500), 1_500_000_000),
    (.milliseconds(-1500), -1_500_000_000), (.nanoseconds(Int64.max), .max),
    (.nanoseconds(Int64.min), .min), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    // The seconds alone fit into 64 bits of nanoseconds; seconds and fraction do not.
    (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
    (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
  ])
  func `a duration's nanoseconds are clamped to 64 bits`(duration: Duration, expected: Int64) {
    #expect(duration.wholeNanoseconds == expected)
  }

  @Test func `a duration's seconds keep the fraction`() {
    #expect(Duration.milliseconds(1250).inSeconds == 1.25)
    #expect(Duration.milliseconds(-1250).inSeconds == -1.25)
  }

  @Test(arguments: [
    (Duration.zero, "0 s"), (.nanoseconds(1), "1 ms"), (.microseconds(1499), "1 ms"),
    (.milliseconds(49), "49 ms"), (.milliseconds(94), "94 ms"), (.milliseconds(95), "0.1 s"),
    (.milliseconds(-5), "0 s"), (.milliseconds(1200), "1.2 s"), (.milliseconds(1949), "1.9 s"),
    (.milliseconds(1950), "2 s"), (.seconds(30), "30 s"), (.seconds(60), "60 s"),
    (.seconds(120), "2 min"), (.seconds(121), "121 s"), (.seconds(300), "5 min"),
    (.seconds(Int64.max), "9223372036.9 s"),
  ])
  func `a duration reads as people write it`(duration: Duration, text: String) {
    #expect(duration.inWords == text)
  }
}
