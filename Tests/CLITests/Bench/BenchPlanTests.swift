import Testing

@testable import pusher_cli

struct `The plan of sending` {
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

struct BenchSearchTests {
  @Test(arguments: [
    (730, [100, 200, 400, 800, 600, 700, 750]), (30, [100, 50, 25, 37, 31, 28, 29]),
    (1, [100, 50, 25, 12, 6, 3]), (0, [100, 50, 25, 12, 6, 3]),
    (.max, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100_000]),
  ])
  func `the subscribers double or halve until the bound is known to 10 %`(
    capacity: Int, expected: [Int]
  ) throws {
    var search = BenchSearch(try BenchCondition(goal: "p99<50ms", mode: .fanout), least: 3)
    var loads = [100]
    while let last = loads.last {
      search.note(BenchSearch.Step(subscribers: last, holds: last <= capacity, words: ""))
      #expect(search.next(after: .seconds(3600)) == nil)
      guard let next = search.next(after: .zero) else { break }
      loads.append(next)
    }
    #expect(loads == expected)
  }

  @Test func `a search that a signal ended says so, in words and in JSON`() throws {
    var search = BenchSearch(try BenchCondition(goal: "p99<50ms", mode: .fanout), least: 3)
    search.note(BenchSearch.Step(subscribers: 100, holds: true, words: "p99 is 4 ms"))
    #expect(search.json["interrupted"] == false && search.text.contains(" in 1 run:\n"))
    search.isInterrupted = true
    #expect(search.json["interrupted"] == true && search.text.contains(" in 1 run, interrupted:"))
  }
}

struct LocalPortsTests {
  private let usual = LocalPorts("32768\t60999\n")

  @Test func `half of the ports are found quickly, and all can be used`() {
    #expect(usual?.warning(for: 14_116) == nil)
    #expect(usual?.warning(for: 14_117)?.contains("slowly after 14116 connections") == true)
    #expect(usual?.warning(for: 28_232)?.contains("slowly") == true)
    #expect(usual?.warning(for: 28_233)?.contains("has 28232 local ports") == true)
  }

  @Test func `the warning names the command that helps`() {
    #expect(
      usual?.warning(for: 20_000)
        == "--subscribers 20000: the system finds a local port slowly after 14116 connections to one "
        + "address; as root, run 'sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"'")
  }

  @Test(arguments: ["0 65535", "1 1", "1024\t65535\n"])
  func `any range of local ports is read`(text: String) { #expect(LocalPorts(text) != nil) }

  @Test(arguments: ["", "1024", "2 1", "1 65536", "a b", "1 2 3"])
  func `other text is no range of local ports`(text: String) { #expect(LocalPorts(text) == nil) }
}

struct `The errors of a run of bench` {
  @Test func `errors of one code are one, with the words of the first`() {
    var (left, right) = (ErrorCounts(), ErrorCounts())
    left.note("4301", "too many")
    for _ in 0..<3 { right.note("4301", "too many here") }
    right.note("network", "connection refused")
    left.add(right)
    #expect(left.total == 5 && left.entry(of: "4301")?.count == 4 && left.entry(of: "4302") == nil)
    #expect(left.entries.map(\.count) == [4, 1] && left.entries[0].example == "too many")
  }

  @Test func `errors of more codes than there is room for are others`() {
    var counts = ErrorCounts()
    for group in 0..<3 {
      var more = ErrorCounts()
      for code in 0..<40 { more.note("\(group)-\(code)", "no") }
      counts.add(more)
    }
    #expect(counts.total == 120 && counts.entries.count == 51)
    #expect(counts.entries.last?.code == "other" && counts.entries.last?.count == 70)
  }

  @Test func `the most frequent error that keeps something away is the main one`() {
    var counts = ErrorCounts()
    #expect(counts.main == nil)
    for _ in 0..<9 { counts.note("4301", "told, and not away") }
    #expect(counts.main == nil)
    counts.note("api 404", "Unknown app: 999", .refused)
    for _ in 0..<2 { counts.note("api 500", "down", .overloaded) }
    #expect(counts.main?.entry.code == "api 500" && counts.main?.cause == .overloaded)
  }
}
