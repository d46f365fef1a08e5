import PusherCore
import TestSupport
import Testing

/// Items are sent until a receiver accepts them.
struct `Deliveries to one receiver` {
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func deliveries(
    _ items: String..., jobs: Int = 1, ceiling: Duration = .seconds(60),
    patience: Duration? = nil, cutsTries: Bool = false
  ) -> Deliveries<String> {
    var deliveries = Deliveries<String>(
      jobs: jobs, backoff: Backoff(floor: .seconds(1), ceiling: ceiling), patience: patience,
      cutsTries: cutsTries)
    for item in items { deliveries.add(item, lane: String(item.prefix(1)), cost: 10) }
    return deliveries
  }

  private func sent(_ deliveries: inout Deliveries<String>, at now: Instant) -> [String] {
    var sent: [String] = []
    while let delivery = deliveries.next(at: now) { sent.append(delivery.item) }
    return sent
  }

  private func after(_ seconds: Double) -> Instant { start.advanced(by: .seconds(seconds)) }

  @Test func `an item that fails holds up its lane and no other one`() {
    var deliveries = deliveries("a1", "a2", "b3", "c4", jobs: 2)
    #expect(sent(&deliveries, at: start) == ["a1", "b3"])
    #expect(deliveries.failed(1, "refused", at: start, random: 0) == .seconds(1))
    deliveries.end(3)
    #expect(sent(&deliveries, at: start) == ["c4"])
    deliveries.end(4)
    #expect(sent(&deliveries, at: start).isEmpty)
    #expect(sent(&deliveries, at: after(1)) == ["a1"])
    deliveries.end(1)
    #expect(sent(&deliveries, at: after(1)) == ["a2"])
  }

  @Test func `a new item is sent only when its owner allows it`() {
    var deliveries = deliveries("a1")
    #expect(deliveries.next(at: start, mayStart: { _ in false }) == nil)
    #expect(deliveries.next(at: start, mayStart: { $0 == "a1" })?.item == "a1")
  }

  @Test func `items that wait and those on their way are counted, in bytes too`() {
    var deliveries = deliveries("a1", "a2", "a3")
    _ = deliveries.next(at: start)
    #expect(deliveries.openCount == 3 && deliveries.openCost == 30)
    #expect(deliveries.waitingCost == 20 && deliveries.count == 3)
    deliveries.end(1)
    #expect(deliveries.openCount == 2 && deliveries.openCost == 20 && deliveries.count == 3)
  }

  @Test func `waits are drawn from a range that doubles, up to the ceiling`() {
    for (random, waits) in [
      (UInt64.min, [1, 1, 1, 1, 1, 1, 1]), (.max, [2, 4, 8, 16, 32, 60, 60]),
    ] {
      var deliveries = deliveries("a1")
      var now = start
      for (tries, seconds) in waits.enumerated() {
        #expect(deliveries.next(at: now)?.tries == tries + 1)
        let wait = deliveries.failed(1, "refused", at: now, random: random)
        #expect(wait == .seconds(seconds))
        now = now.advanced(by: .seconds(seconds))
        #expect(deliveries.deadline == now)
      }
    }
  }

  @Test func `a longer wait that the receiver asks for counts, up to the ceiling`() {
    func wait(_ seconds: Int) -> Duration? {
      var deliveries = deliveries("a1")
      _ = deliveries.next(at: start)
      return deliveries.failed(1, "", retryAfter: .seconds(seconds), at: start, random: 0)
    }
    #expect(
      [0, 1, 2, 59, 60, 61, 86_400].map(wait) == [1, 1, 2, 59, 60, 60, 60].map(Duration.seconds))
  }

  @Test func `all waits of deliveries can be ended`() {
    var deliveries = deliveries("a1")
    _ = deliveries.next(at: start)
    _ = deliveries.failed(1, "", at: start, random: .max)
    deliveries.retrySoon(at: start)
    #expect(sent(&deliveries, at: start) == ["a1"])
  }

  @Test func `an item whose next try would begin after the patience is given up`() {
    for (seconds, retryAfter, wait) in [(8.999, 0, 1), (9, 0, nil), (0, 10, nil), (0, 9, 9)] {
      var deliveries = deliveries("a1", patience: .seconds(10))
      _ = deliveries.next(at: start)
      let answer = deliveries.failed(
        1, "", retryAfter: .seconds(retryAfter), at: after(seconds), random: 0)
      #expect(answer == wait.map(Duration.seconds), "\(seconds) \(retryAfter)")
    }
  }

  @Test func `the patience begins with the first try`() {
    var deliveries = deliveries("a1", "a2", patience: .seconds(10), cutsTries: true)
    _ = deliveries.next(at: start)
    deliveries.end(1)
    _ = deliveries.next(at: after(9))
    #expect(deliveries.overdue(at: after(18.9)) == nil)
    #expect(deliveries.overdue(at: after(19))?.item == "a2")
    #expect(deliveries.deadline == after(19))
  }

  @Test(arguments: [false, true])
  func `a try may outlast the patience unless that cuts it`(cutsTries: Bool) {
    var deliveries = deliveries("a1", patience: .seconds(10), cutsTries: cutsTries)
    _ = deliveries.next(at: start)
    #expect(deliveries.deadline == (cutsTries ? after(10) : nil))
  }

  @Test func `an item that cannot be kept elsewhere is tried again until its next failure`() {
    var deliveries = deliveries("a1", patience: .seconds(10), cutsTries: true)
    _ = deliveries.next(at: start)
    #expect(deliveries.failed(1, "gone", at: after(9.5), random: 0) == nil)
    deliveries.keep(1, at: after(9.5), random: 0)
    #expect(deliveries.overdue(at: after(100)) == nil && deliveries.deadline == after(10.5))
    let delivery = deliveries.next(at: after(10.5))
    #expect(delivery?.tries == 2 && delivery?.reason == "gone")
    #expect(deliveries.failed(1, "", at: after(500), random: 0) == nil)
    deliveries.keep(1, at: after(500), random: 0)
    #expect(deliveries.next(at: after(501))?.tries == 3)
  }

  @Test func `what is left comes out in the order of arrival`() {
    var deliveries = deliveries("a1", "b2", "a3", "c4", "b5", jobs: 2)
    #expect(sent(&deliveries, at: start) == ["a1", "b2"])
    deliveries.end(1)
    #expect(sent(&deliveries, at: start) == ["c4"])
    #expect(deliveries.isAnyUnderWay)
    #expect(deliveries.takeAll() == ["b2", "a3", "c4", "b5"])
    #expect(deliveries.isEmpty && !deliveries.isAnyUnderWay && deliveries.deadline == nil)
    #expect(deliveries.openCost == 0 && deliveries.count == 5)
  }

  @Test func `whatever fails when, each item is taken or given up once, a lane in its order`() {
    var random = SeededGenerator(seed: 7)
    var deliveries = deliveries(jobs: 3, patience: .seconds(20), cutsTries: true)
    var ended: [Int: [Int]] = [:]
    var now = start
    func end(_ number: Int) {
      deliveries.end(number)
      ended[number % 5, default: []].append(number)
    }
    for number in 0..<500 {
      deliveries.add("\(number)", lane: "\(number % 5)", cost: 1)
      now = now.advanced(by: .milliseconds(random.below(1500)))
      repeat {
        while let late = deliveries.overdue(at: now) { end(late.number) }
        while let delivery = deliveries.next(at: now) {
          let isTaken = random.below(3) == 0
          let wait =
            isTaken ? nil : deliveries.failed(delivery.number, "", at: now, random: random.next())
          if wait == nil { end(delivery.number) }
        }
        if number == 499 { now = deliveries.deadline ?? now }
      } while number == 499 && !deliveries.isEmpty
    }
    #expect(ended.values.map(\.count) == [100, 100, 100, 100, 100])
    #expect(ended.values.allSatisfy { $0 == $0.sorted() })
  }
}
