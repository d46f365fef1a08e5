import Foundation
import PusherCore
import Testing

/// docs/metrics.md, the dashboard and the alerts match the program.
@Suite("What is written about --metrics", .runsPrograms) struct MetricsPageTests {
  private struct Metric: Hashable {
    let name: String
    let kind: String
    let help: String
  }

  private static func given() throws -> Set<Metric> {
    let metrics = ["--metrics", "127.0.0.1:0"]
    let serve = try Monitored(try LocalServer(options: metrics))
    let shapes = [
      ["--exec", ":", "--on-gap", ":"], ["--forward", "http://127.0.0.1:1/"],
      ["--service", "sockudo"],
    ]
    let runs = try shapes.map { options in
      let server = try Hooked.counting(1)
      let program = try PusherCLI.start(
        ["subscribe"] + server.address + ["news"] + options + metrics)
      return try Monitored(program, of: server)
    }
    return try Set(
      ([serve] + runs).flatMap { at -> [Metric] in
        let text = try at.ask("/metrics").body
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        return zip(lines, lines.dropFirst()).compactMap { help, type in
          guard help.starts(with: ["#", "HELP"]), type.starts(with: ["#", "TYPE"]) else {
            return nil
          }
          return Metric(
            name: String(help[2]), kind: String(type[3]),
            help: help[3...].joined(separator: " "))
        }
      })
  }

  private static func written() throws -> [Metric] {
    try Documentation.text("docs/metrics.md").split(separator: "\n").compactMap { line in
      guard line.hasPrefix("| `") else { return nil }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return Metric(name: cells[0].replacing("`", with: ""), kind: cells[1], help: cells[3])
    }
  }

  @Test func `the page has each metric once, with its kind and its meaning`() throws {
    let (written, given) = (try Self.written(), try Self.given())
    #expect(Set(written) == given)
    #expect(written.count == given.count && given.count > 30)
  }

  @Test(arguments: ["contrib/grafana/pusher-cli.json", "contrib/prometheus/pusher-cli.rules.yml"])
  func `the dashboard and the alerts ask for metrics that there are`(file: String) throws {
    let known = Set(try Self.written().map(\.name))
    let asked = try Documentation.text(file).matches(of: /\b(?:pusher_cli|process)_[a-z_]+/).map {
      String($0.output)
    }
    #expect(Set(asked).subtracting(known).isEmpty)
    #expect(Set(asked).count > 6)
  }

  @Test(.needs(.program("promtool"))) func `promtool takes the alerts`() throws {
    let file = Documentation.folder + "/contrib/prometheus/pusher-cli.rules.yml"
    let run = try PusherCLI.tool(["promtool", "check", "rules", file])
    #expect(run.ending == .exited(0), "\(run.outputText)\(run.errorText)")
  }

  @Test func `the dashboard has a query and an explanation in every panel`() throws {
    let dashboard = try JSONParser.parse(try Documentation.text("contrib/grafana/pusher-cli.json"))
    let panels = try #require(dashboard["panels"]?.elements)
    #expect(panels.count > 12)
    for panel in panels {
      #expect(panel["description"]?.text?.isEmpty == false)
      let targets = panel["targets"]?.elements ?? []
      #expect(!targets.isEmpty && targets.allSatisfy { $0["expr"]?.text?.isEmpty == false })
    }
  }
}
