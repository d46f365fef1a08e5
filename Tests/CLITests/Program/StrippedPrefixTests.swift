import Foundation
import PusherCore
import Testing

/// Every caller of the HTTP API behind nginx, whose `location /ws/` removes the prefix.
@Suite(
  "A proxy that strips a prefix: --api-url", .runsPrograms, .needs(.nginx),
  .enabled(if: PusherCLI.serving.isEmpty))
struct StrippedPrefixTests {
  private let server: LocalServer
  private let nginx: ChildProgram
  private let port: UInt16

  init() throws {
    server = try LocalServer()
    port = try Loopback.closedPort()
    nginx = try LocalNginx.start(site: Self.site(port: port, server: server.port), port: port)
  }

  private static func site(port: UInt16, server: String) -> String {
    """
    server {
      listen 127.0.0.1:\(port);
      location /ws/ {
        proxy_pass http://127.0.0.1:\(server)/;
        proxy_http_version 1.1;
        proxy_set_header Host $host;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection "upgrade";
      }
    }
    """
  }

  private func start(_ words: String...) throws -> ChildProgram {
    try PusherCLI.start(
      [words[0], "--api-url", "http://127.0.0.1:\(port)/ws"] + words.dropFirst(),
      environment: LocalServer.environment())
  }

  private func startDirectly(_ words: String...) throws -> ChildProgram {
    try PusherCLI.start(
      [words[0], "--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http", "--path", "/ws"]
        + words.dropFirst(), environment: LocalServer.environment())
  }

  @Test func `the option alone leads each command to the server`() throws {
    let member = try start("subscribe", "presence-a", "--user-id", "7", "-L")
    while try !member.line().contains("subscription_succeeded") {}
    #expect(try start("channels").result().outputText == #"{"channel":"presence-a"}"# + "\n")
    #expect(try start("users", "presence-a").result().outputText == #"{"id":"7"}"# + "\n")
    try start("trigger", "-c", "presence-a", "-e", "paid", "1").result().expect(0)
    while try !member.line().contains(#""event":"paid""#) {}
    let check = try start("check", "--publish", "presence-b", "--user-id", "8").result()
    #expect(check.ending == .exited(0), "\(check.outputText)\(check.errorText)")
    let bench = try start(
      "bench", "--subscribers", "2", "--rate", "20", "--time", "500ms", "--fail", "lost>0"
    ).result()
    #expect(bench.ending == .exited(0), "\(bench.outputText)\(bench.errorText)")
    let found = try start("subscribe", "presence-*", "--user-id", "9", "-n", "1", "-L")
    while try !found.line().contains(#""channel":"presence-a""#) {}
    #expect(try start("terminate", "7").result().ending == .exited(0))
    member.send(SIGTERM)
    found.send(SIGTERM)
  }

  @Test func `a signed prefix that the server does not see is told with the option`() throws {
    let sent = try startDirectly("trigger", "-c", "news", "-e", "e", "1").result()
    #expect(sent.ending == .exited(3))
    let remedy =
      "the server sees /apps, not /ws/apps: a proxy strips /ws, "
      + "so give --api-url http://127.0.0.1:\(port)/ws"
    #expect(sent.errorText.contains(remedy), "\(sent.errorText)")
    let check = try startDirectly("check").result()
    #expect(check.ending == .exited(3))
    #expect((check.outputText + check.errorText).contains(remedy), "\(check.outputText)")
    try startDirectly(
      "bench", "--subscribers", "2", "--rate", "20", "--time", "500ms"
    ).result().expect(3, telling: remedy)
    try startDirectly("subscribe", "news*").result().expect(3, telling: remedy)
  }

  @Test func `the library asks the path, and signs the calls without it`() async throws {
    let api = PusherAPI(
      appID: LocalServer.appID, key: LocalServer.key, secret: "local-secret",
      options: .init(url: "http://127.0.0.1:\(port)/ws"))
    try await api.trigger("e", channels: ["news"], data: "{}")
    let signing = PusherAPI(
      appID: LocalServer.appID, key: LocalServer.key, secret: "local-secret",
      options: .init(
        host: .host("127.0.0.1"), port: Int(port), path: "/ws", useTLS: false))
    let error = await #expect(throws: PusherAPIError.self) {
      try await signing.trigger("e", channels: ["news"], data: "{}")
    }
    #expect(error.map { "\($0)" }?.contains("give it in Options.url") == true)
  }
}
