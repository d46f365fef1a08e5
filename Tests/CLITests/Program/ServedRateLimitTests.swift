import Foundation
import PusherCore
import Testing

/// `serve --dialect reverb` with a rate limit, and what `subscribe` makes of it.
@Suite(
  "serve: Reverb's rate limit",
  .enabled(if: !PusherCLI.sharesChannels, "the answers of Redis come after the limit's error"),
  .runsPrograms)
struct ServedRateLimitTests {
  @Test func `200 channels at 60 messages a time: all subscribed, and the pace told once`() throws {
    let channels = (1...200).map { "c\($0)" }
    let cause = "the server's rate limit (error 4301: Rate limit exceeded)"
    let app =
      #"{"id":"\#(LocalServer.appID)","key":"\#(LocalServer.key)","secret":"local-secret","#
      + #""rate_limiting":{"max_attempts":60,"decay_seconds":1}}"#
    let file = try TemporaryFolder.shared.file("apps", holding: "[\(app)]")
    let server = try LocalServer(options: ["--dialect", "reverb", "--apps", file])
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + channels + ["-L", "-n", "1"],
      environment: LocalServer.environment())
    var joined: Set<String> = []
    while joined.count < channels.count {
      let line = try program.line()
      #expect(!line.contains("subscription_error") && !line.contains("disconnected"), "\(line)")
      if line.contains("subscription_succeeded") { joined.insert(line) }
    }
    try server.trigger("c200", "e", "1").expect(0)
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText.contains(#"{"event":"e","channel":"c200","data":1}"#))
    let warnings = result.errorLines.filter {
      $0.contains("warning:") || $0.contains("error:")
    }
    #expect(warnings.first == "pusher-cli: warning: \(cause): 140 requests wait; retrying in 1 s")
    let words = "sending 50 in 1 s; 30 requests wait, which takes about "
    #expect(
      warnings.last?.hasPrefix("pusher-cli: warning: \(cause): \(words)") == true, "\(warnings)")
    #expect(warnings.count { $0.contains("sending") } == 1, "\(warnings)")
  }
}
