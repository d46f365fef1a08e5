import Foundation
import PusherCore
import Testing

/// docs/console.md, tested by programs: address, stream, calls and the recording of a run.
@Suite("serve --console, for programs", .runsPrograms)
struct ServeConsoleTests {
  private func address(_ server: LocalServer) throws -> (url: String, token: String) {
    let line = try server.errorLine(containing: "console at ")
    let url = try #require(line.components(separatedBy: "console at ").last)
    return (url, try #require(url.components(separatedBy: "token=").last))
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

  @Test func `the page goes as gzip to those who take it, and has less than fifty kilobytes then`()
    throws
  {
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
      let program = try ChildProgram(
        "/usr/bin/env",
        ["sh", "-c", #"err=$1; shift; exec "$0" "$@" 2>"$err""#, PusherCLI.path, terminal.path]
          + ["serve", "--listen", "127.0.0.1:0"] + options, environment: PusherCLI.environment)
      try terminal.await("listening on")
      program.send(SIGTERM)
      _ = try program.wait()
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

  // MARK: The stream and the calls

  @Test func `the stream is read by sse, and an event of the console reaches its subscribers`()
    throws
  {
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
      try "[\(apps.joined(separator: ","))]".write(
        toFile: file, atomically: true, encoding: .utf8)
    }
    try write("one")
    let server = try LocalServer(options: ["--console", "--apps", file])
    let stream = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/console/events?token=\(try address(server).token)",
    ])
    #expect(!(try stream.outputLine(containing: #""hello""#).contains("key-two")))
    try write("one", "two")
    server.signal(SIGHUP)
    #expect(try stream.outputLine(containing: #""hello""#).contains("key-two"))
  }

  @Test func `all sockets are listed, and each can be ended`() throws {
    let server = try LocalServer(options: ["--console"])
    let token = try address(server).token
    let subscribers = try (0..<6).map { _ in
      try server.subscribe(["private-a"], "-L", "--reconnect", "never")
    }
    for _ in 0..<3 {
      let list = try ask(server, token, "connections?app=17")
      #expect(list["total"] == .integer(6))
      #expect(list["connections"]?.elements?.count == 6)
    }
    let channel = try ask(server, token, "channel?app=17&channel=private-a")
    let sockets = channel["sockets"]?.elements?.compactMap(\.text) ?? []
    #expect(sockets.count == 6)
    let bearer = "Authorization: Bearer \(token)"
    for socket in sockets {
      let order = #"{"app":"17","socket_id":"\#(socket)"}"#
      #expect(try curl(server, "disconnect", "-H", bearer, "--data-raw", order) == "{}")
    }
    for subscriber in subscribers {
      #expect(try subscriber.result().errorText.contains("4009"))
    }
    #expect(try ask(server, token, "connections?app=17")["total"] == .integer(0))
  }

  // MARK: The record of a run

  @Test func `a run is recorded without a page, and shown by another server`() throws {
    let file = TemporaryFolder.shared.file("run")
    let server = try LocalServer(options: ["--record", file])
    let subscriber = try server.subscribe(["presence-room"], "-L", "--user-id", "ada", "-n", "1")
    #expect(try server.trigger("presence-room", "e", #"{"secret":1}"#).ending == .exited(0))
    _ = try subscriber.result()
    try waitUntil("the end of the subscriber is written") {
      try String(contentsOfFile: file, encoding: .utf8).contains(#""vacated""#)
    }
    try server.stop()
    let kinds = try PusherCLI.tool(["jq", "-r", ".kind", file]).outputText
    for kind in ["connection", "subscription", "channel", "member", "event", "request"] {
      #expect(kinds.contains(kind))
    }
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
    #expect(mode as? Int == 0o600)

    let other = try LocalServer(options: ["--open-recording", file])
    let token = try address(other).token
    let stream = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(other.port)/console/events?token=\(token)",
    ])
    #expect(try stream.outputLine(containing: #""kind":"event""#).contains(#"{\"secret\":1}"#))
    _ = try stream.outputLine(containing: #""end""#)
  }

  @Test func `a recording of nothing but zeros is no reason to stay when a signal comes`() throws {
    let file = TemporaryFolder.shared.file("zeros")
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    try #require(FileHandle(forWritingAtPath: file)).truncate(atOffset: 8 << 30)
    let server = try LocalServer(options: ["--open-recording", file])
    let token = try address(server).token
    let stream = try PusherCLI.start([
      "sse", "http://127.0.0.1:\(server.port)/console/events?token=\(token)",
    ])
    _ = try stream.outputLine(containing: #""hello""#)
    #expect(try curl(server, "nothing?token=\(token)").contains("no such call"))
    let result = try server.stop()
    #expect(result.ending == .signalled(SIGTERM))
  }

  @Test func `files that cannot be written or read end the run at once`() throws {
    let folder = TemporaryFolder.shared.file("nowhere")
    for (option, words) in [
      ("--record", "cannot write to"), ("--open-recording", "cannot read"),
    ] {
      let result = try PusherCLI.run(
        ["serve", "--listen", "127.0.0.1:0", option, "\(folder)/file"], environment: [:])
      #expect(result.ending == .exited(2))
      #expect(result.errorText.contains("\(option): \(words)"))
    }
    let pipe = TemporaryFolder.shared.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for (path, reason) in [
      (pipe, "it is not a regular file"), ("/dev/zero", "it is not a regular file"),
      ("/tmp", "it is not a regular file"),
    ] {
      let result = try PusherCLI.run(
        ["serve", "--listen", "127.0.0.1:0", "--open-recording", path], environment: [:])
      #expect(result.ending == .exited(2))
      #expect(result.errorText.contains("--open-recording: cannot read '\(path)': \(reason)"))
    }
    let both = try PusherCLI.run(
      ["serve", "--open-recording", "x", "--no-console"], environment: [:])
    #expect(both.ending == .exited(2))
  }
}
