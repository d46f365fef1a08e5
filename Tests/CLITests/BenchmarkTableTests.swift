import Foundation
import Testing

/// The tables of `make bench`: what is printed by default, and what is named.
@Suite(.runsPrograms) struct `Tables of benchmarks` {
  @Test func `an unknown table ends the script with status 2, and the names that exist`() throws {
    let result = try PusherCLI.tool([
      "env", "BENCH_TABLES=sses", Documentation.folder + "/scripts/bench.sh",
    ])
    #expect(result.ending == .exited(2))
    #expect(result.errorText.hasPrefix("bench: no table is called 'sses'; there are: summary "))
  }

  @Test func `twelve rows of at most 80 columns, with a range for two rounds`() throws {
    let lines = try table(
      "summary",
      [
        "channels": [
          "pusher-cli\tplain\t200\t1000\t1\t0.000188\t12000\t1000",
          "pusher-cli\tplain\t200\t1000\t1\t0.000201\t12000\t1000",
          "websockets\tplain\t200\t1000\t1\t0.0104\t26000\t1000",
          "websockets\tplain\t200\t1000\t1\t0.0107\t26500\t1000",
        ], "sse": ["pusher-cli\tTLS\t200\t1000\t1\t0.000294\t12000\t1000"],
        "largest": ["pusher-cli\tplain\t200\t10000000\t2\t1.9\t13000\t10000000"],
        "serve": [
          "pusher-cli, lone\t0\t100\t1\t0.001\t0\t0\t0\t0\t0\t0\t0",
          "pusher-cli, lone\t100\t100\t1\t0.011\t0\t0\t0\t0\t0\t0\t0",
        ],
        "instructions": [
          "1\tjson-200\tnow\t10450000\t10000", "1\tjson-200\tsimdjson\t8800000\t10000",
        ],
      ])
    #expect(lines.count == 2 + 12)
    #expect(lines.allSatisfy { $0.count <= 80 })
    let rows = lines.map(cells)
    #expect(rows.contains(["CPU per event: 200 B", "188–201 ns", "websockets 10.4–10.7 us"]))
    #expect(rows.contains(["instructions per event: 200 B", "1 045", "simdjson 880"]))
    #expect(rows.contains { $0.starts(with: ["serve: CPU per delivery, lone", "1 000 ns"]) })
    #expect(rows.contains { $0.starts(with: ["peak memory of 10 million events", "13.3 MB"]) })
  }

  @Test func `instructions show both passes if they differ, and the averages' ratio`() throws {
    let lines = try table(
      "instructions",
      [
        "": [
          "1\tjson-200\tnow\t1000000\t1000", "1\tjson-200\tsimdjson\t800000\t1000",
          "2\tjson-200\tnow\t1002000\t1000", "2\tjson-200\tsimdjson\t800000\t1000",
        ]
      ])
    #expect(lines.last.map(cells) == ["`subscribe`, 200 B", "1 000–1 002", "800", "1.25", "1.0"])
    #expect(lines.count == 3)
  }

  private func cells(_ line: Substring) -> [String] {
    line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// The lines that a script of `Benchmarks` makes of the results of each kind.
  private func table(_ name: String, _ results: [String: [String]]) throws -> [Substring] {
    let benchmarks = Documentation.folder + "/Benchmarks/"
    var words = [
      "awk", "-F", "\t", "-f", benchmarks + "grouped.awk", "-f", benchmarks + name + ".awk",
    ]
    for (kind, lines) in results.sorted(by: { $0.key < $1.key }) {
      let text = lines.joined(separator: "\n") + "\n"
      words += ["kind=" + kind, try TemporaryFolder.shared.file("results", holding: text)]
    }
    let result = try PusherCLI.tool(words)
    #expect(result.ending == .exited(0))
    return result.outputText.split(separator: "\n")
  }
}
