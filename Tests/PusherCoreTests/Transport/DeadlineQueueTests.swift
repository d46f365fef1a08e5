import PusherCore
import TestSupport
import Testing

@Suite("Many deadlines as one source")
struct DeadlineQueueTests {
  private let queue = DeadlineQueue()

  private func time(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }

  private func source(_ deadline: Int64?) -> ClosureSource {
    ClosureSource(LoopInterest(deadline: deadline.map(time)))
  }

  @Test func `the deadline of the queue is the earliest one`() {
    #expect(queue.interest.deadline == nil)
    for deadline: Int64 in [30, 10, 20] { queue.note(source(deadline)) }
    #expect(queue.interest.deadline == time(10))
  }

  @Test func `sources are called in the order of their deadlines, and only when due`() {
    var seen: [Int64] = []
    let deadlines: [Int64] = [50, 10, 40, 20, 30]
    let sources = deadlines.map { deadline in
      let source = source(deadline)
      source.onExpired = { _ in
        seen.append(deadline)
        source.interest.deadline = nil
      }
      return source
    }
    for source in sources { queue.note(source) }
    queue.expired(at: time(30))
    #expect(seen == [10, 20, 30])
    #expect(queue.interest.deadline == time(40))
    queue.expired(at: time(100))
    #expect(seen == [10, 20, 30, 40, 50])
    #expect(queue.interest.deadline == nil)
  }

  @Test func `a deadline that moved to a later time needs no report`() {
    var calls = 0
    let source = source(10)
    source.onExpired = { _ in calls += 1 }
    queue.note(source)
    source.interest.deadline = time(25)
    queue.expired(at: time(10))
    #expect(calls == 0 && queue.interest.deadline == time(25))
    source.onExpired = { _ in
      calls += 1
      source.interest.deadline = nil
    }
    queue.expired(at: time(25))
    #expect(calls == 1 && queue.interest.deadline == nil)
  }

  @Test func `a deadline that moved to an earlier time counts once it is reported, and once`() {
    var calls = 0
    let source = source(50)
    source.onExpired = { _ in
      calls += 1
      source.interest.deadline = nil
    }
    queue.note(source)
    source.interest.deadline = time(5)
    queue.note(source)
    queue.note(source)
    #expect(queue.interest.deadline == time(5))
    queue.expired(at: time(60))
    #expect(calls == 1 && queue.interest.deadline == nil)
  }

  @Test func `a removed source is not called, unless it is noted again`() {
    var calls = 0
    let source = source(10)
    source.onExpired = { _ in
      calls += 1
      source.interest.deadline = nil
    }
    queue.note(source)
    queue.remove(source)
    queue.expired(at: time(10))
    #expect(calls == 0)
    queue.note(source)
    queue.expired(at: time(10))
    #expect(calls == 1)
  }

  @Test func `a source that keeps a passed deadline has one turn a round`() {
    var calls = 0
    let source = source(10)
    source.onExpired = { _ in calls += 1 }
    queue.note(source)
    queue.expired(at: time(20))
    #expect(calls == 1 && queue.interest.deadline == time(10))
    queue.expired(at: time(20))
    #expect(calls == 2)
  }

  @Test func `random deadlines come in order`() {
    var random = SeededGenerator(seed: 7)
    var seen: [Int64] = []
    for _ in 0..<500 {
      let deadline = Int64(random.next() % 1000)
      let source = source(deadline)
      source.onExpired = { _ in
        seen.append(deadline)
        source.interest.deadline = nil
      }
      queue.note(source)
    }
    queue.expired(at: time(1000))
    #expect(seen.count == 500 && seen == seen.sorted())
  }
}

@Suite("A precise timer")
struct PreciseTimerTests {
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
    let end = LoopTimer(deadline: harness.loop.now.advanced(by: .milliseconds(5))) {
      harness.loop.stop()
    }
    harness.loop.add(end)
    #expect(harness.run())
    #expect(calls == 0)
  }
}
