import Foundation
import PusherCore
import Testing

/// `serve --redis --webhook-delay`: servers coordinate delayed departures, so that reports
/// alternate.
@Suite(
  "serve --redis: departures that webhooks hold back, with a real redis-server", .runsPrograms,
  .enabled(if: RedisProgram.isInstalled))
struct ServeRedisDepartureTests: WebhookWatcher {
  private let redis: RedisProgram
  let receiver: ChildProgram
  private let hook: String

  init() throws {
    redis = try RedisProgram()
    let file = TemporaryFolder.shared.file("hook-port")
    receiver = try PusherCLI.start(
      ["webhook", "listen", "--listen", "127.0.0.1:0", "--port-file", file],
      environment: ["PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "local-secret"])
    hook = "http://127.0.0.1:\(try receiver.port(in: file))/"
  }

  private func servers(_ count: Int, delay: String) throws -> [LocalServer] {
    try (0..<count).map { _ in
      try LocalServer(
        options: ["--redis", redis.url, "--webhook", hook, "--webhook-delay", delay])
    }
  }

  @Test func `who goes from server to server has come once and left once`() throws {
    let servers = try servers(3, delay: "3s")
    var member = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    for number in 1...6 {
      try leave(member)
      member = try self.member(servers[number % 3], "a")
    }
    try leave(member)
    #expect(Set(try told(2)) == ["member_removed a", "channel_vacated"])
    // Nothing else was reported: the next report is the next event.
    member = try self.member(servers[1], "b")
    #expect(try told(2) == ["channel_occupied", "member_added b"])
    try leave(member)
  }

  @Test func `who comes back on another server is there at the end, by what was told`() throws {
    let servers = try servers(2, delay: "3s")
    let first = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try leave(first)
    let second = try member(servers[1], "a")
    // A departure with a later deadline is reported later; the first one was cancelled by then.
    try leave(try member(servers[0], "b"))
    #expect(try told(2) == ["member_added b", "member_removed b"])
    try leave(second)
  }

  @Test func `what a killed server has held back is told by another`() throws {
    let servers = try servers(2, delay: "2s")
    let first = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try leave(first)
    try waitUntil("the departure is held back") {
      try redis.command("ZCARD", "pusher-cli:0:17:departed") == "2\n"
    }
    try servers[0].kill()
    #expect(try told(2) == ["member_removed a", "channel_vacated"])
  }

  @Test func `what is held back while Redis is emptied is told all the same`() throws {
    let servers = try servers(1, delay: "4s")
    let first = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try leave(first)
    try waitUntil("the departure is held back") {
      try redis.command("ZCARD", "pusher-cli:0:17:departed") == "2\n"
    }
    try redis.command("FLUSHALL")
    #expect(try told(2) == ["member_removed a", "channel_vacated"])
  }

  @Test func `the last server tells what is held back when it ends`() throws {
    let servers = try servers(1, delay: "1h")
    let first = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try leave(first)
    try servers[0].stop()
    #expect(try told(2) == ["member_removed a", "channel_vacated"])
  }
}
