import Foundation
import PusherCore
import Testing

@Suite("serve with the application's side: webhooks, endpoints, logs, many apps", .runsPrograms)
struct ServeHooksTests {
  @Test func `webhook listen prints what serve tells`() throws {
    let (receiver, port) = try PusherCLI.listening(
      ["webhook", "listen", "-n", "4"], environment: LocalServer.environment())
    let server = try LocalServer(options: [
      "--webhook", "http://127.0.0.1:\(port)/hook", "--webhook-delay", "1ms",
    ])
    try server.subscribe(["presence-lobby"], "-L", "--user-id", "7").end()
    let result = try receiver.result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    let told = try Jq.run("-r", #""\(.event) \(.channel) \(.user_id)""#, on: result.output)
    #expect(
      Set(told.split(separator: "\n")) == [
        "channel_occupied presence-lobby null", "member_added presence-lobby 7",
        "member_removed presence-lobby 7", "channel_vacated presence-lobby null",
      ])
  }

  @Test func `what nobody takes is counted at the end, without the token in the path`() throws {
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
    let recorded = try SystemFile.text(record)
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

  @Test func `--log-events prints what subscribe would`() throws {
    let server = try LocalServer(options: ["--log-events"])
    let long = String(repeating: "long ", count: 1000)
    for data in [#"{"n":1.10,"text":"é"}"#, long] {
      try server.trigger("news", "e", data, "-c", "b").expect(0)
    }
    #expect(
      try server.program.lines(4) == [
        #"{"event":"e","channel":"news","data":{"n":1.10,"text":"é"}}"#,
        #"{"event":"e","channel":"b","data":{"n":1.10,"text":"é"}}"#,
        #"{"event":"e","channel":"news","data":"\#(long)"}"#,
        #"{"event":"e","channel":"b","data":"\#(long)"}"#,
      ])
  }

  @Test func `--print-env leads the program and a shell to the server`() throws {
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0", "--print-env"],
      environment: ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": #"a$b"c d"#])
    let lines = try server.lines(8)
    #expect(lines.contains(#"PUSHER_APP_SECRET="a\$b\"c d""#))
    let file = try TemporaryFolder.shared.file("env", holding: lines.joined(separator: "\n") + "\n")
    let script = "set -a; . \(file); set +a; exec \(PusherCLI.word) trigger -c private-a -e e '{}'"
    try PusherCLI.tool(["sh", "-c", script]).expect(0)
  }
}
