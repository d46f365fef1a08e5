import Foundation
import PusherCore
import Testing

/// `serve --redis` with a Redis that refuses commands: the server reports it, claims nothing and
/// recovers with Redis.
@Suite("serve --redis: refusals", .runsProgramsFirst, .enabled(if: RedisProgram.isInstalled))
struct ServeRedisRefusalTests {
  private let redis: RedisProgram

  init() throws { redis = try RedisProgram() }

  private func server() throws -> (LocalServer, Monitored) {
    let server = try LocalServer(options: ["--redis", redis.url, "--metrics", "127.0.0.1:0"])
    return (server, try Monitored(server))
  }

  private func member(_ server: LocalServer, _ user: String) throws -> ChildProgram {
    try server.subscribe(["presence-room"], "-L", "--user-id", user, "--reconnect", "never")
  }

  /// Checks that the server reports the reason, answers 503 and fails /healthz.
  private func awaitRefusal(
    _ server: LocalServer, _ monitored: Monitored, _ words: [String]
  ) throws {
    let line = try server.errorLine(containing: "redis refuses ")
    for word in words { #expect(line.contains(word), "\(line)") }
    try waitUntil("/healthz says 503") { try monitored.ask("/healthz").status == 503 }
    #expect(try monitored.ask("/healthz").body.hasPrefix("redis: refuses "))
    #expect(try server.trigger("news", "e", "1").errorText.contains("503"))
  }

  private func awaitHealth(_ server: LocalServer, _ monitored: Monitored) throws {
    try waitUntil("/healthz says 200") { try monitored.ask("/healthz").status == 200 }
    #expect(try server.trigger("news", "e", "1").ending == .exited(0))
  }

  @Test func `a lack of memory beyond a lease is told, and all is as before afterwards`() throws {
    let (server, monitored) = try server()
    let first = try member(server, "a")
    try redis.command("CONFIG", "SET", "maxmemory", "1")
    try awaitRefusal(server, monitored, ["OOM", "raise its maxmemory"])
    // The lease has expired, so subscriptions wait.
    try waitUntil("no lease is left") { try redis.command("EVAL", Self.leases, "0") == "0\n" }
    let second = try server.subscribe(
      ["presence-room"], "-L", "--user-id", "b", "--reconnect", "never", joins: false)
    _ = try second.outputLine(containing: "connection_established")
    try redis.command("CONFIG", "SET", "maxmemory", "0")
    try awaitHealth(server, monitored)
    _ = try second.outputLine(containing: "subscription_succeeded")
    #expect(try first.outputLine(containing: "member_added").contains(#""b""#))
    second.send(SIGTERM)
    #expect(try first.outputLine(containing: "member_removed").contains(#""b""#))
  }

  private static let leases = """
    local n = 0
    for _, id in ipairs(redis.call('SMEMBERS', 'pusher-cli:0:17:nodes')) do
      n = n + redis.call('EXISTS', 'pusher-cli:0:17:node:' .. id)
    end
    return n
    """

  @Test(arguments: [
    (["resetchannels"], ["SUBSCRIBE", "&pusher-cli:*"]),
    (["resetkeys", "~other"], ["~pusher-cli:*"]),
    (["-hincrby", "-zadd"], ["HINCRBY, ZADD", "+hincrby +zadd"]),
    (["-eval"], ["+eval"]),
  ])
  func `a right that lacks at the start is named`(taken: [String], words: [String]) throws {
    try setUser(["default"] + taken)
    let (server, monitored) = try server()
    try awaitRefusal(server, monitored, words)
    try setUser(["default", "~*", "&*", "+@all"])
    try awaitHealth(server, monitored)
  }

  @Test func `the rights that docs/cluster.md gives are enough, and none of them lacks`() throws {
    let page = try Documentation.text("docs/cluster.md")
    let order = try #require(page.split(separator: "\n").first { $0.hasPrefix("ACL SETUSER ") })
    try setUser(order.split(separator: " ").dropFirst(2).map(String.init))
    let (program, port) = try PusherCLI.listening(
      ["serve"],
      environment: LocalServer.environment().merging([
        "PUSHER_CLI_REDIS_URL": "redis://pusher:PASSWORD@127.0.0.1:\(redis.port)/0"
      ]) { $1 })
    let place = ["--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http"]
    let subscriber = try PusherCLI.start(
      ["subscribe", "presence-room", "-L", "--user-id", "a"] + place,
      environment: LocalServer.environment())
    _ = try subscriber.outputLine(containing: "subscription_succeeded")
    // A missing permission would appear here, even if the server can do without it.
    #expect(try redis.command("ACL", "LOG") == "\n")
    try subscriber.end()
    withExtendedLifetime(program) {}
  }

  private func setUser(_ words: [String]) throws {
    let answer = try PusherCLI.tool(["redis-cli", "-p", "\(redis.port)", "ACL", "SETUSER"] + words)
    try #require(answer.outputText == "OK\n", "\(answer.outputText)")
  }

  @Test(arguments: ["nodes", "departed"])
  func `a key of the wrong type is told, and all is well without it`(key: String) throws {
    try redis.command("HSET", "pusher-cli:0:17:nodes", "a", "1")
    try redis.command("RENAME", "pusher-cli:0:17:nodes", "pusher-cli:0:17:\(key)")
    let (server, monitored) = try server()
    try awaitRefusal(server, monitored, ["WRONGTYPE"])
    try redis.command("DEL", "pusher-cli:0:17:\(key)")
    try awaitHealth(server, monitored)
  }

  @Test func `a channel of the wrong type is told, and who waits for it joins without it`() throws {
    let (server, monitored) = try server()
    try redis.command("SET", "pusher-cli:0:17:{presence-room}:nodes", "1")
    let program = try server.subscribe(
      ["presence-room"], "-L", "--user-id", "b", "--reconnect", "never", joins: false)
    try awaitRefusal(server, monitored, ["the join of presence-room: WRONGTYPE"])
    try redis.command("DEL", "pusher-cli:0:17:{presence-room}:nodes")
    _ = try program.outputLine(containing: "subscription_succeeded")
    try awaitHealth(server, monitored)
  }

  @Test func `a killed server's members are told as gone once Redis has memory for that`() throws {
    let ((first, monitored), (second, _)) = (try server(), try server())
    let watcher = try member(first, "a")
    let lost = try member(second, "b")
    _ = try watcher.outputLine(containing: "member_added")
    try redis.command("CONFIG", "SET", "maxmemory", "1")
    try second.kill()
    _ = try lost.wait()
    try awaitRefusal(first, monitored, ["OOM"])
    try redis.command("CONFIG", "SET", "maxmemory", "0")
    #expect(try watcher.outputLine(containing: "member_removed").contains(#""b""#))
  }

  // MARK: Invalid numbers

  @Test(arguments: [
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "4294967296", "nan",
  ])
  func `a lease of a neighbour counts no sockets that no server can have`(number: String) throws {
    let (server, monitored) = try server()
    try redis.command("SET", "pusher-cli:0:17:node:evil", number)
    try redis.command("SADD", "pusher-cli:0:17:nodes", "evil")
    // A registering server makes the others check their peers.
    try redis.command("PUBLISH", "pusher-cli:0:17:users:bus", "1:n4:evil")
    let member = try member(server, "a")
    #expect(try monitored.ask("/healthz").status == 200)
    #expect(
      try monitored.ask("/metrics").body.contains(
        #"pusher_cli_serve_open_connections{app="17"} 1"#))
    try member.end()
  }

  @Test(arguments: ["9223372036854775807", "-1", "1e400", "nan", "0x7fffffffffffffff", ""])
  func `a number of a neighbour in a channel counts nothing`(number: String) throws {
    let server = try server().0
    try redis.command("HSET", "pusher-cli:0:17:{news}:nodes", "evil", number)
    let subscriber = try server.subscribe(["news"], "-L", "--reconnect", "never")
    let answer = try PusherCLI.run(
      ["channels", "news", "--info", "subscription_count"] + server.address,
      environment: LocalServer.environment())
    #expect(answer.outputText.contains(#""subscription_count":1"#), "\(answer.outputText)")
    try subscriber.end()
    #expect(try server.trigger("news", "e", "1").ending == .exited(0))
  }
}
