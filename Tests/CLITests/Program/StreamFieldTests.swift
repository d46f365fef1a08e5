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

  private func data(_ result: ProgramResult) -> [String] {
    result.outputText.split(separator: "\n").map(String.init)
  }

  @Test func `the file of --header is read again for each connection`() throws {
    let token = try TemporaryFolder.shared.file("token", holding: "X-Token: 1\n")
    let server = try server()
    let program = try PusherCLI.start(["sse", server.url, "-r", "-H", "@\(token)"])
    #expect(try program.line() == "1")
    try "X-Token: 2\n".write(toFile: token, atomically: true, encoding: .utf8)
    var line = try program.line()
    while line == "1" { line = try program.line() }
    #expect(line == "2")
  }

  @Test func `a file that cannot be read for a later connection is a loss, and is told`() throws {
    let token = try TemporaryFolder.shared.file("token", holding: "X-Token: 1\n")
    let server = try server()
    let program = try PusherCLI.start(["sse", server.url, "-r", "-H", "@\(token)"])
    #expect(try program.line() == "1")
    try FileManager.default.removeItem(atPath: token)
    _ = try program.errorLine(containing: "--header: cannot read '\(token)'; retrying in ")
    try "X-Token: 3\n".write(toFile: token, atomically: true, encoding: .utf8)
    var line = try program.line()
    while line == "1" { line = try program.line() }
    #expect(line == "3")
  }

  @Test func `--header-command gives fresh fields for each connection, before those of --header`()
    throws
  {
    let count = TemporaryFolder.shared.file("count")
    let server = try server()
    let result = try PusherCLI.run([
      "sse", server.url, "-r", "-n", "3", "-H", "X-Token: fixed", "--header-command",
      "echo x >>\(count); echo X-Token: $(wc -l <\(count))",
    ])
    #expect(data(result) == ["1", "2", "3"])
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
    #expect(result.ending == .exited(4))
    #expect(result.errorText == "pusher-cli: error: \(reason)\n")
    #expect(server.connectionCount == 0)
  }

  @Test func `subscribe sends fresh fields with each upgrade`() throws {
    let tokens = Record<String?>()
    let server = try ScriptedServer { connection in
      let request = try connection.request()
      tokens.add(request.headers["X-Token"])
      try connection.welcome(request)
      _ = try connection.acceptSubscription()
      if connection.number == 2 { try connection.send(event: "e", data: "1") }
    }
    let count = TemporaryFolder.shared.file("count")
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--retry-max-delay", "10ms", "--header-command",
      "echo x >>\(count); echo X-Token: $(wc -l <\(count))"
    ).result()
    #expect(result.ending == .exited(0))
    #expect(tokens.values.prefix(2) == ["1", "2"])
  }

  @Test func `cookies of answers go with later requests when --cookies says so`() throws {
    let server = try server("cookie", answer: "Set-Cookie: node=7; Path=/\r\n")
    let kept = try PusherCLI.run(["sse", server.url, "-r", "-n", "2", "--cookies"])
    #expect(data(kept) == ["none", "node=7"])
    let typed = try PusherCLI.run(
      ["sse", server.url, "-r", "-n", "2", "--cookies", "-H", "Cookie: a=1"])
    #expect(data(typed) == ["a=1", "a=1; node=7"])
    let without = try PusherCLI.run(["sse", server.url, "-r", "-n", "2"])
    #expect(data(without) == ["none", "none"])
  }

  @Test(arguments: [
    (#"{"error":"token expired"}"#, "token expired"),
    ("line one\nline \u{7}two", "line one line two"),
    ("{}", ""), ("", ""),
  ])
  func `the body of a refusal is told on one line`(body: String, words: String) throws {
    for framing in ["Content-Length: \(body.utf8.count)\r\n", "", "Transfer-Encoding: chunked\r\n"]
    {
      let isChunked = framing.hasPrefix("T")
      let sent =
        isChunked
        ? (body.isEmpty ? "" : "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n") + "0\r\n\r\n"
        : body
      let server = try ScriptedServer { connection in
        _ = try connection.question()
        try connection.send(stream: "HTTP/1.1 403 No\r\n\(framing)\r\n")
        try connection.send(stream: sent)
      }
      let result = try PusherCLI.run(["sse", server.url])
      let said = words.isEmpty ? "No" : "No: \(words)"
      #expect(
        result.errorText.hasPrefix("pusher-cli: error: the server answered HTTP 403 (\(said)) ("),
        "\(framing)")
      #expect(result.ending == .exited(3))
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
