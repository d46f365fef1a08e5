import Foundation
import Testing

@testable import PusherCore

/// The documented times of attempts match the state machine.
struct `Tables of the times of attempts` {
  private struct Constant: RandomNumberGenerator {
    let number: UInt64
    mutating func next() -> UInt64 { number }
  }

  /// Returns the range of delays before each of the first ten attempts, in the words of the tables.
  private static func waits(delay: Int, afterStable isStable: Bool) -> [String] {
    let ends = [UInt64.min, .max].map { number in
      var random: any RandomNumberGenerator = Constant(number: number)
      var reconnector = Reconnector(RetrySettings(reconnectDelay: .seconds(delay)).policy(.always))
      if isStable { reconnector.noteStable() }
      return (0..<10).map { _ in
        let verdict = reconnector.lost(.atOnce, retryAfter: nil, random: &random)
        guard case .retry(let wait) = verdict else { return Duration.seconds(-1) }
        return wait
      }
    }
    return zip(ends[0], ends[1]).map { shortest, longest in
      longest == .zero
        ? "at once" : "\(shortest.components.seconds) to \(longest.components.seconds) s"
    }
  }

  /// Checks a table's rows; the last row stands for all further attempts.
  private static func check(_ rows: [[String]]) {
    let attempts: [String] = (1...7).map { "\($0)" } + ["8 and later"]
    #expect(rows.map { $0[0] } == attempts)
    let columns = [(1, true), (1, false), (5, true)]
    for (column, (delay, isStable)) in columns.enumerated() {
      let shown = rows.map { $0[column + 1] }
      let waits = waits(delay: delay, afterStable: isStable)
      #expect(shown == Array(waits.prefix(8)), "column \(column + 1)")
      #expect(waits.suffix(3).allSatisfy { $0 == shown.last })
    }
  }

  @Test func `the article's table is what the machine does`() throws {
    let page = try DocumentedTable("Sources/PusherCore/PusherCore.docc/Reconnecting.md")
    Self.check(
      try #require(page.parts.first).rows.filter { $0.count == 4 && $0[0].first?.isNumber == true })
  }

  @Test func `the manual's table is what the machine does`() throws {
    let text = try String(contentsOf: ManualTests.page, encoding: .utf8)
    let section = try #require(text.components(separatedBy: ".Sh RECONNECTING SUBSCRIBE\n").last)
    let rows = section.components(separatedBy: "\n.Sh ")[0].split(separator: "\n")
      .filter { $0.hasPrefix(".It ") }.dropFirst()
      .map { $0.dropFirst(4).components(separatedBy: " Ta ") }
    Self.check(Array(rows))
  }
}
