import Testing

@testable import pusher_cli

@Suite("The plan of sending")
struct BenchPlanTests {
  private func plan(_ line: String) throws -> BenchPlan {
    BenchPlan(try BenchLoad(arguments("bench " + line), mode: .fanout))
  }

  @Test func `events come evenly, from the beginning on`() throws {
    let plan = try plan("--rate 100 --time 10s")
    #expect(plan.callCount == 1000 && plan.eventCount == 1000)
    #expect(plan.time(of: 0) == .zero)
    #expect(plan.time(of: 1) == .milliseconds(10))
    #expect(plan.time(of: 999) == .milliseconds(9990))
  }

  @Test(arguments: [
    ("--rate 1 --time 1s", 1), ("--rate 0.5 --time 1s", 1), ("--rate 0.5 --time 3s", 2),
    ("--rate 3 --time 1s", 3), ("--rate 7 --time 100ms", 1), ("--rate 100 --batch 10", 100),
    ("--rate 100 --batch 1000", 1), ("--rate 100 --ramp 10s", 500), ("--rate 100 --ramp 4s", 800),
  ])
  func `a plan has as many calls as fit, and at least one`(line: String, calls: Int) throws {
    #expect(try plan(line).callCount == calls)
  }

  @Test func `a batch is one call, and its events are due together`() throws {
    let plan = try plan("--rate 100 --batch 10")
    #expect(plan.numbers(of: 3) == 30..<40)
    #expect(plan.time(of: 3) == .milliseconds(300))
    #expect(plan.call(of: 39, on: 0) == 3)
  }

  @Test func `calls take turns over the channels, each with its own numbers`() throws {
    let plan = try plan("--rate 100 --channels 3 --batch 2")
    #expect((0..<6).map(plan.channel) == [0, 1, 2, 0, 1, 2])
    #expect((0..<6).map { plan.numbers(of: $0).lowerBound } == [0, 0, 0, 2, 2, 2])
    #expect(plan.call(of: 3, on: 1) == 4)
    #expect(plan.longestChannel == (plan.callCount + 2) / 3 * 2)
  }

  @Test func `every event of every channel belongs to exactly one call`() throws {
    let plan = try plan("--rate 90 --time 1s --channels 7 --batch 3")
    var found = 0
    for channel in 0..<7 {
      for number in 0..<plan.longestChannel {
        guard let call = plan.call(of: number, on: channel) else { continue }
        #expect(plan.channel(of: call) == channel && plan.numbers(of: call).contains(number))
        found += 1
      }
    }
    #expect(found == plan.eventCount)
  }

  @Test func `what a server may make up is no event of the plan`() throws {
    let plan = try plan("--rate 100 --channels 3")
    for (number, channel) in [(-1, 0), (0, -1), (0, 3), (334, 0), (Int.max, 0), (0, Int.max)] {
      #expect(plan.call(of: number, on: channel) == nil, "\(number) \(channel)")
    }
    #expect(plan.call(of: 333, on: 0) == 999)
    #expect(plan.call(of: 333, on: 1) == nil)
  }

  @Test func `during a ramp the rate grows evenly, and then stays`() throws {
    let plan = try plan("--rate 100 --time 10s --ramp 4s")
    let times = (0..<plan.callCount).map { plan.time(of: $0).inSeconds }
    #expect(times == times.sorted() && times[0] == 0)
    // A quarter of the ramp's events come in the first half of its time.
    #expect(times.count { $0 < 2 } == 50)
    #expect(times.count { $0 < 4 } == 200)
    #expect(times.count { $0 >= 4 && $0 < 5 } == 100)
    #expect((times.last ?? 0) < 10)
  }
}
