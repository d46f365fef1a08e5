import Foundation
import PusherCore
import Testing

/// docs/console.md, tested by programs: address, stream, calls and the recording of a run.
@Suite("serve --console, for programs", .runsPrograms) struct ServeConsoleTests {
  private func address(_ server: LocalServer) throws -> (url: String, token: String) {
    let line = try server.errorLine(containing: "console at ")
    let url = try #require(line.components(separatedBy: "console at ").last)
    return (url, try #require(url.components(separatedBy: "token=").last))
  }

  /// Starts `sse` on the console's stream.
  private func stream(_ server: LocalServer) throws -> ChildProgram {
    let token = try address(server).token
    return try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/console/events?token=\(token)",
    ])
  }

  private func curl(_ server: LocalServer, _ call: String, _ options: String...) throws -> String {
    try PusherCLI.tool(
      ["curl", "-sS", "http://127.0.0.1:\(server.port)/console/\(call)"] + options
    ).outputText
  }

  private func ask(_ server: LocalServer, _ token: String, _ call: String) throws -> JSONValue {
    try JSONValue(parsing: curl(server, call, "-H", "Authorization: Bearer \(token)"))
  }

  // MARK: The address

  @Test func `each run has a token of its own, which is in no other line`() throws {
    let servers = try (0..<2).map { _ in try LocalServer(options: ["--console", "-vv"]) }
    let tokens = try servers.map { try address($0).token }
    #expect(tokens[0] != tokens[1])
    #expect(tokens.allSatisfy { $0.utf8.count == 32 })
    _ = try curl(servers[0], "faults?token=\(tokens[0])")
    _ = try curl(servers[0], "faults?token=wrong")
    _ = try ask(servers[0], tokens[0], "faults")
    let result = try servers[0].stop()
    #expect(result.errorText.contains("/console/faults 403"))
    #expect(!result.errorText.contains(tokens[0]), "\(result.errorText)")
  }

  @Test func `the page is sent as gzip where that is taken, in less than fifty kilobytes`() throws {
    let server = try LocalServer(options: ["--console"])
    let url = try address(server).url
    let page = { (options: String...) in
      try PusherCLI.tool(["curl", "-sS", url] + options).outputText
    }
    let plain = try page("-i").lowercased()
    #expect(plain.contains("vary: accept-encoding"))
    #expect(!plain.contains("content-encoding"))
    let body = try page()
    #expect(body.contains("</script>"))
    #expect(try page("--compressed") == body)
    let size = try page("--compressed", "-o", "/dev/null", "-w", "%{size_download}")
    #expect(try #require(Int(size)) < 50_000)
  }

  @Test func `a terminal has the console without being asked, unless it is told not to`() throws {
    func shown(_ options: [String]) throws -> String {
      let terminal = try PseudoTerminal()
      // The program's messages go to the terminal.
      let program = try PusherCLI.shell(
        #"err=$1; shift; exec "$0" "$@" 2>"$err""#,
        [terminal.path, "serve", "--listen", "127.0.0.1:0"] + options)
      try terminal.await("listening on")
      try program.end()
      return terminal.text
    }
    #expect(try shown([]).contains("console at http://127.0.0.1:"))
    #expect(!(try shown(["--no-console"]).contains("console at")))
    let others = ["--listen", "0.0.0.0:0", "--key", "k", "--app-id", "1"]
    let secret = TemporaryFolder.shared.file("secret")
    try "a secret of our own".write(toFile: secret, atomically: true, encoding: .utf8)
    #expect(!(try shown(others + ["--secret-file", secret]).contains("console at")))
    let server = try LocalServer()
    #expect(try curl(server, "faults?token=x", "-o", "/dev/null", "-w", "%{http_code}") == "404")
  }

  @Test func `a server that comes back is reached with the same token, by who was there`() throws {
    let file = TemporaryFolder.shared.file("token")
    let options = ["--console-token-file", file, "-v"]
    let server = try LocalServer(options: options)
    let made = try server.errorLine(containing: "with a new token")
    #expect(made == "pusher-cli: --console-token-file: made '\(file)' with a new token")
    let token = try SystemFile.text(file).dropLast()
    #expect(try address(server).token == token)
    let stream = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/console/events?token=\(token)",
      "--retry-delay", "50ms",
    ])
    _ = try stream.outputLine(containing: #""hello""#)
    try server.trigger("news", "before", "1").expect(0)
    #expect(try stream.outputLine(containing: #""kind":"event""#).contains(#""event":"before""#))
    try server.stop()
    let again = try LocalServer(options: options, port: server.port)
    #expect(try address(again).token == token)
    let hello = try stream.outputLine(containing: #""hello""#)
    #expect(hello.contains(#""keeps_token":true"#))
    try again.trigger("news", "after", "1").expect(0)
    // Its numbers begin anew.
    #expect(try stream.outputLine(containing: #""kind":"event""#).contains(#""event":"after""#))
  }

  // MARK: The stream and the calls

  @Test func `sse reads the stream, and an event of the console reaches its subscribers`() throws {
    let server = try LocalServer(options: ["--console"])
    let token = try address(server).token
    let stream = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/console/events?token=\(token)",
    ])
    #expect(try stream.outputLine(containing: #""hello""#).contains(#""id":"17""#))
    let subscriber = try server.subscribe(["private-a"], "-L", "-n", "1")
    let order = #"{"app":"17","channel":"private-a","event":"e","data":"{\"a\":1}"}"#
    let bearer = "Authorization: Bearer \(token)"
    #expect(try curl(server, "trigger", "-H", bearer, "--data-raw", order) == "{}")
    #expect(try subscriber.line() == #"{"event":"e","channel":"private-a","data":{"a":1}}"#)
    let entry = try stream.outputLine(containing: #""kind":"event""#)
    #expect(entry.contains(#""recipients":1"#) != PusherCLI.sharesChannels)
  }

  @Test func `a reader is told of apps that come while it looks on`() throws {
    let file = TemporaryFolder.shared.file("apps")
    func write(_ ids: String...) throws {
      let apps = ids.map { #"{"id":"\#($0)","key":"key-\#($0)","secret":"s"}"# }
      try "[\(apps.joined(separator: ","))]".write(toFile: file, atomically: true, encoding: .utf8)
    }
    try write("one")
    let server = try LocalServer(options: ["--console", "--apps", file])
    let stream = try stream(server)
    #expect(!(try stream.outputLine(containing: #""hello""#).contains("key-two")))
    try write("one", "two")
    server.signal(SIGHUP)
    #expect(try stream.outputLine(containing: #""hello""#).contains("key-two"))
  }

  // MARK: The record of a run

  @Test func `a run is recorded without a page, and shown by another server`() throws {
    let file = TemporaryFolder.shared.file("run")
    let server = try LocalServer(options: ["--record", file])
    let subscriber = try server.subscribe(["presence-room"], "-L", "--user-id", "ada", "-n", "1")
    #expect(try server.trigger("presence-room", "e", #"{"secret":1}"#).ending == .exited(0))
    _ = try subscriber.result()
    try waitUntil("the end of the subscriber is written") {
      try SystemFile.text(file).contains(#""vacated""#)
    }
    try server.stop()
    let kinds = try PusherCLI.tool(["jq", "-r", ".kind", file]).outputText
    for kind in ["connection", "subscription", "channel", "member", "event", "request"] {
      #expect(kinds.contains(kind))
    }
    #expect(try SystemFile.mode(file) == 0o600)

    let other = try LocalServer(options: ["--open-recording", file])
    let stream = try stream(other)
    #expect(try stream.outputLine(containing: #""kind":"event""#).contains(#"{\"secret\":1}"#))
    _ = try stream.outputLine(containing: #""end""#)
  }

  @Test func `files that cannot be written or read end the run at once`() throws {
    let missing = TemporaryFolder.shared.file("nowhere") + "/file"
    for (options, words) in [
      (["--record", missing], "--record: cannot write to"),
      (["--open-recording", missing], "--open-recording: cannot read"),
      (["--open-recording", "/tmp"], "cannot read '/tmp': it is not a regular file"),
      (["--open-recording", "x", "--no-console"], "--no-console"),
    ] {
      try PusherCLI.run(["serve", "--listen", "127.0.0.1:0"] + options).expect(2, telling: words)
    }
  }
}
