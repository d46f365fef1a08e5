import Foundation
import PusherCore
import Testing

@Suite("bench in several processes", .runsPrograms)
struct BenchProcessTests {
  private static let environment = LocalServer.environment("local-secret")
  private static let endless = [
    "-v", "-o", "json", "--subscribers", "7", "--rate", "50", "--time", "1h", "--processes", "2",
  ]

  private func start(_ server: LocalServer, _ arguments: [String]) throws -> ChildProgram {
    try PusherCLI.start(
      ["bench"] + arguments + server.address, environment: Self.environment)
  }

  private func figures(_ result: ProgramResult) throws -> JSONValue {
    try #require(try? JSONParser.parse(result.outputText), "\(result.errorText)")
  }

  private func figures(_ server: LocalServer, _ arguments: [String]) throws -> JSONValue {
    let result = try start(server, arguments + ["-o", "json"]).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    return try figures(result)
  }

  private func counts(_ figures: JSONValue, _ names: [String]) -> [Int?] {
    names.map { figures[$0]?.integer }
  }

  /// Starts an endless run, and returns it with its workers after events were sent.
  private func startEndless(_ server: LocalServer) throws -> (ChildProgram, workers: [pid_t]) {
    let program = try start(server, Self.endless)
    _ = try program.errorLine(containing: "events sent")
    let workers = program.children
    #expect(workers.count == 2)
    return (program, workers)
  }

  private func awaitEnd(of workers: [pid_t]) throws {
    try waitUntil("the workers are gone") {
      workers.allSatisfy { !FileManager.default.fileExists(atPath: "/proc/\($0)/exe") }
        || workers.allSatisfy { kill($0, 0) != 0 }
    }
  }

  // MARK: Counts

  @Test(arguments: [
    ["--subscribers", "21", "--channels", "3", "--rate", "200", "--time", "500ms", "--batch", "3"],
    ["--subscribers", "21", "--rate", "100", "--time", "500ms", "-c", "presence-load"],
    ["client", "--subscribers", "11", "--channels", "3", "--rate", "21", "--time", "1s"],
    ["presence", "--subscribers", "11", "--channels", "3", "--rate", "35", "--time", "600ms"],
  ])
  func `several processes count what one counts`(load: [String]) throws {
    let names = [
      "sent", "failed", "expected", "delivered", "lost", "doubled", "out_of_order", "wrong",
      "connected", "unconnected", "errors", "reconnects",
    ]
    let server = try LocalServer()
    let one = counts(try figures(server, load), names)
    #expect(one[2] ?? 0 > 0 && one[2] == one[3])
    for processes in ["2", "5"] {
      let several = try figures(server, load + ["--processes", processes])
      #expect(counts(several, names) == one, "\(processes) processes")
      #expect(several["load"]?["processes"]?.text == nil)
      #expect(several["load"]?["processes"]?.integer == Int(processes))
    }
  }

  @Test func `a process a subscriber is the most`() throws {
    let server = try LocalServer()
    let figures = try figures(
      server, ["--subscribers", "7", "--rate", "50", "--time", "200ms", "--processes", "7"])
    #expect(counts(figures, ["connected", "expected", "delivered"]) == [7, 70, 70])
    let delays = ["p50_ms", "p99_ms", "max_ms"].map { figures[$0]?.double ?? -1 }
    #expect(delays == delays.sorted() && delays[0] > 0)
  }

  @Test(arguments: [1, 17])
  func `losses are told whichever process has them, and stand in their second`(
    spoiled: Int
  ) throws {
    let server = try LocalServer(options: ["--fault", "bad-json:times=\(spoiled)"])
    let csv = TemporaryFolder.shared.file("rows.csv")
    let figures = try figures(
      server,
      [
        "--subscribers", "20", "--channels", "3", "--rate", "200", "--time", "500ms",
        "--processes", "3", "--csv", csv,
      ])
    #expect(figures["lost"]?.integer == spoiled)
    let rows = try String(contentsOfFile: csv, encoding: .utf8).split(separator: "\n").dropFirst()
      .map { $0.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 } }
    let sums = [1, 3, 4].map { column in rows.reduce(0) { $0 + $1[column] } }
    #expect(sums == counts(figures, ["sent", "delivered", "lost"]))
  }

  @Test func `errors of all processes are told by their code`() throws {
    let figures = try figures(
      LocalServer(),
      [
        "client", "--subscribers", "6", "--channels", "2", "--rate", "200", "--time", "500ms",
        "--processes", "2",
      ])
    let dropped = try #require(figures["errors_by_code"]?["4301"]?.integer)
    #expect(dropped > 0 && figures["errors"]?.integer == dropped)
    // Each channel has a sender and two receivers.
    #expect(figures["lost"]?.integer == dropped * 2)
  }

  @Test func `after a storm the subscribers of all processes are back`() throws {
    let figures = try figures(
      LocalServer(),
      ["storm", "--subscribers", "20", "--reconnect-delay", "10ms", "--processes", "3"])
    let names = ["connected", "reconnects", "gaps", "errors"]
    #expect(counts(figures, names) == [20, 20, 20, 0])
    #expect(figures["back_max_ms"]?.double ?? 0 > 0)
  }

  @Test func `the table names the processes`() throws {
    let server = try LocalServer()
    let result = try start(
      server, ["--subscribers", "4", "--rate", "50", "--time", "200ms", "--processes", "2"]
    ).result()
    withExtendedLifetime(server) {}
    #expect(result.outputText.contains(" % of a core, in 3 processes, the busiest with "))
  }

  // MARK: Ends

  @Test func `a killed worker is told, and the run fails without figures`() throws {
    let server = try LocalServer()
    let (program, workers) = try startEndless(server)
    kill(try #require(workers.last), SIGKILL)
    let result = try program.result()
    #expect(result.ending == .exited(1) && result.outputText == "", "\(result.errorText)")
    #expect(
      result.errorText.contains(
        "error: worker 2 (process \(workers[1])) died of signal 9: its figures are lost"))
    try awaitEnd(of: workers)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal to all processes ends the run with the figures of all`(signal: Int32) throws {
    let server = try LocalServer()
    let (program, workers) = try startEndless(server)
    kill(-program.id, signal)
    let result = try program.result()
    #expect(result.ending == .signalled(signal), "\(result.errorText)")
    let figures = try figures(result)
    #expect(figures["interrupted"]?.bool == true && figures["sent"]?.integer ?? 0 > 0)
    #expect(figures["connected"]?.integer == 7 && figures["delivered"]?.integer ?? 0 > 0)
    try awaitEnd(of: workers)
    let seen = try server.stop()
    #expect(!seen.errorText.contains("error"), "\(seen.errorText)")
  }

  @Test func `no worker outlives the program`() throws {
    let server = try LocalServer()
    defer { withExtendedLifetime(server) {} }
    let (program, workers) = try startEndless(server)
    program.send(SIGKILL)
    #expect(try program.wait() == .signalled(SIGKILL))
    try awaitEnd(of: workers)
  }

  @Test func `a server that cannot be loaded has the status of its cause`() throws {
    let server = try LocalServer()
    let load = ["--subscribers", "6", "--time", "1s", "--processes", "3"]
    let unknown = try start(server, load + ["--key", "nobody"]).result()
    #expect(unknown.ending == .exited(3) && unknown.outputText == "", "\(unknown.errorText)")
    #expect(unknown.errorText.contains("no subscriber was subscribed"))
    let secret = try PusherCLI.start(
      ["bench"] + load + server.address, environment: LocalServer.environment("wrong")
    ).result()
    #expect(secret.ending == .exited(3) && secret.errorText.contains("HTTP 401"))
  }

  @Test func `each process needs room for its own share of the sockets only`() throws {
    let server = try LocalServer()
    let load = ["--subscribers", "60", "--rate", "20", "--time", "200ms", "--processes", "3"]
    let words = (["bench", "-o", "json"] + load + server.address).joined(separator: " ")
    // 60 sockets and 64 other descriptors have no room here, a third of the sockets has.
    let result = try ChildProgram(
      "/bin/sh", ["-c", "ulimit -n 90; exec \"$0\" \(words)", PusherCLI.path],
      environment: PusherCLI.environment.merging(Self.environment) { $1 }
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(counts(try figures(result), ["connected", "lost"]) == [60, 0])
  }
}

@Suite("The picture of a run of bench", .runsPrograms)
struct BenchPictureTests {
  private static let load = ["--subscribers", "5", "--rate", "40", "--time", "2500ms"]
  private static let environment = LocalServer.environment("local-secret")
    .merging(["LANG": "C.UTF-8"]) { $1 }

  @Test(arguments: ["1", "2"])
  func `the image has a point for each second, and marks the losses`(processes: String) throws {
    let server = try LocalServer(options: ["--fault", "bad-json:times=2"])
    let (svg, csv) = (
      TemporaryFolder.shared.file("delays.svg"), TemporaryFolder.shared.file("rows.csv")
    )
    let result = try PusherCLI.start(
      ["bench"] + Self.load + server.address
        + ["--processes", processes, "--svg", svg, "--csv", csv], environment: Self.environment
    ).result()
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

  @Test func `a place that cannot be written costs no run`() throws {
    let server = try LocalServer()
    let result = try PusherCLI.start(
      ["bench"] + Self.load + server.address + ["--svg", "/nowhere/a.svg"],
      environment: Self.environment
    ).result()
    #expect(result.ending == .exited(2) && result.outputText == "")
    #expect(result.errorText.contains("--svg: cannot write '/nowhere/a.svg'"))
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
    let piped = try PusherCLI.start(
      ["bench"] + Self.load + server.address, environment: Self.environment
    ).result()
    #expect(piped.outputText.contains("delay         p50") && !piped.outputText.contains("│"))
  }
}
