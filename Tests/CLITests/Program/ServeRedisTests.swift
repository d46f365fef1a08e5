import Foundation
import PusherCore
import Testing

/// `serve --redis`: servers of several processes act as one, and stay correct after the loss of a
/// server or of Redis.
@Suite("serve --redis", .runsProgramsFirst, .enabled(if: RedisProgram.isInstalled))
struct ServeRedisTests {
  private let redis: RedisProgram

  init() throws { redis = try RedisProgram() }

  private func server(_ options: String...) throws -> LocalServer {
    try LocalServer(options: ["--redis", redis.url] + options)
  }

  private func channels(_ server: LocalServer, _ arguments: String...) throws -> String {
    try PusherCLI.run(arguments + server.address, environment: LocalServer.environment()).outputText
  }

  private func member(_ server: LocalServer, _ user: String) throws -> ChildProgram {
    let program = try server.subscribe(
      ["presence-room"], "-L", "--user-id", user, "--reconnect", "never", joins: false)
    _ = try program.outputLine(containing: "subscription_succeeded")
    return program
  }

  // MARK: Start

  @Test func `a server says that it listens once its first call can be answered`() throws {
    let port = try Loopback.closedPort()
    let file = TemporaryFolder.shared.file("port")
    let announcement = TemporaryFolder.shared.file("ready")
    redis.send(SIGSTOP)
    let program = try PusherCLI.start(
      [
        "serve", "--listen", "127.0.0.1:\(port)", "--port-file", file, "--redis", redis.url,
        "--on-ready", "touch \(announcement)",
      ], environment: LocalServer.environment())
    try waitUntil("the server takes connections") {
      try PlainRequest(port).outcome() == .answered(status: 404)
    }
    for path in [file, announcement] { #expect(!FileManager.default.fileExists(atPath: path)) }
    func call() throws -> ChildProgram {
      let place = ["--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http"]
      return try PusherCLI.start(
        ["trigger", "-c", "news", "-e", "e", "1"] + place, environment: LocalServer.environment())
    }
    // The call may arrive before the first registration and waits for it.
    let early = try call()
    redis.send(SIGCONT)
    _ = try program.port(in: file)
    for sent in [early, try call()] { try sent.result().expect(0) }
    try waitUntil("the command ran") { FileManager.default.fileExists(atPath: announcement) }
  }

  @Test func `a server that finds no Redis listens all the same, and says what is wrong`() throws {
    try redis.kill()
    let server = try server()
    #expect(try server.errorLine(containing: "redis").contains("refused"))
    #expect(try server.trigger("news", "e", "1").errorText.contains("503"))
  }

  // MARK: One server

  @Test func `members of all servers are one list, and each server answers for all`() throws {
    let servers = try (0..<2).map { _ in try server() }
    let first = try member(servers[0], "a")
    let second = try member(servers[1], "b")
    #expect(try first.outputLine(containing: "member_added").contains(#""b""#))
    for server in servers {
      #expect(try channels(server, "users", "presence-room").contains("a"))
      #expect(try channels(server, "users", "presence-room").contains("b"))
      #expect(try channels(server, "channels").contains("presence-room"))
    }
    second.send(SIGTERM)
    #expect(try first.outputLine(containing: "member_removed").contains(#""b""#))
  }

  // MARK: Loss of a server

  @Test func `the members of a killed server are told as gone, each once`() throws {
    let servers = try (0..<3).map { _ in try server() }
    let watchers = try [member(servers[0], "x"), member(servers[1], "y")]
    let lost = try member(servers[2], "z")
    for watcher in watchers {
      while try !watcher.outputLine(containing: "member_added").contains(#""z""#) {}
    }
    try servers[2].kill()
    _ = try lost.wait()
    for watcher in watchers {
      #expect(try watcher.outputLine(containing: "member_removed").contains(#""z""#))
    }
    let users = try channels(servers[0], "users", "presence-room")
    #expect(users.contains("x") && users.contains("y") && !users.contains("z"))
    // The event follows directly: nothing was reported twice.
    #expect(try servers[1].trigger("presence-room", "e", "1").ending == .exited(0))
    for watcher in watchers {
      #expect(try watcher.outputLine(containing: "room").contains(#""event":"e""#))
    }
  }

  // MARK: Loss of Redis

  @Test func `sockets stay while Redis is gone, no event is claimed, then all is well`() throws {
    let servers = try (0..<2).map { _ in try server() }
    let first = try member(servers[0], "a")
    let second = try member(servers[1], "b")
    _ = try first.outputLine(containing: "member_added")
    try redis.kill()
    for server in servers {
      try waitUntil("the API refuses") {
        let sent = try server.trigger("presence-room", "lost", "1")
        return sent.ending != .exited(0) && sent.errorText.contains("503")
      }
    }
    // An empty Redis takes its place.
    try redis.restart()
    for server in servers { try server.awaitAnswer() }
    #expect(try servers[0].trigger("presence-room", "e", "1").ending == .exited(0))
    for member in [first, second] {
      #expect(try member.outputLine(containing: "room").contains(#""event":"e""#))
    }
    let users = try channels(servers[1], "users", "presence-room")
    #expect(users.contains("a") && users.contains("b"))
  }

  @Test func `a monitor is told while Redis is gone, and when all is well again`() throws {
    let server = try server("--metrics", "127.0.0.1:0")
    let monitored = try Monitored(server)
    #expect(try monitored.ask("/healthz").body == "ok\n")
    try redis.kill()
    try waitUntil("/healthz says 503") { try monitored.ask("/healthz").status == 503 }
    #expect(try monitored.ask("/healthz").body.hasPrefix("redis: "))
    #expect(try monitored.ask("/metrics").body.contains("\npusher_cli_healthy 0\n"))
    try redis.restart()
    try waitUntil("/healthz says 200") { try monitored.ask("/healthz").status == 200 }
    #expect(try monitored.ask("/metrics").body.contains("\npusher_cli_healthy 1\n"))
  }

  @Test(.enabled(if: PusherCLI.serving.isEmpty, "every server has options of its own"))
  func `a password in the URL is refused on the command line, and a wrong URL told`() throws {
    let options = try TemporaryFolder.shared.file(
      "serve", holding: "[serve]\nredis = redis://:geheim@127.0.0.1:1/0\n")
    let variable = "PUSHER_CLI_REDIS_URL"
    for (arguments, environment, words) in [
      (["--redis", "redis://:geheim@127.0.0.1:1/0"], [:], variable),
      (["--config", options], [:], "\(options) line 2: a password does not belong here"),
      (["--config", options], [variable: "http://:geheim@x"], variable),
    ] as [([String], [String: String], String)] {
      let result = try PusherCLI.run(["serve"] + arguments, environment: environment)
      result.expect(2, telling: words)
      #expect(!result.errorText.contains("geheim"))
    }
  }
}
