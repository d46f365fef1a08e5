import Foundation
import Fuzzing
import TestSupport
import Testing

/// `scripts/fuzz.sh` goes on from these inputs, of which some were findings.
struct FuzzingSeedTests {
  private static func seeds(of harness: Harness) throws -> [[UInt8]] {
    let folder = URL(filePath: #filePath).appending(path: "../../../Fuzzing/Seeds")
      .standardized.appending(path: harness.rawValue)
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    // A folder has no order of its own.
    return try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
  }

  private func run(_ bytes: [UInt8], _ harness: Harness) {
    bytes.withUnsafeBufferPointer { view in
      // An empty array may have no address.
      if let start = view.baseAddress { harness.run(start, view.count) }
    }
  }

  @Test(arguments: Harness.allCases)
  func `no seed of a harness is a finding`(harness: Harness) throws {
    let seeds = try Self.seeds(of: harness)
    #expect(!seeds.isEmpty)
    for seed in seeds { run(seed, harness) }
  }

  /// Every harness has rules that hold for all inputs; `scripts/fuzz.sh` draws many more.
  @Test(arguments: Harness.allCases)
  func `no mixture of seeds, whole or damaged, is a finding`(harness: Harness) throws {
    let seeds = try Self.seeds(of: harness)
    let lines = seeds.map { $0.split(separator: 0x0A) }.filter { !$0.isEmpty }
    var random = SeededGenerator(seed: 20_261_129)
    for _ in 0..<150 {
      var input = random.pick(seeds)
      switch random.below(3) {
      case 0: input += random.pick(seeds).dropFirst(2)
      case 1:
        input = [UInt8(random.below(256)), UInt8(random.below(256))]
        // Lines that follow each other lead further than lines at random.
        let steps = (0..<random.below(50)).flatMap { _ -> ArraySlice<ArraySlice<UInt8>> in
          let run = random.pick(lines)
          return run[random.below(run.count)...].prefix(1 + random.below(6))
        }
        input += steps.joined(separator: [UInt8(0x0A)])
      default: break
      }
      for _ in 0..<random.below(4) where !input.isEmpty { damage(&input, seeds, &random) }
      run(input, harness)
    }
  }

  /// Changes, inserts or removes a byte.
  private func damage(
    _ input: inout [UInt8], _ seeds: [[UInt8]], _ random: inout SeededGenerator
  ) {
    let place = random.below(input.count)
    let seed = random.pick(seeds)
    let byte =
      random.below(2) == 0 ? UInt8(random.below(256)) : seed.isEmpty ? 0 : random.pick(seed)
    switch random.below(3) {
    case 0: input[place] = byte
    case 1: input.insert(byte, at: place)
    default: input.remove(at: place)
    }
  }
}
