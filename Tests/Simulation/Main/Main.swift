import SimulationModel

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Runs schedules from a seed on: `simulation COUNT [SEED]`.
@main
enum Main {
  static func main() {
    let words = CommandLine.arguments.dropFirst().map { UInt64($0) }
    let count = words.first.flatMap(\.self) ?? 10_000
    let first = words.dropFirst().first.flatMap(\.self) ?? 1
    var failures = 0
    for seed in first..<(first + count) {
      let schedule = Schedule(seed: seed)
      guard let violation = Simulation.run(schedule) else { continue }
      failures += 1
      let short = schedule.shrunk()
      print("seed \(seed): \(violation)\nshortest: \(Simulation.run(short) ?? "")\n\(short)")
      if failures == 3 { break }
    }
    print("simulation: seeds \(first) to \(first + count - 1), \(failures) violations")
    if failures > 0 { exit(1) }
  }
}
