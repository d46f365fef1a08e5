import Foundation
import PusherCore
import Testing

/// docs/cluster.md: two servers, Redis and nginx, configured as on the page.
@Suite(
  "docs/cluster.md: two servers behind nginx", .runsProgramsFirst, .needs(.nginx),
  .needs(.certificates), .enabled(if: RedisProgram.isInstalled && PusherCLI.serving.isEmpty))
struct ClusterPageTests {
  private let redis: RedisProgram
  private let servers: [LocalServer]
  private let nginx: ChildProgram
  private let port: UInt16

  init() throws {
    let redis = try RedisProgram()
    self.redis = redis
    servers = try (0..<2).map { _ in
      try LocalServer(options: ["--redis", redis.url, "--drain", "300ms"])
    }
    port = try Loopback.closedPort()
    nginx = try LocalNginx.start(
      site: try Self.site(port: port, servers: servers.map(\.port)), port: port)
  }

  private static let page = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "docs/cluster.md")

  /// Returns the page's block with this test's addresses and files.
  private static func site(port: UInt16, servers: [String]) throws -> String {
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    let certificate = try #require(CertificateMatrix.shared).trusted
    let parts = page.components(separatedBy: "```nginx\n")
    var block = try #require(parts.last?.components(separatedBy: "\n```").first)
    for (shown, used) in [
      ("10.0.0.1:6001", "127.0.0.1:\(servers[0])"), ("10.0.0.2:6001", "127.0.0.1:\(servers[1])"),
      ("listen 443 ssl", "listen 127.0.0.1:\(port) ssl"),
      ("server_name ws.example.com", "server_name localhost"),
      ("/etc/ssl/ws.example.com.pem", certificate.certificate),
      ("/etc/ssl/ws.example.com.key", certificate.key),
    ] {
      try #require(block.contains(shown), "the page has no \(shown)")
      block = block.replacingOccurrences(of: shown, with: used)
    }
    return block
  }

  private func program(_ command: String, _ arguments: String...) throws -> ChildProgram {
    let authority = try #require(CertificateMatrix.shared).authority
    return try PusherCLI.start(
      [command, "--host", "localhost", "--port", "\(port)", "--cacert", authority] + arguments,
      environment: LocalServer.environment("local-secret"))
  }

  private func member(_ user: String) throws -> ChildProgram {
    let program = try program(
      "subscribe", "-c", "presence-room", "--user-id", user, "-L", "--retry-max-delay", "100ms")
    while try !program.line().contains("subscription_succeeded") {}
    return program
  }

  private func publish(_ number: Int) throws {
    try program("trigger", "-c", "presence-room", "-e", "e", "\(number)").result().expect()
  }

  private func expectEvent(_ number: Int, at members: [ChildProgram]) throws {
    let event = #"{"event":"e","channel":"presence-room","data":\#(number)}"#
    for member in members {
      while true {
        let line = try member.line()
        guard line.contains(#""event":"e""#) else { continue }
        #expect(line == event)
        break
      }
    }
  }

  /// Waits until one server has all four members and Redis has no other connection of theirs.
  private func awaitMembersOnOneServer() throws {
    let key = "pusher-cli:0:\(LocalServer.appID):{presence-room}:connections"
    try waitUntil("all members are on the other server") {
      let places = try redis.command("HKEYS", key).split(separator: "\n").map {
        $0.split(separator: "|")
      }
      return places.count == 4 && Set(places.map { $0[0] }).count == 1
        && Set(places.map { $0[1] }).count == 4
    }
  }

  private func users(_ server: LocalServer) throws -> String {
    try server.run(["users", "presence-room"]).outputText
  }

  @Test func `members on both servers see each other, and every event`() throws {
    let members = try (0..<4).map { try member("u\($0)") }
    for server in servers {
      for user in 0..<4 { #expect(try users(server).contains("u\(user)")) }
    }
    for number in 0..<4 {
      try publish(number)
      try expectEvent(number, at: members)
    }
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `members of a server that ends come back elsewhere, and calls go on`(signal: Int32) throws {
    let members = try (0..<4).map { try member("u\($0)") }
    servers[0].signal(signal)
    if signal == SIGKILL { try servers[0].kill() }
    for number in 0..<10 { try publish(number) }
    try awaitMembersOnOneServer()
    try publish(99)
    for member in members {
      while try !member.line().contains(#""data":99}"#) {}
    }
  }
}
