import PusherCore
import Testing

@Suite struct InstantTests {
  private let latest = Instant(nanoseconds: .max)
  private let earliest = Instant(nanoseconds: .min)

  @Test func `an instant moves by a duration in both directions`() {
    let start = Instant(nanoseconds: 5)
    #expect(start.advanced(by: .nanoseconds(7)) == Instant(nanoseconds: 12))
    #expect(start.advanced(by: .nanoseconds(-7)) == Instant(nanoseconds: -2))
    #expect(start.advanced(by: .zero) == start)
  }

  @Test func `moving past the end of the clock stops there`() {
    #expect(latest.advanced(by: .nanoseconds(1)) == latest)
    #expect(earliest.advanced(by: .nanoseconds(-1)) == earliest)
    #expect(Instant(nanoseconds: 1).advanced(by: .seconds(Int64.max)) == latest)
    #expect(Instant(nanoseconds: -1).advanced(by: .seconds(Int64.min)) == earliest)
  }

  @Test func `the distance between two instants has a sign and saturates`() {
    let early = Instant(nanoseconds: 10)
    let late = Instant(nanoseconds: 35)
    #expect(early.duration(to: late) == .nanoseconds(25))
    #expect(late.duration(to: early) == .nanoseconds(-25))
    #expect(earliest.duration(to: latest) == .nanoseconds(Int64.max))
    #expect(latest.duration(to: earliest) == .nanoseconds(Int64.min))
  }

  @Test func `instants are ordered by time`() {
    #expect(earliest < Instant(nanoseconds: 0))
    #expect(Instant(nanoseconds: 0) < latest)
    #expect(!(latest < latest))
  }

  @Test func `no deadline is later than any deadline`() {
    let some = Instant(nanoseconds: 3)
    let later = Instant(nanoseconds: 4)
    #expect(Instant.earliest(nil, nil) == nil)
    #expect(Instant.earliest(some, nil) == some)
    #expect(Instant.earliest(nil, some) == some)
    #expect(Instant.earliest(later, some) == some)
    #expect(Instant.earliest(some, later) == some)
  }

  @Test(arguments: [
    (Duration.zero, Int64(0)),
    (.milliseconds(1500), 1_500_000_000),
    (.milliseconds(-1500), -1_500_000_000),
    (.nanoseconds(Int64.max), .max),
    (.nanoseconds(Int64.min), .min),
    // The seconds alone fit into 64 bits of nanoseconds; seconds and fraction do not.
    (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
    (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
    (.seconds(Int64.max), .max),
    (.seconds(Int64.min), .min),
  ])
  func `a duration's nanoseconds are clamped to 64 bits`(duration: Duration, expected: Int64) {
    #expect(duration.wholeNanoseconds == expected)
  }

  @Test func `a duration's seconds keep the fraction`() {
    #expect(Duration.milliseconds(1250).inSeconds == 1.25)
    #expect(Duration.milliseconds(-1250).inSeconds == -1.25)
  }

  @Test(arguments: [
    (Duration.zero, "0 s"),
    (.nanoseconds(1), "1 ms"),
    (.microseconds(1499), "1 ms"),
    (.milliseconds(49), "49 ms"),
    (.milliseconds(94), "94 ms"),
    (.milliseconds(95), "0.1 s"),
    (.milliseconds(-5), "0 s"),
    (.milliseconds(1200), "1.2 s"),
    (.milliseconds(1949), "1.9 s"),
    (.milliseconds(1950), "2 s"),
    (.seconds(30), "30 s"),
    (.seconds(60), "60 s"),
    (.seconds(120), "2 min"),
    (.seconds(121), "121 s"),
    (.seconds(300), "5 min"),
  ])
  func `a duration reads as people write it`(duration: Duration, text: String) {
    #expect(duration.inWords == text)
  }

  @Test func `the longest duration can be written`() {
    #expect(Duration.seconds(Int64.max).inWords == "9223372036.9 s")
  }
}
