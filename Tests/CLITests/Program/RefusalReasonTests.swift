import Foundation
import PusherCore
import Testing

/// An answer of an authorisation endpoint or of the HTTP API: a row of docs/connection-errors.md.
struct RefusalAnswer: Sendable, CustomTestStringConvertible {
  let name: String
  let status: Int
  var fields: [(String, String)] = []
  var body: [UInt8] = []

  var testDescription: String { name }

  init(_ name: String, _ status: Int, _ fields: [(String, String)] = [], _ body: String = "") {
    (self.name, self.status, self.fields) = (name, status, fields)
    self.body = Array(body.utf8)
  }

  func serve(_ connection: ScriptedConnection) throws {
    _ = try connection.question()
    try connection.answer(status, "Answer", fields, bytes: body)
  }

  /// Compares the last error with the answer's row, which has three cells.
  func check(_ result: ProgramResult, port: UInt16) {
    let status = "\(result.ending)".replacing("exited with status ", with: "")
    let message = (result.errorLines.last ?? "")
      .replacing("pusher-cli: error: ", with: "").replacing(":\(port)", with: ":PORT")
    let seen = "| \(name) | `\(message)` | \(status) |"
    #expect(Self.rows.contains(seen), "docs/connection-errors.md: expected \(seen)")
  }

  static let rows: Set<String> = Set(
    ConnectionErrorTable.lines.filter { $0.split(separator: " | ").count == 3 })

  private static let page = [("Content-Type", "text/html; charset=utf-8")]
  private static let json = [("Content-Type", "application/json")]
  private static let style = "<style>" + String(repeating: "a{b:c}", count: 200) + "</style>"

  static let endpoint = [
    RefusalAnswer(
      "200 and a page", 200, page, "<!doctype html>\(style)<title>Log in &amp; go</title>"),
    RefusalAnswer("200 and a page that says it is JSON", 200, json, "<html><h1>Log in</h1></html>"),
    RefusalAnswer("200 without `auth`", 200, json, #"{"token":"x"}"#),
    RefusalAnswer("200 and a text", 200, [], "welcome"),
    RefusalAnswer("200 and nothing", 200),
    RefusalAnswer(
      "200 in an unknown coding", 200, [("Content-Encoding", "zstd")], "\u{1}\u{2}"),
    RefusalAnswer("302 to a login page", 302, [("Location", "/login?next=/auth")]),
    RefusalAnswer("401 and a text", 401, [], "who are you?"),
    RefusalAnswer("403 and a message in JSON", 403, json, #"{"message":"You are not a member."}"#),
    RefusalAnswer("404 and a page", 404, page, "<html>\(style)<body><h1>Not here</h1></body>"),
    RefusalAnswer(
      "419, Laravel without a CSRF token", 419, json, #"{"message":"CSRF token mismatch."}"#),
    RefusalAnswer("500 and a page", 500, page, "<title>Server Error</title>"),
  ]

  static let api = [
    RefusalAnswer(
      "401 and the text to sign with another prefix", 401, [],
      "Invalid signature: you should have sent HmacSHA256Hex(\"POST\\n/apps/1/events\\nauth\")"),
    RefusalAnswer("401 and a message", 401, json, #"{"error":"unknown auth_key"}"#),
    RefusalAnswer(
      "403 and a page, from a proxy", 403, page, "<html>\(style)<title>Request blocked</title>"),
    RefusalAnswer("404 and a page without a title", 404, page, "<html>\(style)<p>Nothing &lt;here"),
    RefusalAnswer("301 for an event", 301, [("Location", "https://ws.example/apps/1/events")]),
    RefusalAnswer("302 for an event", 302, [("Location", "/elsewhere")]),
    RefusalAnswer("413 and a text", 413, [], "Payload too large"),
    RefusalAnswer("502 and a page, from a proxy", 502, page, "<title>502 Bad Gateway</title>"),
  ]
}

@Suite("The reason of the other side", .runsPrograms) struct RefusalReasonTests {
  private func subscribe(to server: ScriptedServer, _ options: [String]) throws -> ProgramResult {
    try PusherCLI.run(
      ["subscribe", "-n", "1", "--reconnect", "never", "--retry-max-delay", "50ms"]
        + server.address + options)
  }

  @Test(arguments: RefusalAnswer.endpoint)
  func `an endpoint's refusal is told with URL, status and reason`(answer: RefusalAnswer) throws {
    let endpoint = try ScriptedServer { try answer.serve($0) }
    let url = "http://127.0.0.1:\(endpoint.port)/auth"
    let server = try ScriptedServer.greeting()
    let channel = try subscribe(to: server, ["private-a", "--auth-endpoint", url])
    answer.check(channel, port: endpoint.port)
    let user = try subscribe(to: server, ["news", "--sign-in", "--user-auth-endpoint", url])
    #expect(user.ending == channel.ending)
    let words = try #require(channel.errorLines.last)
      .replacing("private-a refused", with: "sign-in refused")
    #expect(user.errorLines.last == words)
  }

  @Test(arguments: ["bom", "gzip", "gzip unnamed"])
  func `an answer with a byte order mark or compressed unasked is read`(form: String) throws {
    let text = Array(#"{"auth":"test-key:signed"}"#.utf8)
    let gzip = try Array(PusherCLI.tool(["gzip", "-c"], input: text).output)
    var answer = RefusalAnswer("", 200)
    answer.fields = form == "gzip" ? [("Content-Encoding", "gzip")] : []
    answer.body = form == "bom" ? [0xEF, 0xBB, 0xBF] + text : gzip
    let endpoint = try ScriptedServer { [answer] in try answer.serve($0) }
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "e", channel: "private-a", data: "1")
    }
    let result = try subscribe(
      to: server,
      ["private-a", "-o", "raw", "--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/"])
    result.expect(0, prints: "1\n")
  }

  private func trigger(_ server: ScriptedServer, _ options: String...) throws -> ProgramResult {
    try PusherCLI.run(
      ["trigger"] + server.address
        + ["--app-id", "1", "-c", "news", "-e", "e", "1", "--path", "/ws"] + options,
      environment: ["PUSHER_APP_SECRET": "s"])
  }

  @Test(arguments: RefusalAnswer.api)
  func `the HTTP API is told with its status and reason`(answer: RefusalAnswer) throws {
    let server = try ScriptedServer { try answer.serve($0) }
    answer.check(try trigger(server), port: server.port)
  }

  /// Redirects the first request, and answers and records the next one.
  private func redirecting(
    _ status: Int, _ requests: Record<String>, body: String
  ) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let question = try connection.question()
      guard connection.number > 1 else {
        return try connection.answer(status, "Answer", [("Location", "/there")])
      }
      requests.add("\(question.head.method) \(question.head.target) \(question.body)")
      try connection.answer(200, body: body)
    }
  }

  @Test(arguments: [307, 308])
  func `an event follows a redirect that keeps the method, with its body`(status: Int) throws {
    let requests = Record<String>()
    try trigger(redirecting(status, requests, body: "{}")).expect(0)
    #expect(requests.values == [#"POST /there {"name":"e","channels":["news"],"data":"1"}"#])
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a question to the API follows every redirect`(status: Int) throws {
    let requests = Record<String>()
    let server = try redirecting(status, requests, body: #"{"channels":{"news":{}}}"#)
    try PusherCLI.run(
      ["channels"] + server.address + ["--app-id", "1"], environment: ["PUSHER_APP_SECRET": "s"]
    ).expect(0, prints: #"{"channel":"news"}"# + "\n")
    #expect(requests.values == ["GET /there "])
  }

  @Test func `every row of an answer is the row of a test`() {
    let names = (RefusalAnswer.endpoint + RefusalAnswer.api).map(\.name)
    let documented = RefusalAnswer.rows.map { $0.split(separator: " | ") }
      .filter { $0[1].hasPrefix("`") }.map { String($0[0].dropFirst(2)) }
    #expect(Set(names) == Set(documented))
    #expect(names.count == documented.count)
  }
}
