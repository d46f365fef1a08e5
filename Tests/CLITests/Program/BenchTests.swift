import Foundation
import PusherCore
import Testing

@Suite("bench, against servers whose losses are known", .runsProgramsFirst)
struct BenchTests {
  private static let small = [
    "--subscribers", "20", "--channels", "3", "--rate", "200", "--time", "500ms",
    "--connections-per-second", "2000",
  ]

  private func start(_ server: LocalServer, _ arguments: [String]) throws -> ChildProgram {
    try server.start(["bench"] + arguments)
  }

  private func run(_ server: LocalServer, _ arguments: [String]) throws -> ProgramResult {
    try start(server, arguments).result()
  }

  private func figures(_ result: ProgramResult) throws -> JSONValue {
    try #require(try? JSONParser.parse(result.outputText), "\(result.errorText)")
  }

  private func figures(_ server: LocalServer, _ arguments: [String]) throws -> JSONValue {
    let result = try run(server, arguments + ["-o", "json"])
    result.expect()
    return try figures(result)
  }

  /// The counts of these names.
  private func counts(_ figures: JSONValue, _ names: String...) -> [Int?] {
    names.map { figures[$0]?.integer }
  }

  private func expectPerfect(_ figures: JSONValue, deliveries: Int? = nil) throws {
    let expected = try #require(deliveries ?? figures["expected"]?.integer)
    #expect(expected > 0 && counts(figures, "expected", "delivered") == [expected, expected])
    #expect(counts(figures, "lost", "doubled", "out_of_order", "wrong") == [0, 0, 0, 0])
    #expect(counts(figures, "failed", "errors", "reconnects") == [0, 0, 0])
  }

  // MARK: The modes

  @Test func `against our own server nothing is lost, doubled, out of order or wrong`() throws {
    let figures = try figures(LocalServer(), Self.small)
    #expect(counts(figures, "sent", "connected", "unconnected") == [100, 20, 0])
    // 34, 33 and 33 events to 7, 7 and 6 subscribers.
    try expectPerfect(figures, deliveries: 34 * 7 + 33 * 7 + 33 * 6)
    let delays = ["p50_ms", "p99_ms", "p999_ms", "max_ms"].map { figures[$0]?.double ?? -1 }
    #expect(delays == delays.sorted() && delays[0] > 0)
    #expect(figures["interrupted"]?.bool == false && figures["tls_p50_ms"] == .null)
    #expect(figures["cpu"]?.double ?? -1 >= 0)
  }

  @Test(arguments: [
    ["-c", "private-load"], ["-c", "presence-load"], ["--batch", "10"], ["--size", "5000"],
    ["--compression", "--size", "5000"], ["--ramp", "500ms"], ["-c", "private-encrypted-load"],
  ])
  func `every kind of channel and load gives the same account`(options: [String]) throws {
    let key = try TemporaryFolder.shared.file(
      "key", holding: Base64.encode([UInt8](repeating: 7, count: 32)))
    let isEncrypted = options.contains("private-encrypted-load")
    let secrets = isEncrypted ? ["--encryption-key-file", key] : []
    try expectPerfect(figures(LocalServer(), Self.small + options + secrets))
  }

  @Test func `a secure server is measured with the time of TLS`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try LocalServer(certificate: certificates.trusted)
    let figures = try figures(server, Self.small + ["--cacert", certificates.authority])
    try expectPerfect(figures)
    #expect(figures["tls_p50_ms"]?.double ?? 0 > 0)
  }

  @Test(arguments: [
    // Client events reach everybody but the sender; joins and leaves all subscribers.
    ("client", ["--rate", "16", "--time", "1s"], 16, 4),
    ("presence", ["--rate", "40", "--time", "500ms"], 20, 5),
  ])
  func `client events, joins and leaves reach the subscribers of a channel`(
    mode: String, load: [String], sent: Int, receivers: Int
  ) throws {
    let figures = try figures(
      LocalServer(), [mode, "--subscribers", "10", "--channels", "2"] + load)
    #expect(counts(figures, "sent") == [sent])
    try expectPerfect(figures, deliveries: sent * receivers)
  }

  @Test func `client events that the server's limit drops are lost, and told by code`() throws {
    let result = try run(
      LocalServer(),
      ["client", "--subscribers", "3", "--rate", "100", "--time", "500ms", "-o", "json"])
    let figures = try figures(result)
    let dropped = try #require(figures["errors_by_code"]?["4301"]?.integer)
    #expect(dropped > 0 && figures["lost"]?.integer == dropped * 2)
    result.expect(4, telling: "the server accepted \(50 - dropped) of 50 client events (4301: ")
  }

  @Test func `connect tells the time of each step, and nothing of events`() throws {
    let figures = try figures(
      LocalServer(), ["connect", "--subscribers", "30", "--connections-per-second", "1000"])
    #expect(counts(figures, "connected", "unconnected", "errors") == [30, 0, 0])
    for step in ["dial", "upgrade", "greeting", "subscription", "connect"] {
      #expect(figures["\(step)_p50_ms"]?.double ?? -1 >= 0, "\(step)")
    }
    #expect(figures["lost"] == nil && figures["p99_ms"] == nil && figures["back_p50_ms"] == nil)
  }

  @Test func `after a storm all are back, and the cut is no error`() throws {
    let figures = try figures(
      LocalServer(), ["storm", "--subscribers", "20", "--retry-delay", "10ms"])
    #expect(counts(figures, "connected", "reconnects", "gaps", "errors") == [20, 20, 20, 0])
    #expect(figures["back_max_ms"]?.double ?? 0 > 0)
  }

  // MARK: Losses

  @Test(arguments: [1, 3, 17])
  func `the losses that are told are the messages that the server spoiled`(spoiled: Int) throws {
    let server = try LocalServer(options: ["--fault", "bad-json:times=\(spoiled)"])
    let result = try run(server, Self.small + ["-o", "json", "--fail", "lost>0"])
    result.expect(8, telling: "--fail 'lost>0': lost is \(spoiled)")
    let figures = try figures(result)
    #expect(figures["lost"]?.integer == spoiled && figures["doubled"]?.integer == 0)
    let missing = (figures["expected"]?.integer ?? 0) - (figures["delivered"]?.integer ?? 0)
    #expect(missing == spoiled)
  }

  @Test func `doubled and reordered deliveries are counted, and no losses`() throws {
    let server = try LocalServer(
      options: ["--fault", "duplicate:times=2", "--fault", "reorder:times=1"])
    let figures = try figures(server, Self.small)
    #expect(counts(figures, "lost", "doubled", "out_of_order") == [0, 2, 1])
  }

  @Test func `what comes while a subscriber is away is lost, by that subscriber`() throws {
    let server = try LocalServer(options: ["--fault", "drop:after=5,connections=1,times=1"])
    let figures = try figures(
      server, Self.small + ["--channels", "1", "--retry-delay", "50ms"])
    #expect(counts(figures, "reconnects", "gaps", "losing_subscribers") == [1, 1, 1])
    let lost = try #require(figures["lost"]?.integer)
    #expect(lost > 0 && figures["most_lost"]?.integer == lost)
  }

  /// Begins a run of 50 events a second, and returns it after its first second.
  private func startSlow(_ server: LocalServer, time: String) throws -> ChildProgram {
    let program = try start(
      server, ["-v", "-o", "json", "--subscribers", "5", "--rate", "50", "--time", time])
    try program.errorLine(containing: "events sent")
    return program
  }

  @Test func `a stalled server shows as the delay of all events meant to be sent in it`() throws {
    let server = try LocalServer()
    let program = try startSlow(server, time: "4s")
    server.signal(SIGSTOP)
    defer { server.signal(SIGCONT) }
    // A line comes each second, so the stall lasts one.
    for _ in 1...2 { try program.errorLine(containing: "events sent") }
    server.signal(SIGCONT)
    let result = try program.result()
    result.expect()
    let figures = try figures(result)
    #expect(figures["lost"]?.integer == 0)
    #expect(figures["max_ms"]?.double ?? 0 > 900 && figures["p99_ms"]?.double ?? 0 > 500)
  }

  @Test func `a killed server ends the run, and every loss is told`() throws {
    let server = try LocalServer()
    let program = try startSlow(server, time: "2s")
    try server.kill()
    let result = try program.result()
    result.expect(4)
    let figures = try figures(result)
    #expect(figures["failed"]?.integer ?? 0 > 0 && figures["unconnected"]?.integer == 5)
    #expect(figures["errors"]?.integer ?? 0 >= 5)
  }

  // MARK: The report

  @Test func `without JSON a table is printed, with the change since an earlier run`() throws {
    let server = try LocalServer()
    let earlier = try TemporaryFolder.shared.file(
      "earlier.json", holding: run(server, Self.small + ["-o", "json"]).outputText)
    let second = try run(server, Self.small + ["--compare", earlier])
    second.expect(says: "")
    let lines = second.outputLines
    #expect(lines.contains("lost          0") && lines.contains("doubled       0"))
    for (start, end) in [("delay         p50 ", ""), ("compared ", "change"), ("sent ", "0 %")] {
      #expect(lines.contains { $0.hasPrefix(start) && $0.hasSuffix(end) }, "\(start)")
    }
    let all = try run(server, Self.small + ["-v", "--compare", earlier]).outputLines
    #expect([lines, all].map { $0.contains { $0.hasPrefix("dial_p50 ") } } == [false, true])
    let other = try run(server, Self.small + ["--size", "300", "--compare", earlier])
    #expect(other.errorText.contains("--compare: the earlier run had another load: size"))
  }

  @Test func `the most subscribers the server takes are found, or that no load holds`() throws {
    let server = try LocalServer(options: ["--max-connections", "15"])
    let load = ["--subscribers", "5", "--rate", "20", "--time", "100ms"]
    let found = try figures(server, load + ["--find", "lost==0"])
    #expect(found["valid"]?.bool == true && counts(found, "connected") == [15])
    let search = try #require(found["found"])
    #expect(counts(search, "held", "broken", "runs") == [15, 16, 6], "\(search)")
    let none = try run(server, load + ["--find", "p50<0.001ms"])
    none.expect(8, telling: "--find 'p50<0.001ms': no load held it")
    #expect(none.outputLines.last?.hasPrefix("failed with 1 subscriber: p50 is ") == true)
  }

  @Test func `the files hold the rows a second, the distribution and the picture`() throws {
    let server = try LocalServer(options: ["--fault", "bad-json:times=2"])
    let files = ["rows.csv", "delays.hgrm", "delays.svg"].map(TemporaryFolder.shared.file)
    let figures = try figures(
      server, Self.small + ["--csv", files[0], "--histogram", files[1], "--svg", files[2]])
    let texts = try files.map { try fileText($0) }
    let rows = texts[0].split(separator: "\n").map {
      $0.split(separator: ",", omittingEmptySubsequences: false)
    }
    #expect(rows[0].prefix(5) == ["second", "sent", "failed", "delivered", "lost"])
    func sum(_ column: Int) -> Int { rows.dropFirst().reduce(0) { $0 + (Int($1[column]) ?? 0) } }
    #expect([sum(1), sum(3), sum(4)] == counts(figures, "sent", "delivered", "lost"))
    #expect(sum(4) == 2)
    #expect(texts[1].contains("#[Total count = \(figures["delivered"]?.integer ?? -1)]"))
    let image = try SVGImage(texts[2])
    let measured = rows.dropFirst().count { !$0[5].isEmpty }
    for line in ["p50", "p99", "max"] { #expect(image.points(of: line) == measured, "\(line)") }
    for row in rows.dropFirst() where row[4] != "0" {
      #expect(image.texts.contains("\(row[4]) lost in second \(row[0])"))
    }
  }

  @Test func `a terminal shows the delays as bars below the table, a pipe does not`() throws {
    let server = try LocalServer()
    let terminal = try PseudoTerminal()
    try terminal.resize(columns: 80)
    let environment = LocalServer.environment("local-secret").merging(["LANG": "C.UTF-8"]) { $1 }
    // A chart needs two seconds.
    let words =
      ["bench", "-q", "--subscribers", "5", "--rate", "40", "--time", "2500ms"] + server.address
    let program = try ChildProgram(
      PusherCLI.path, words, environment: PusherCLI.environment.merging(environment) { $1 },
      on: terminal.path)
    #expect(try program.wait() == .exited(0), "\(terminal.text)")
    #expect(terminal.text.contains("delays        █ p50, ░ p99; a column is 1 s"))
    #expect(terminal.text.contains("        0 ms │"))
    let piped = try PusherCLI.run(words, environment: environment)
    #expect(piped.outputText.contains("delay         p50") && !piped.outputText.contains("│"))
  }

  @Test(arguments: ["--csv", "--histogram", "--svg"])
  func `a file that cannot be written costs no run`(option: String) throws {
    let server = try LocalServer()
    try run(server, Self.small + [option, "/nowhere/file"]).expect(
      2, prints: "", telling: "\(option): cannot write '/nowhere/file'")
  }

  // MARK: Safety

  @Test func `another machine is not loaded without consent`() throws {
    try PusherCLI.run(
      ["bench", "--host", "bench.invalid", "--scheme", "http", "--time", "1s"],
      environment: LocalServer.environment("s")
    ).expect(
      2, prints: "", telling: "bench would put load on bench.invalid: 100 connections",
      "about 10,000 messages to subscribers; give --yes")
  }

  @Test func `a limit of open files that is too low is named with its remedy`() throws {
    let server = try LocalServer()
    try ChildProgram(
      "/bin/sh",
      ["-c", #"ulimit -n 64; exec "$0" "$@""#, PusherCLI.path, "bench"] + Self.small
        + server.address,
      environment: PusherCLI.environment.merging(LocalServer.environment("local-secret")) { $1 }
    ).result().expect(
      2, telling: "the system allows 64 open files, and 84 are needed", "ulimit -n 84")
  }

  @Test func `a signal ends the run with the figures so far`() throws {
    let server = try LocalServer()
    let program = try startSlow(server, time: "1h")
    let result = try program.result(of: SIGINT)
    let figures = try figures(result)
    #expect(figures["interrupted"]?.bool == true && figures["sent"]?.integer ?? 0 > 0)
    #expect(figures["valid"]?.bool == false)
    #expect(figures["invalid_reason"]?.text == "a signal ended the run")
    let seen = try server.stop()
    #expect(!seen.errorText.contains("error"), "\(seen.errorText)")
  }

  @Test func `a server that cannot be loaded has the status of its cause`() throws {
    let server = try LocalServer()
    try run(server, Self.small + ["--key", "nobody"]).expect(
      3, telling: "none of 20 subscribers were subscribed (closed by the server with code 4001: ")
    try server.run(["bench"] + Self.small, secret: "wrong").expect(
      3, telling: "accepted none of 100 calls (401: ",
      "do the secret and the app id belong to key loca")
    let nobody = ["--host", "127.0.0.1", "--port", "\(try Loopback.closedPort())"]
    try PusherCLI.run(
      ["bench"] + Self.small + nobody + ["--scheme", "http"],
      environment: LocalServer.environment("s")
    ).expect(4, telling: "connection refused")
  }

  // MARK: Loads that were not made

  @Test(arguments: [[], ["--fail", "lost>0"], ["--fail", "p99>10s"]])
  func `a run that did not make its load is no measurement, whatever its conditions say`(
    conditions: [String]
  ) throws {
    let server = try LocalServer()
    let result = try run(server, Self.small + ["--app-id", "999", "-o", "json"] + conditions)
    result.expect(5)
    let figures = try figures(result)
    #expect(counts(figures, "sent", "failed", "lost") == [0, 100, 0])
    let reason = try #require(figures["invalid_reason"]?.text)
    #expect(reason.hasPrefix("the server accepted none of 100 calls (404: "), "\(reason)")
    #expect(figures["valid"]?.bool == false && result.errorText.contains("error: \(reason)\n"))
    if let condition = conditions.last {
      let name = condition.prefix { $0 != ">" }
      #expect(result.errorText.contains("--fail '\(condition)': \(name) is unknown"))
    }
  }

  @Test func `a part of the subscribers is no measurement`() throws {
    let server = try LocalServer(options: ["--max-connections", "15"])
    let result = try run(server, Self.small + ["-o", "json", "--fail", "unconnected>10"])
    #expect(result.ending == .exited(5) || result.ending == .exited(4), "\(result.errorText)")
    let figures = try figures(result)
    #expect(figures["valid"]?.bool == false && figures["connected"]?.integer == 15)
    #expect(
      figures["invalid_reason"]?.text?.hasPrefix("15 of 20 subscribers were subscribed (") == true,
      "\(result.errorText)")
    #expect(!result.errorText.contains("--fail"))
  }

  @Test func `a part of the events is no measurement, and the table begins with that`() throws {
    let apps = try TemporaryFolder.shared.file(
      "apps",
      holding:
        #"[{"id":"17","key":"local-key","secret":"local-secret","limits":{"events_per_second":30}}]"#
    )
    let server = try LocalServer(options: ["--apps", apps])
    let result = try run(server, Self.small + ["-o", "json"])
    let figures = try figures(result)
    let sent = try #require(figures["sent"]?.integer)
    #expect(sent >= 30 && sent < 100)
    let reason = "the server accepted \(sent) of 100 calls (403: over quota: "
    #expect(figures["invalid_reason"]?.text?.hasPrefix(reason) == true, "\(result.errorText)")
    #expect(result.errorText.hasPrefix("pusher-cli: error: " + reason))
    result.expect(3)
    let table = try run(server, Self.small)
    #expect(table.outputText.hasPrefix("not valid     the server accepted "))
  }

  @Test func `a visitor that the server closes is named, and its last leave not counted`() throws {
    let server = try ScriptedServer { connection in
      if connection.number == 1 {
        try connection.join()
        try connection.stay()
      }
      try connection.welcome()
      for _ in 0..<3 {
        try connection.acceptSubscription()
        _ = try connection.message()
      }
      try connection.close(code: 4100, reason: "too slow")
    }
    let result = try PusherCLI.run(
      ["bench", "presence"] + server.address + [
        "--subscribers", "1", "--rate", "100", "--time", "500ms", "-o", "json",
      ], environment: ["PUSHER_APP_SECRET": "s"])
    result.expect(4)
    let figures = try figures(result)
    // The last leave has no answer: nobody knows whether the server saw it.
    #expect(counts(figures, "sent", "failed") == [5, 45])
    #expect(figures["closed_visitors"]?.elements?.compactMap(\.text) == ["presence-bench-1"])
    #expect(figures["errors_by_code"]?["4100"]?.integer == 1)
    let reason = figures["invalid_reason"]?.text ?? ""
    #expect(
      reason.hasPrefix(
        "the server accepted 5 of 50 joins and leaves (the visitor of presence-bench-1: "),
      "\(reason)")
  }
}
