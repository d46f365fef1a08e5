import Foundation
import PusherCore
import Testing

/// `serve --redis --webhook-delay`: servers coordinate delayed departures, so that reports
/// alternate.
@Suite("serve --redis: departures", .runsProgramsFirst, .enabled(if: RedisProgram.isInstalled))
struct ServeRedisDepartureTests: WebhookWatcher {
  private let redis: RedisProgram
  let receiver: ChildProgram
  private let hook: String

  init() throws {
    redis = try RedisProgram()
    let port: UInt16
    (receiver, port) = try PusherCLI.listening(
      ["webhook", "listen"], environment: LocalServer.environment())
    hook = "http://127.0.0.1:\(port)/"
  }

  private func servers(_ count: Int, delay: String) throws -> [LocalServer] {
    try (0..<count).map { _ in
      try LocalServer(options: ["--redis", redis.url, "--webhook", hook, "--webhook-delay", delay])
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

  /// What happens to a server while it holds a departure back, and for how long it would.
  enum Trouble: String, CaseIterable {
    case isKilled = "2s"
    case losesRedis = "4s"
    case ends = "1h"
  }

  @Test(arguments: Trouble.allCases)
  func `what a server holds back is told by another, and at the end`(trouble: Trouble) throws {
    let servers = try servers(trouble == .isKilled ? 2 : 1, delay: trouble.rawValue)
    let first = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try leave(first)
    if trouble == .ends {
      try servers[0].stop()
    } else {
      try waitUntil("the departure is held back") {
        try redis.command("ZCARD", "pusher-cli:0:17:departed") == "2\n"
      }
      if trouble == .isKilled { try servers[0].kill() } else { try redis.command("FLUSHALL") }
    }
    #expect(try told(2) == ["member_removed a", "channel_vacated"])
  }
}
