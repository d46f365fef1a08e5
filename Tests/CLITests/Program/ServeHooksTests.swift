import Foundation
import PusherCore
import Testing

@Suite("serve with the application's side: webhooks, endpoints, logs, many apps", .runsPrograms)
struct ServeHooksTests {
  private func listen(_ options: String...) throws -> (program: ChildProgram, hook: [String]) {
    let file = TemporaryFolder.shared.file("hook-port")
    let program = try PusherCLI.start(
      ["webhook", "listen", "--listen", "127.0.0.1:0", "--port-file", file] + options,
      environment: ["PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "local-secret"])
    try program.errorLine(containing: "listening for webhooks")
    let port = try String(contentsOfFile: file, encoding: .utf8).dropLast()
    return (
      program, ["--webhook", "http://127.0.0.1:\(port)/hook", "--webhook-delay", "1ms"]
    )
  }

  @Test func `webhook listen prints what serve tells`() throws {
    let (receiver, hook) = try listen("-n", "4")
    let server = try LocalServer(options: hook)
    let program = try server.subscribe(["presence-lobby"], "-L", "--user-id", "7")
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
    let result = try receiver.result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let told = try Jq.run("-r", #""\(.event) \(.channel) \(.user_id)""#, on: result.output)
    #expect(
      Set(told.split(separator: "\n")) == [
        "channel_occupied presence-lobby null", "member_added presence-lobby 7",
        "member_removed presence-lobby 7", "channel_vacated presence-lobby null",
      ])
  }

  @Test func `a receiver that is not there is told, and gets its webhook when it comes`() throws {
    // A port that was free a moment ago.
    let (early, hook) = try listen()
    early.send(SIGKILL)
    try early.wait()
    let server = try LocalServer(options: hook)
    let program = try server.subscribe(["news"], "-L")
    let said = try server.errorLine(containing: "webhook channel_occupied")
    #expect(said.contains("warning: ") && said.contains("retrying in 1"))
    let port = try #require(hook[1].split(separator: ":").last?.prefix { $0 != "/" })
    let late = try PusherCLI.start(
      ["webhook", "listen", "--listen", "127.0.0.1:\(port)", "-n", "1"],
      environment: ["PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "local-secret"])
    #expect(try late.result().outputText.contains(#""channel":"news""#))
    program.send(SIGTERM)
    try program.wait()
  }

  @Test func `what nobody takes is counted when serve ends, without the token in the path`()
    throws
  {
    let record = TemporaryFolder.shared.file("record")
    let server = try LocalServer(options: [
      "-vv", "--record", record, "--webhook", "http://user:hidden@127.0.0.1:1/hidden?k=hidden",
    ])
    _ = try server.subscribe(["news"], "-L")
    _ = try server.errorLine(containing: "retrying in")
    let result = try server.stop()
    #expect(result.ending == .signalled(SIGTERM))
    #expect(
      result.errorText.contains("warning: 2 webhooks to http://127.0.0.1:1 discarded at shutdown"),
      "\(result.errorText)")
    #expect(!result.errorText.contains("hidden"), "\(result.errorText)")
    let recorded = try String(contentsOfFile: record, encoding: .utf8)
    #expect(recorded.contains(#""url":"http://127.0.0.1:1""#), "\(recorded)")
    #expect(!recorded.contains("hidden"), "\(recorded)")
  }

  @Test func `subscribe joins by serve's own endpoints, without a secret`() throws {
    let server = try LocalServer()
    let base = "http://127.0.0.1:\(server.port)"
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "--key", LocalServer.key, "private-a", "presence-b", "-L", "--auth-endpoint",
        base + "/pusher/auth", "--auth-param", "user_id=7", "--user-auth-endpoint",
        base + "/pusher/user-auth",
      ])
    let lines = try program.lines(5).joined(separator: "\n")
    #expect(lines.components(separatedBy: "pusher:subscription_succeeded").count == 4)
    #expect(lines.contains(#""presence":{"count":1,"ids":["7"]"#))
    #expect(lines.contains("pusher:signin_success") && lines.contains(#""id":"7""#))
  }

  @Test func `without the endpoints there is nobody to ask`() throws {
    let server = try LocalServer(options: ["--no-auth-endpoints"])
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + [
        "--key", LocalServer.key, "private-a", "--auth-endpoint",
        "http://127.0.0.1:\(server.port)/pusher/auth",
      ])
    #expect(try program.result().ending != .exited(0))
  }

  @Test func `--log-events prints what subscribe would`() throws {
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start([
      "serve", "--listen", "127.0.0.1:0", "--port-file", file, "--log-events",
    ])
    try server.errorLine(containing: "listening on")
    let port = try String(contentsOfFile: file, encoding: .utf8).dropLast()
    let long = String(repeating: "long ", count: 1000)
    for data in [#"{"n":1.10,"text":"é"}"#, long] {
      let sent = try PusherCLI.run(
        "trigger", "--local", "--port", String(port), "-c", "news", "-c", "b", "-e", "e", data)
      #expect(sent.ending == .exited(0), "\(sent.errorText)")
    }
    #expect(
      try server.lines(4) == [
        #"{"event":"e","channel":"news","data":{"n":1.10,"text":"é"}}"#,
        #"{"event":"e","channel":"b","data":{"n":1.10,"text":"é"}}"#,
        #"{"event":"e","channel":"news","data":"\#(long)"}"#,
        #"{"event":"e","channel":"b","data":"\#(long)"}"#,
      ])
    server.send(SIGTERM)
    #expect(try server.wait() == .signalled(SIGTERM))
  }

  @Test func `--print-env leads the program and a shell to the server`() throws {
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0", "--print-env"],
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": #"a$b"c d"#])
    let lines = try server.lines(8)
    #expect(lines.contains(#"PUSHER_APP_SECRET="a\$b\"c d""#))
    let file = try TemporaryFolder.shared.file(
      "env", holding: lines.joined(separator: "\n") + "\n")
    let script =
      "set -a; . \(file); set +a; exec \(PusherCLI.word) trigger -c private-a -e e '{}'"
    let sent = try PusherCLI.tool(["sh", "-c", script])
    #expect(sent.ending == .exited(0), "\(sent.errorText)")
  }

  @Test func `many apps are served on one port, each for itself`() throws {
    let file = try TemporaryFolder.shared.file(
      "apps",
      holding: #"[{"id":"1","key":"one","secret":"s1"},{"id":"2","key":"two","secret":"s2"}]"#)
    chmod(file, 0o600)
    let server = try LocalServer(options: ["--apps", file])
    let programs = try [("one", "s1"), ("two", "s2")].map { key, secret in
      try PusherCLI.start(
        ["subscribe"] + server.address + ["private-a", "-L", "-n", "1"],
        environment: ["PUSHER_APP_KEY": key, "PUSHER_APP_SECRET": secret])
    }
    for program in programs { #expect(try program.lines(2)[1].contains("succeeded")) }
    for (id, key, secret) in [("1", "one", "s1"), ("2", "two", "s2")] {
      let sent = try PusherCLI.run(
        ["trigger"] + server.address + ["-c", "private-a", "-e", key, "{}"],
        environment: [
          "PUSHER_APP_KEY": key, "PUSHER_APP_SECRET": secret, "PUSHER_APP_ID": id,
        ])
      #expect(sent.ending == .exited(0), "\(sent.errorText)")
    }
    for (program, key) in zip(programs, ["one", "two"]) {
      #expect(try program.line() == #"{"event":"\#(key)","channel":"private-a","data":{}}"#)
    }
  }
}
