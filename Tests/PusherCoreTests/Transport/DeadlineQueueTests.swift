import PusherCore
import TestSupport
import Testing

final class `Many deadlines as one source` {
  private let queue = DeadlineQueue()
  /// The deadlines of the calls.
  private var seen: [Int64] = []

  private func time(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }

  /// A source whose deadline is over once it is called.
  private func source(_ deadline: Int64) -> ClosureSource {
    ClosureSource(deadline: time(deadline)) { [unowned self] source, _ in
      seen.append(deadline)
      source.interest.deadline = nil
    }
  }

  @Test func `the deadline of the queue is the earliest one`() {
    #expect(queue.interest.deadline == nil)
    for deadline: Int64 in [30, 10, 20] { queue.note(source(deadline)) }
    #expect(queue.interest.deadline == time(10))
  }

  @Test func `sources are called in the order of their deadlines, and only when due`() {
    for deadline: Int64 in [50, 10, 40, 20, 30] { queue.note(source(deadline)) }
    queue.expired(at: time(30))
    #expect(seen == [10, 20, 30])
    #expect(queue.interest.deadline == time(40))
    queue.expired(at: time(100))
    #expect(seen == [10, 20, 30, 40, 50])
    #expect(queue.interest.deadline == nil)
  }

  @Test func `a deadline that moved to a later time needs no report`() {
    let source = source(10)
    queue.note(source)
    source.interest.deadline = time(25)
    queue.expired(at: time(10))
    #expect(seen.isEmpty && queue.interest.deadline == time(25))
    queue.expired(at: time(25))
    #expect(seen.count == 1 && queue.interest.deadline == nil)
  }

  @Test func `a deadline that moved to an earlier time counts once it is reported, and once`() {
    let source = source(50)
    queue.note(source)
    source.interest.deadline = time(5)
    queue.note(source)
    queue.note(source)
    #expect(queue.interest.deadline == time(5))
    queue.expired(at: time(60))
    #expect(seen.count == 1 && queue.interest.deadline == nil)
  }

  @Test func `a removed source is not called, unless it is noted again`() {
    let source = source(10)
    queue.note(source)
    queue.remove(source)
    queue.expired(at: time(10))
    #expect(seen.isEmpty)
    queue.note(source)
    queue.expired(at: time(10))
    #expect(seen.count == 1)
  }

  @Test func `a source that keeps a passed deadline has one turn a round`() {
    var calls = 0
    let source = ClosureSource(deadline: time(10)) { _, _ in calls += 1 }
    queue.note(source)
    queue.expired(at: time(20))
    #expect(calls == 1 && queue.interest.deadline == time(10))
    queue.expired(at: time(20))
    #expect(calls == 2)
  }

  @Test func `random deadlines come in order`() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<500 { queue.note(source(Int64(random.below(1000)))) }
    queue.expired(at: time(1000))
    #expect(seen.count == 500 && seen == seen.sorted())
  }
}

struct `A precise timer` {
  @Test func `a timer calls once, at its time, and not before`() throws {
    let harness = try LoopHarness()
    var calls: [Instant] = []
    let timer = PreciseTimer { now in
      calls.append(now)
      harness.loop.stop()
    }
    harness.loop.add(timer)
    let deadline = harness.loop.now.advanced(by: .microseconds(1500))
    timer.deadline = deadline
    #expect(harness.run())
    #expect(calls.count == 1 && calls[0] >= deadline)
    #expect(timer.deadline == nil)
  }

  @Test func `the action can set the next time, and a passed time counts at once`() throws {
    let harness = try LoopHarness()
    var calls = 0
    var timer: PreciseTimer?
    timer = PreciseTimer { now in
      calls += 1
      if calls == 3 { return harness.loop.stop() }
      timer?.deadline = calls == 1 ? now : Instant(nanoseconds: 0)
    }
    let added = try #require(timer)
    harness.loop.add(added)
    added.deadline = harness.loop.now
    #expect(harness.run())
    #expect(calls == 3)
  }

  @Test func `a time that is taken back does not come`() throws {
    let harness = try LoopHarness()
    var calls = 0
    let timer = PreciseTimer { _ in calls += 1 }
    harness.loop.add(timer)
    timer.deadline = harness.loop.now.advanced(by: .milliseconds(1))
    timer.deadline = nil
    harness.loop.schedule(after: .milliseconds(5)) { harness.loop.stop() }
    #expect(harness.run())
    #expect(calls == 0)
  }
}
