import Foundation
import PusherCore
import Testing

@Suite("Flags for scripts: -H, --ready-fd, --stats, -F %D and %T", .runsPrograms)
struct ScriptingFlagTests {
  // MARK: -H

  @Test func `calls of the HTTP API carry the fields of -H`() throws {
    let fields = Record<String?>()
    let server = try ScriptedServer { connection in
      fields.add(try connection.question().head.headers["X-Tenant"])
      try connection.answer(200, body: "{}")
    }
    try PusherCLI.run(
      ["trigger"] + server.address + ["-c", "a", "-e", "e", "1", "-H", "X-Tenant: 7"],
      environment: LocalServer.environment()
    ).expect(0)
    #expect(fields.values == ["7"])
  }

  // MARK: --ready-fd

  private func shell(_ line: String) throws -> ProgramResult {
    try PusherCLI.shell(line, [], environment: LocalServer.environment()).result()
  }

  @Test func `a descriptor is told once events are sure to come`() throws {
    let server = try LocalServer()
    let address = server.address.joined(separator: " ")
    try shell(
      """
      "$0" subscribe \(address) news -n 1 --ready-fd 3 3>&1 >&2 | {
        read word && echo "it said $word"
        "$0" trigger \(address) -c news -e e '"x"'
        cat
      }
      """
    ).expect(
      0, prints: "it said ready\n", says: #"{"event":"e","channel":"news","data":"x"}"# + "\n")
  }

  @Test func `a run that ends before closes the descriptor without a word`() throws {
    let result = try shell(
      #""$0" subscribe --host 127.0.0.1 --port 1 --scheme http news "#
        + "--ready-fd 3 3>&1 >/dev/null 2>&1 | wc -c")
    #expect(result.outputText.filter { !$0.isWhitespace } == "0")
  }

  // MARK: --stats

  @Test func `the state is told again and again, with -q too`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L", "-q", "--stats", "50ms")
    let first = try program.errorLine(containing: "connected, up ")
    #expect(first.contains(" 0 events (0.0/s), 0 reconnects, "))
    // The first report may come before the lines of the connection are written.
    try program.errorLine(containing: " 0 events (0.0/s), 0 reconnects, 0 bytes queued")
    _ = try server.trigger("news", "e", "1")
    _ = try program.line()
    let later = try program.errorLine(containing: " 1 events (")
    #expect(later.contains("/s), last ") && later.contains(" ago, 0 reconnects"))
    try program.end()
  }

  // MARK: -F

  @Test func `a template prints fields of a table and the local time`() throws {
    let server = try ScriptedServer.joined { try $0.send(event: "e", data: "a\tb\\c\nd") }
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "-F", #"%T\t%t\t%D"#,
      environment: ["TZ": "XYZ-5:30"])
    let fields = try program.result().outputText.split(separator: "\t")
    try #require(fields.count == 3)
    #expect(fields[2] == #"a\tb\\c\nd"# + "\n")
    let stamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+05:30/
    #expect(fields[0].wholeMatch(of: stamp) != nil, "\(fields[0])")
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    #expect(try format.parse(String(fields[0])) == format.parse(String(fields[1])))
  }
}
