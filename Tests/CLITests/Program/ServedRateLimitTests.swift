import Foundation
import PusherCore
import Testing

/// `serve --dialect reverb` with a rate limit, and what `subscribe` makes of it.
@Suite(
  "serve: Reverb's rate limit",
  .enabled(if: !PusherCLI.sharesChannels, "the answers of Redis come after the limit's error"),
  .runsPrograms)
struct ServedRateLimitTests {
  private static let channels = (1...200).map { "c\($0)" }
  private static let cause = "the server's rate limit (error 4301: Rate limit exceeded)"

  private func server(_ limit: String, clock: MovedClock? = nil) throws -> LocalServer {
    let app =
      #"{"id":"\#(LocalServer.appID)","key":"\#(LocalServer.key)","secret":"local-secret","#
      + #""rate_limiting":{\#(limit)}}"#
    let file = try TemporaryFolder.shared.file("apps", holding: "[\(app)]")
    return try LocalServer(
      options: ["--dialect", "reverb", "--apps", file], environment: clock?.environment() ?? [:])
  }

  private func start(_ server: LocalServer, clock: MovedClock? = nil) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address + Self.channels + ["-L", "-n", "1"],
      environment: LocalServer.environment("local-secret")
        .merging(clock?.environment() ?? [:]) { $1 })
  }

  private func warnings(_ result: ProgramResult) -> [Substring] {
    result.errorLines.filter { $0.contains("warning:") || $0.contains("error:") }
  }

  @Test func `200 channels and 60 messages in a time: all are subscribed, and the pace told once`()
    throws
  {
    let server = try server(#""max_attempts":60,"decay_seconds":1"#)
    let program = try start(server)
    var joined: Set<String> = []
    while joined.count < Self.channels.count {
      let line = try program.line()
      #expect(!line.contains("subscription_error") && !line.contains("disconnected"), "\(line)")
      if line.contains("subscription_succeeded") { joined.insert(line) }
    }
    #expect(try server.trigger("c200", "e", "1").ending == .exited(0))
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText.contains(#"{"event":"e","channel":"c200","data":1}"#))
    let warnings = warnings(result)
    #expect(
      warnings.first == "pusher-cli: warning: \(Self.cause): 140 requests wait; retrying in 1 s")
    let words =
      "pusher-cli: warning: \(Self.cause): sending 50 in 1 s; 30 requests wait, which takes about "
    #expect(warnings.last?.hasPrefix(words) == true, "\(warnings)")
    #expect(warnings.count { $0.contains("sending") } == 1, "\(warnings)")
  }

  @Test func `the limit comes from the file of --env-file too`() throws {
    let lines = [
      "REVERB_APP_KEY=\(LocalServer.key)", "REVERB_APP_SECRET=local-secret",
      "REVERB_APP_ID=\(LocalServer.appID)", "REVERB_APP_RATE_LIMITING_ENABLED=true",
      "REVERB_APP_RATE_LIMIT_MAX_ATTEMPTS=1", "REVERB_APP_RATE_LIMIT_DECAY_SECONDS=60",
    ]
    let file = try TemporaryFolder.shared.file("env", holding: lines.joined(separator: "\n"))
    let server = try LocalServer(options: ["--dialect", "reverb", "--env-file", file])
    let program = try server.subscribe(["a", "b"], joins: false)
    let line = try program.errorLine(containing: "rate limit")
    #expect(line == "pusher-cli: warning: \(Self.cause): 1 request waits; retrying in 1 s")
    program.send(SIGTERM)
    try program.wait()
  }

  @Test func `-v of the server names the limit that a client exceeds`() throws {
    let app =
      #"[{"id":"\#(LocalServer.appID)","key":"\#(LocalServer.key)","secret":"local-secret","#
      + #""rate_limit":{"max_attempts":1}}]"#
    let file = try TemporaryFolder.shared.file("apps", holding: app)
    let server = try LocalServer(options: ["-v", "--dialect", "reverb", "--apps", file])
    let program = try server.subscribe(["a", "b"], joins: false)
    let line = try server.errorLine(containing: "rate limit")
    #expect(line.hasSuffix("above the rate limit of messages: 1 in 60 s"), "\(line)")
    program.send(SIGTERM)
    try program.wait()
  }

  @Test func `a limit for another dialect is an error of usage`() throws {
    let app = #"[{"id":"1","key":"k","secret":"s","rate_limiting":{}}]"#
    let file = try TemporaryFolder.shared.file("apps", holding: app)
    let result = try PusherCLI.run("serve", "--apps", file, "--dialect", "soketi")
    #expect(result.ending == .exited(2))
    #expect(result.errorText.contains("rate_limiting needs --dialect reverb"))
  }
}
