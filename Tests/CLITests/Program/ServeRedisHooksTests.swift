import Foundation
import PusherCore
import Testing

/// `serve --redis --webhook`: servers report each change once, whatever Redis has forgotten.
@Suite("serve --redis: webhooks", .runsProgramsFirst, .enabled(if: RedisProgram.isInstalled))
struct ServeRedisHooksTests: WebhookWatcher {
  private let redis: RedisProgram
  let receiver: ChildProgram
  private let hook: [String]

  init() throws {
    redis = try RedisProgram()
    let port: UInt16
    (receiver, port) = try PusherCLI.listening(
      ["webhook", "listen"], environment: LocalServer.environment())
    hook = ["--webhook", "http://127.0.0.1:\(port)/", "--webhook-delay", "1ms"]
  }

  private func server(_ options: String...) throws -> LocalServer {
    try LocalServer(options: ["--redis", redis.url] + hook + options)
  }

  /// Occupies and vacates a channel; all earlier webhooks have been reported then.
  private func toldUntilMark(_ server: LocalServer) throws -> [String] {
    let mark = try server.subscribe(["mark"], "-L")
    var events: [String] = []
    while true {
      let line = try receiver.line()
      if line.contains(#""mark""#) { break }
      events.append(try summary(line))
    }
    try leave(mark)
    #expect(try receiver.line().contains("channel_vacated"))
    return events
  }

  @Test func `whoever leaves an emptied Redis is told as gone once, and nobody as new`() throws {
    let servers = try (0..<2).map { _ in try server() }
    let first = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    let second = try member(servers[1], "b")
    #expect(try told(1) == ["member_added b"])
    try redis.command("FLUSHALL")
    try leave(second)
    #expect(try told(1) == ["member_removed b"])
    for server in servers { try server.awaitAnswer() }
    #expect(try toldUntilMark(servers[0]) == [])
    try leave(first)
    #expect(Set(try told(2)) == ["member_removed a", "channel_vacated"])
    #expect(try toldUntilMark(servers[1]) == [])
  }

  @Test func `who leaves the last while Redis is gone is told when it is back`() throws {
    let server = try server()
    let member = try member(server, "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try redis.kill()
    #expect(try server.errorLine(containing: "redis").contains("lost"))
    try leave(member)
    try redis.restart()
    #expect(Set(try told(2)) == ["member_removed a", "channel_vacated"])
    #expect(try toldUntilMark(server) == [])
  }

  @Test func `members of a server that was taken for dead are told as gone, then as new`() throws {
    let servers = try (0..<2).map { _ in try server() }
    let watcher = try member(servers[0], "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    let member = try member(servers[1], "b")
    #expect(try told(1) == ["member_added b"])
    servers[1].signal(SIGSTOP)
    #expect(try told(1) == ["member_removed b"])
    servers[1].signal(SIGCONT)
    #expect(try told(1) == ["member_added b"])
    #expect(try toldUntilMark(servers[0]) == [])
    let lines = try watcher.lines(3)
    #expect(lines.map { $0.contains("member_removed") } == [false, true, false], "\(lines)")
    try leave(member)
  }

  @Test func `an app that is served no more is told as vacated before it goes`() throws {
    let app = #"{"id": "17", "key": "\#(LocalServer.key)", "secret": "local-secret"}"#
    let other = #"{"id": "18", "key": "other", "secret": "other"}"#
    let file = try TemporaryFolder.shared.file("apps", holding: "[\(app), \(other)]")
    let server = try server("--apps", file)
    let member = try member(server, "a")
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    try Data("[\(other)]".utf8).write(to: URL(fileURLWithPath: file))
    server.signal(SIGHUP)
    #expect(Set(try told(2)) == ["member_removed a", "channel_vacated"])
    #expect(try member.result().errorText.contains("4001"))
    #expect(try redis.command("KEYS", "pusher-cli:0:17:node:*") == "\n")
  }

  @Test func `a channel that has become full meanwhile still takes back who was there`() throws {
    let app =
      #"{"id": "17", "key": "\#(LocalServer.key)", "secret": "local-secret", "limits": {"presence_members": 2}}"#
    let file = try TemporaryFolder.shared.file("apps", holding: "[\(app)]")
    let servers = try (0..<2).map { _ in try server("--apps", file) }
    let watcher = try member(servers[0], "a")
    // Webhooks of two servers may come in either order.
    #expect(try told(2) == ["channel_occupied", "member_added a"])
    let stopped = try member(servers[1], "b")
    #expect(try told(1) == ["member_added b"])
    servers[1].signal(SIGSTOP)
    #expect(try told(1) == ["member_removed b"])
    let late = try member(servers[0], "c")
    #expect(try told(1) == ["member_added c"])
    servers[1].signal(SIGCONT)
    #expect(try told(1) == ["member_added b"])
    // Another connection of a member on the stopped server, and one more user without room.
    let again = try member(servers[1], "b")
    let refused = try servers[1].subscribe(
      ["presence-room"], "--user-id", "d", "--reconnect", "never", "-L", joins: false)
    while try !refused.line().contains("subscription_error") {}
    try servers[1].awaitAnswer()
    for program in [refused, again, late, stopped] { try leave(program) }
    #expect(Set(try told(2)) == ["member_removed b", "member_removed c"])
    try leave(watcher)
    #expect(Set(try told(2)) == ["member_removed a", "channel_vacated"])
  }
}
