import Testing

@testable import pusher_cli

struct `The account of deliveries` {
  private let empty = DeliveryAccount(subscribers: 2, events: 130)

  private func accepted(_ numbers: some Sequence<Int>) -> EventSet {
    var set = EventSet(events: 130)
    for number in numbers { set.insert(number) }
    return set
  }

  private func missing(_ account: DeliveryAccount, _ subscriber: Int, _ accepted: EventSet) -> [Int]
  {
    var numbers: [Int] = []
    let count = account.missing(by: subscriber, of: accepted) { numbers.append($0) }
    #expect(count == numbers.count)
    return numbers
  }

  @Test func `an event in order is new, and nothing is missing`() {
    var account = empty
    let areNew = (0..<130).map { account.note($0, by: 0) }
    #expect(!areNew.contains(false))
    #expect(account.delivered == 130 && account.doubled == 0 && account.outOfOrder == 0)
    #expect(missing(account, 0, accepted(0..<130)) == [])
    #expect(account.received(by: 0, of: accepted(0..<130)) == 130)
  }

  @Test(arguments: [(5, 1, true), (64, 0, false)])
  func `a second delivery is doubled, and each subscriber has an account of its own`(
    event: Int, subscriber: Int, isNewAgain: Bool
  ) {
    var account = empty
    _ = account.note(event, by: 0)
    #expect(missing(account, 1, accepted([event])) == [event])
    let isNew = account.note(event, by: subscriber)
    #expect(isNew == isNewAgain && account.delivered == (isNew ? 2 : 1))
    #expect(account.doubled == (isNew ? 0 : 1) && account.outOfOrder == 0)
  }

  @Test func `an event after a later one is out of order, a gap alone is not`() {
    var account = empty
    for number in [0, 3, 1, 2, 4] { _ = account.note(number, by: 0) }
    #expect(account.outOfOrder == 2)
  }

  @Test(arguments: [0, 1, 63, 64, 65, 127, 128, 129])
  func `a missing event is told by its number, at every edge of a word`(hole: Int) {
    var account = empty
    for number in 0..<130 where number != hole { _ = account.note(number, by: 1) }
    #expect(missing(account, 1, accepted(0..<130)) == [hole])
  }

  @Test func `an event that was not accepted is not missing`() {
    var account = empty
    _ = account.note(1, by: 0)
    #expect(missing(account, 0, accepted([1])) == [])
    #expect(missing(account, 0, accepted([Int]())) == [])
    #expect(account.received(by: 0, of: accepted([Int]())) == 0)
  }

  @Test func `an event counts once in a set`() { #expect(accepted([3, 3, 100]).count == 2) }
}

struct `The rows a second` {
  @Test func `deliveries count when they come, losses when the event was due`() {
    var seconds = BenchSeconds()
    seconds.count(\.sent, 2, at: .milliseconds(900))
    seconds.noteDelivery(at: .milliseconds(950), after: .milliseconds(50))
    seconds.noteDelivery(at: .milliseconds(2100), after: .milliseconds(1200))
    seconds.count(\.lost, at: .milliseconds(100))
    seconds.count(\.failed, 3, at: .seconds(1))
    seconds.finish()
    #expect(seconds.rows.map(\.sent) == [2, 0, 0])
    #expect(seconds.rows.map(\.delivered) == [1, 0, 1])
    #expect(seconds.rows.map(\.lost) == [1, 0, 0])
    #expect(seconds.rows.map(\.failed) == [0, 3, 0])
    #expect(seconds.rows.map(\.largest) == [.milliseconds(50), nil, .milliseconds(1200)])
  }

  @Test func `the CSV has a heading, and empty cells for what was not measured`() {
    var seconds = BenchSeconds()
    seconds.noteDelivery(at: .milliseconds(10), after: .milliseconds(4))
    seconds.count(\.connected, at: .seconds(1))
    seconds.count(\.errors, at: .seconds(1))
    seconds.finish()
    #expect(
      BenchSeconds.csv(seconds.rows) == """
        second,sent,failed,delivered,lost,p50_ms,p99_ms,max_ms,connected,errors
        0,0,0,1,0,4,4,4,0,0
        1,0,0,0,0,,,,1,1

        """)
  }

  @Test func `times outside every run make no rows without end`() {
    var seconds = BenchSeconds()
    seconds.count(\.lost, at: .seconds(-10))
    seconds.count(\.errors, at: .nanoseconds(Int64.max))
    #expect(seconds.rows.count == 100_000 && seconds.rows[0].lost == 1)
  }
}

struct `Numbers of figures` {
  @Test(arguments: [
    (0.0, "0"), (1, "1"), (1.5, "1.5"), (0.0004, "0"), (0.0005, "0.001"), (12.3456, "12.346"),
    (-2.5, "-2.5"), (-0.0001, "0"), (1e14, "100000000000000"), (Double.infinity, "0"),
    (Double.nan, "0"),
  ])
  func `a number has three decimal places at most`(value: Double, text: String) {
    #expect(Quantities.text(value) == text)
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (1_002_003, "1,002,003"), (-1000, "-1,000"),
    (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func `thousands are grouped in a figure`(value: Int, text: String) {
    #expect(Quantities.grouped(value) == text)
  }
}
