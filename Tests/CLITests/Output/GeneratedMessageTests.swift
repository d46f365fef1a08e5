import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

/// The fast way may decline, but it writes exactly the same as the general way.
@Suite struct GeneratedMessageTests {
  @Test(arguments: [UInt64(11), 12, 13, 14])
  func
    `generated messages give the same line on both ways, and the common shapes take the fast one`(
      seed: UInt64
    )
  {
    var random = SeededGenerator(seed: seed)
    let rig = LineRig()
    var written = 0
    for _ in 0..<2500 {
      let message = RandomMessage(&random)
      let outcome = rig.check(message.bytes, offset: Int.random(in: 0..<16, using: &random))
      #expect(outcome.line != nil)
      if outcome.fast == .written { written += 1 }
      if message.isCommon, outcome.fast != .written {
        Issue.record("declined: \(String(decoding: message.bytes, as: UTF8.self))")
      }
    }
    #expect(written > 1000)
  }

  @Test(arguments: [UInt64(21), 22, 23, 24])
  func `mutated messages give the same line on both ways, or none on the fast one`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let rig = LineRig(receivedAt: "2026-11-21T01:39:31.121Z")
    var written = 0
    var malformed = 0
    for _ in 0..<3500 {
      let bytes = RandomMessage(&random).mutated(&random)
      let outcome = rig.check(bytes, offset: Int.random(in: 0..<16, using: &random))
      if outcome.fast == .written { written += 1 }
      if outcome.line == nil { malformed += 1 }
    }
    // Both kinds must occur often, or the test would prove little.
    #expect(written > 150)
    #expect(malformed > 300)
  }

  @Test func `Foundation reads the lines too`() throws {
    var random = SeededGenerator(seed: 31)
    let rig = LineRig()
    for _ in 0..<500 {
      let line = try #require(rig.check(RandomMessage(&random).bytes).line)
      let text = String(decoding: line, as: UTF8.self)
      // Foundation has no room for numbers beyond a double.
      guard !text.contains("1e400") else { continue }
      #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line)) }
    }
  }
}
