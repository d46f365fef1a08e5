import PusherCore
import Testing

@testable import pusher_cli

@Suite("The chart of the delays")
struct DelayChartTests {
  private func row(_ p50: Int?, _ p99: Int?, lost: Int = 0) -> BenchSeconds.Row {
    .init(
      lost: lost, p50: p50.map { .milliseconds($0) }, p99: p99.map { .milliseconds($0) },
      largest: p99.map { .milliseconds($0 * 2) })
  }

  private func chart(
    _ rows: [BenchSeconds.Row], columns: Int = 80, isUnicode: Bool = true
  ) -> [Substring]? {
    DelayChart(rows, columns: columns, isUnicode: isUnicode)?.text.split(
      separator: "\n", omittingEmptySubsequences: false)
  }

  @Test func `bars show p50 and p99, and an x the seconds with losses`() {
    let rows = [row(1, 3), row(3, 6, lost: 2), row(nil, nil), row(6, 6), row(0, 0)]
    #expect(
      chart(rows) == [
        "delays        █ p50, ░ p99, x lost; a column is 1 s",
        "        6 ms │ ░ █",
        "             │ ░ █",
        "             │ ░ █",
        "             │░█ █",
        "             │░█ █",
        "        0 ms │██ █▁",
        "             └─────",
        "               x",
        "              0 s 5 s", "",
      ])
  }

  @Test func `without UTF-8 the bars are ASCII, and without losses no line shows them`() {
    let lines = chart([row(1, 6), row(3, 6)], isUnicode: false)
    #expect(lines?.first == "delays        # p50, : p99; a column is 1 s")
    #expect(lines?[1] == "        6 ms |::" && lines?[6] == "        0 ms |##")
    #expect(lines?[7] == "             +--" && lines?[8] == "              0 s 2 s")
  }

  @Test func `a column of several seconds shows the worst`() {
    let rows = (0..<30).map { row(1, $0 == 17 ? 6 : 1, lost: $0 == 29 ? 1 : 0) }
    let lines = chart(rows, columns: 30)
    #expect(lines?.first?.hasSuffix("; a column is the worst second of 2") == true)
    #expect(lines?[1] == "        6 ms │        ░")
    #expect(lines?[8] == "                            x")
  }

  @Test func `every line fits the terminal`() {
    for columns in 25...90 {
      let lines = chart((0..<200).map { row(1, $0 + 1) }, columns: columns)
      #expect(lines?.dropFirst().allSatisfy { $0.count <= columns } == true, "\(columns)")
    }
  }

  @Test func `nothing to compare and no room make no chart`() {
    #expect(chart([row(1, 2)]) == nil)
    #expect(chart([row(1, 2), row(nil, nil)]) == nil)
    #expect(chart([row(1, 2), row(1, 2)], columns: 24) == nil)
    #expect(chart([row(1, 2), row(1, 2)], columns: 25) != nil)
  }
}
