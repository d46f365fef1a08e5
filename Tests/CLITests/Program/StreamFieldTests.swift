import Foundation
import PusherCore
import Testing

@Suite("sse: fields and cookies of each connection", .runsPrograms)
struct StreamFieldTests {
  private func server(_ name: String = "x-token", answer: String = "") throws -> ScriptedServer {
    try ScriptedServer { connection in
      let value = try connection.question().head.headers[name]
      try connection.send(
        stream: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\(answer)\r\n"
          + "retry: 1\ndata: \(value ?? "none")\n\n")
    }
  }

  private func data(_ server: ScriptedServer, _ options: [String]) throws -> [Substring] {
    try PusherCLI.run(["sse", server.url, "-o", "raw"] + options).outputText.split(separator: "\n")
  }

  /// What becomes of the file of `--header` during a run, and what is said about that.
  enum Change: CaseIterable {
    case replaced, removed, emptied, pipe

    func apply(to file: String) throws {
      switch self {
      case .replaced: break
      case .removed: unlink(file)
      case .emptied: try "".write(toFile: file, atomically: true, encoding: .utf8)
      case .pipe: _ = try NamedPipe(at: file)
      }
    }

    func message(_ file: String) -> String? {
      let kept = "pusher-cli: warning: --header: '\(file)': "
      return switch self {
      case .replaced: nil
      case .removed: "--header: cannot read '\(file)'; retrying in "
      case .emptied: kept + "it has no header field; sending its previous fields"
      case .pipe: kept + "it is a pipe, not a file; sending its previous fields"
      }
    }
  }

  @Test(arguments: Change.allCases)
  func `the file of --header is read again for each connection, and its loss is told`(
    change: Change
  ) throws {
    let token = try TemporaryFolder.shared.file("token", holding: "X-Token: 1\n")
    let server = try server()
    let program = try PusherCLI.start(["sse", server.url, "-o", "raw", "-H", "@\(token)"])
    #expect(try program.line() == "1")
    try change.apply(to: token)
    if let message = change.message(token) { try program.errorLine(containing: message) }
    if [.emptied, .pipe].contains(change) {
      #expect(try program.lines(20).allSatisfy { $0 == "1" })
    }
    if change == .pipe { unlink(token) }
    try "X-Token: 2\n".write(toFile: token, atomically: true, encoding: .utf8)
    var line = try program.line()
    while line == "1" || line == "none" { line = try program.line() }
    #expect(line == "2")
    try program.end()
  }

  /// A command that prints one more with each run.
  private static func counting(_ file: String) -> String {
    "echo x >>\(file); echo X-Token: $(wc -l <\(file))"
  }

  @Test func `--header-command gives fresh fields for each connection, before --header's`() throws {
    let command = Self.counting(TemporaryFolder.shared.file("count"))
    let options = ["-n", "3", "-H", "X-Token: fixed", "--header-command", command]
    #expect(try data(server(), options) == ["1", "2", "3"])
  }

  @Test(arguments: [
    ("exit 3", "--header-command: the command ended with status 3"),
    (
      "echo secretive nonsense",
      "--header-command needs the form 'NAME: VALUE', or @FILE with such lines"
    ),
  ])
  func `a command that fails is a connection that could not be made`(
    command: String, reason: String
  ) throws {
    let server = try server()
    let result = try PusherCLI.run(["sse", server.url, "--header-command", command])
    result.expect(4, error: reason)
    #expect(server.connectionCount == 0)
  }

  @Test func `subscribe sends fresh fields with each upgrade`() throws {
    let tokens = Record<String?>()
    let server = try ScriptedServer { connection in
      let request = try connection.request()
      tokens.add(request.headers["X-Token"])
      try connection.welcome(request)
      try connection.acceptSubscription()
      if connection.number == 2 { try connection.send(event: "e", data: "1") }
    }
    try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--retry-max-delay", "10ms", "--header-command",
      Self.counting(TemporaryFolder.shared.file("count"))
    ).result().expect(0)
    #expect(tokens.values.prefix(2) == ["1", "2"])
  }

  @Test(arguments: [
    ([], ["none", "none"]), (["--cookies"], ["none", "node=7"]),
    (["--cookies", "-H", "Cookie: a=1"], ["a=1", "a=1; node=7"]),
  ])
  func `cookies of answers go with later requests when --cookies says so`(
    options: [String], sent: [String]
  ) throws {
    let server = try server("cookie", answer: "Set-Cookie: node=7; Path=/\r\n")
    #expect(try data(server, ["-n", "2"] + options).map(String.init) == sent)
  }

  @Test(arguments: [
    (#"{"error":"token expired"}"#, "No: token expired"),
    ("line one\nline \u{7}two", "No: line one line two"), ("{}", "No"), ("", "No"),
  ])
  func `the body of a refusal is told on one line`(body: String, words: String) throws {
    let size = body.utf8.count
    let chunk = body.isEmpty ? "" : "\(String(size, radix: 16))\r\n\(body)\r\n"
    for (framing, sent) in [
      ("Content-Length: \(size)\r\n", body), ("", body),
      ("Transfer-Encoding: chunked\r\n", chunk + "0\r\n\r\n"),
    ] {
      let server = try ScriptedServer { connection in
        _ = try connection.question()
        try connection.send(stream: "HTTP/1.1 403 No\r\n\(framing)\r\n\(sent)")
      }
      let start = "pusher-cli: error: the server answered HTTP 403 (\(words)) ("
      let result = try PusherCLI.run(["sse", server.url])
      #expect(result.ending == .exited(3) && result.errorText.hasPrefix(start), "\(framing)")
    }
  }

  @Test func `a body that does not end holds nothing up, and a long one is cut`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      if connection.number == 1 {
        try connection.send(stream: "HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\nwait")
        try connection.remain()
      }
      try connection.send(stream: "HTTP/1.1 403 No\r\n\r\n")
      let block = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
      while true { try connection.send(bytes: block) }
    }
    let endless = try PusherCLI.run(["sse", server.url])
    #expect(endless.errorText.contains("HTTP 403 (No: wait) ("))
    let long = try PusherCLI.run(["sse", server.url])
    #expect(long.errorText.contains("(No: \(String(repeating: "x", count: 300))…) ("))
  }
}
