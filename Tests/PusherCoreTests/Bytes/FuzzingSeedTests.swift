import Foundation
import Fuzzing
import Testing

/// `scripts/fuzz.sh` goes on from these inputs, of which some were findings.
@Suite struct FuzzingSeedTests {
  private static let seeds = URL(filePath: #filePath).appending(path: "../../../Fuzzing/Seeds")
    .standardized

  @Test(arguments: Harness.allCases)
  func `no seed of a harness is a finding`(harness: Harness) throws {
    let folder = Self.seeds.appending(path: harness.rawValue)
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    #expect(!files.isEmpty)
    for file in files {
      let bytes = [UInt8](try Data(contentsOf: file))
      bytes.withUnsafeBufferPointer { view in
        // An empty array may have no address.
        if let start = view.baseAddress { harness.run(start, view.count) }
      }
    }
  }
}
