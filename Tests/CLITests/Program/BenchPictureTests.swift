import Foundation
import PusherCore
import Testing

@Suite("The picture of a run of bench", .runsPrograms)
struct BenchPictureTests {
  private static let load = ["--subscribers", "5", "--rate", "40", "--time", "2500ms"]
  private static let environment = LocalServer.environment("local-secret")
    .merging(["LANG": "C.UTF-8"]) { $1 }

  @Test func `the image has a point for each second, and marks the losses`() throws {
    let server = try LocalServer(options: ["--fault", "bad-json:times=2"])
    let (svg, csv) = (
      TemporaryFolder.shared.file("delays.svg"), TemporaryFolder.shared.file("rows.csv")
    )
    let result = try PusherCLI.run(
      ["bench"] + Self.load + server.address + ["--svg", svg, "--csv", csv],
      environment: Self.environment)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let image = try SVGImage(try String(contentsOfFile: svg, encoding: .utf8))
    let rows = try String(contentsOfFile: csv, encoding: .utf8).split(separator: "\n").dropFirst()
      .map { $0.split(separator: ",", omittingEmptySubsequences: false) }
    let measured = rows.count { !$0[5].isEmpty }
    #expect(measured >= 2)
    for line in ["p50", "p99", "max"] { #expect(image.points(of: line) == measured, "\(line)") }
    let lossy = rows.filter { $0[4] != "0" }
    for row in lossy { #expect(image.texts.contains("\(row[4]) lost in second \(row[0])")) }
    #expect(!lossy.isEmpty)
  }

  @Test func `a terminal shows the delays as bars below the table, a pipe does not`() throws {
    let server = try LocalServer()
    let terminal = try PseudoTerminal()
    try terminal.resize(columns: 80)
    let program = try ChildProgram(
      PusherCLI.path, ["bench", "-q"] + Self.load + server.address,
      environment: PusherCLI.environment.merging(Self.environment) { $1 }, on: terminal.path)
    #expect(try program.wait() == .exited(0), "\(terminal.text)")
    #expect(terminal.text.contains("delays        █ p50, ░ p99; a column is 1 s"))
    #expect(terminal.text.contains("        0 ms │"))
    let piped = try PusherCLI.run(
      ["bench"] + Self.load + server.address, environment: Self.environment)
    #expect(piped.outputText.contains("delay         p50") && !piped.outputText.contains("│"))
  }
}
