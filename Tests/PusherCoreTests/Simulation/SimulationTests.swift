import SimulationModel
import Testing

/// Servers over a model of Redis keep the promises of docs/endurance.md under any schedule of
/// messages, delays and faults.
@Suite("Simulation of servers that meet in Redis", .timeLimit(.minutes(10)))
struct SimulationTests {
  @Test(arguments: 0..<2)
  func `after a calm time all is right, whatever happened before`(part: UInt64) {
    for seed in (part * 75 + 1)...(part * 75 + 75) {
      let schedule = Schedule(seed: seed)
      guard let violation = Simulation.run(schedule) else { continue }
      let short = schedule.shrunk()
      Issue.record(
        "seed \(seed): \(violation)\nshortest: \(Simulation.run(short) ?? "none")\n\(short)")
      return
    }
  }

  @Test func `a seed draws the same schedule each time, and it begins with clients`() {
    let steps = Schedule(seed: 7).steps.map { "\($0)" }
    #expect(steps == Schedule(seed: 7).steps.map { "\($0)" })
    #expect(steps != Schedule(seed: 8).steps.map { "\($0)" })
    #expect(steps.prefix(2) == ["connect(server: 0)", "connect(server: 1)"])
    #expect(steps.last == "calm")
  }
}
