import Foundation
import PusherCore
import Testing

@Suite("check: what works between here and a server")
struct CheckTests {
  /// A stage as `-o json` prints it.
  private struct Stage: Decodable, Equatable {
    var stage: String
    var result: String
    var detail: String
    var expected: String?
    var fault: String?
    var advice: [String]?
  }

  private static func stages(_ result: ProgramResult) throws -> [Stage] {
    try result.outputText.split(separator: "\n").map {
      try JSONDecoder().decode(Stage.self, from: Data($0.utf8))
    }
  }

  private func check(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try PusherCLI.start(["check"] + arguments, environment: environment).result()
  }

  // MARK: All is well

  @Test func `against our own server every stage is told with its time`() throws {
    let server = try LocalServer()
    let result = try check(
      server.address + ["news", "private-a"], LocalServer.environment("local-secret"))
    #expect(result.ending == .exited(0))
    let lines = result.outputText.split(separator: "\n").map(String.init)
    let beginnings = [
      "settings        ok: ws://127.0.0.1:\(server.port)/app/loca…, app of PUSHER_APP_KEY",
      "name service    ok: 127.0.0.1 is an address (",
      "connection      ok: 127.0.0.1:\(server.port) over IPv4, without a proxy (",
      "tls             not tried: the scheme is http",
      "upgrade         ok: 101, the server speaks WebSocket (", "greeting        ok: socket ",
      "ping            ok: answered (", "news            ok: subscribed (",
      "private-a       ok: signed with the secret, subscribed (",
      "http api        ok: HTTP 200, the signature is right (",
    ]
    #expect(lines.count == beginnings.count)
    for (line, beginning) in zip(lines, beginnings) {
      #expect(line.hasPrefix(beginning), "\(line)")
    }
    #expect(!result.outputText.contains("local-secret"))
  }

  @Test func `TLS is told with version, cipher, certificate and the days that are left`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: matrix.server("valid")) { connection in
      try connection.welcome()
      _ = try connection.message()
      try connection.stay()
    }
    let stages = try Self.stages(
      check(Self.secure(server) + ["-o", "json", "--cacert", matrix.authority]))
    let tls = try #require(stages.first { $0.stage == "tls" })
    #expect(tls.result == "ok", "\(tls)")
    let words = /TLSv1\.[23], \w+, certificate of CN=valid by CN=.+, \d+ days left/
    #expect(tls.detail.wholeMatch(of: words) != nil, "\(tls.detail)")
  }

  private static func secure(_ server: ScriptedServer) -> [String] {
    [
      "--host", "localhost", "--port", "\(server.port)", "--scheme", "https", "--key", "test-key",
    ]
  }

  @Test func `without app id and secret the HTTP API is not tried`() throws {
    let server = try LocalServer()
    let result = try check(server.address + ["--key", LocalServer.key, "-o", "json"])
    #expect(result.ending == .exited(0))
    let last = try #require(try Self.stages(result).last)
    #expect(last.stage == "http api" && last.result == "not tried")
    #expect(last.detail.hasPrefix("no app id: give --app-id"))
  }

  @Test(arguments: ["pusher", "reverb", "soketi"])
  func `every stage is well against each server that serve plays`(dialect: String) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    let result = try check(
      server.address + ["news", "private-a", "presence-b", "-o", "json"],
      LocalServer.environment("local-secret"))
    #expect(result.ending == .exited(0), "\(result.outputText)")
    #expect(
      try Self.stages(result).map(\.result) == ["ok", "ok", "ok", "not tried"]
        + Array(repeating: "ok", count: 7))
  }

  // MARK: Another cluster

  /// A proxy to the whole world, in which one cluster knows the key; the others answer as pusher.com documents it.
  private func clusters(knowing host: String?) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let way = try connection.request()
      guard way.method == "CONNECT" else { return try connection.answer(404) }
      try connection.send(stream: "HTTP/1.1 200 Connection established\r\n\r\n")
      let upgrade: HTTPRequestHead
      do { upgrade = try connection.request() } catch { throw PeerLeft() }
      if way.target == host {
        try connection.welcome(upgrade)
        try connection.stay()
      }
      try connection.upgrade(upgrade)
      try connection.send(
        event: "pusher:error", channel: nil,
        data:
          #"{"code":4001,"message":"App key test-key not in this cluster. Did you forget to specify the cluster?"}"#
      )
      try connection.stay()
    }
  }

  @Test(arguments: [
    ("ws-ap1.pusher.com:80", "cluster ap1 knows this key: add --cluster ap1"),
    (nil, "no other public cluster knows this key: is it the app key, and not the app id?"),
  ])
  func `an app that the cluster does not know is looked for in the others`(
    host: String?, advice: String
  ) throws {
    let proxy = try clusters(knowing: host)
    let result = try check([
      "--key", "test-key", "--cluster", "eu", "--scheme", "http", "--proxy",
      "http://127.0.0.1:\(proxy.port)", "-o", "json",
    ])
    #expect(result.ending == .exited(3), "\(result.outputText)")
    let failed = try #require(try Self.stages(result).first { $0.result == "failed" })
    #expect(failed.stage == "greeting")
    #expect(failed.advice?.contains(advice) == true, "\(failed)")
  }

  // MARK: Broken set-ups

  /// One broken set-up: the stage that fails, the status, and what is told.
  struct Broken: Sendable, CustomTestStringConvertible {
    var name: String
    var stage: String
    var status: Int32
    var tells: String
    /// The arguments, and what must live meanwhile.
    var make: @Sendable () throws -> ([String], AnyObject?)

    var testDescription: String { name }

    /// A server that treats every connection but the trial alike.
    static func server(
      _ name: String, _ stage: String, _ status: Int32, _ tells: String,
      _ options: [String] = [], _ script: @escaping ScriptedServer.Script
    ) -> Broken {
      Broken(name: name, stage: stage, status: status, tells: tells) {
        let server = try ScriptedServer(script)
        return (server.address + options, server)
      }
    }

    static func status(_ number: Int, _ status: Int32, _ tells: String) -> Broken {
      server("the server answers HTTP \(number)", "upgrade", status, tells) { connection in
        _ = try connection.question()
        try connection.answer(number)
      }
    }

    static func certificate(
      _ name: String, _ certificate: String, _ tells: String
    ) -> Broken {
      Broken(name: name, stage: "tls", status: 4, tells: tells) {
        let matrix = try #require(CertificateMatrix.shared)
        let server = try ScriptedServer(certificate: matrix.server(certificate)) {
          _ = try $0.request()
        }
        return (CheckTests.secure(server) + ["--cacert", matrix.authority], server)
      }
    }
  }

  private static let nobody = ["--host", "127.0.0.1", "--scheme", "http", "--key", "k"]

  private static let broken: [Broken] = [
    Broken(
      name: "nobody listens on the port", stage: "connection", status: 4,
      tells: "connection refused"
    ) { (nobody + ["--port", "\(try Loopback.closedPort())"], nil) },
    Broken(
      name: "the host's name does not exist", stage: "name service", status: 4,
      tells: "cannot resolve nowhere.invalid"
    ) { (["--host", "nowhere.invalid", "--key", "k"], nil) },
    Broken(
      name: "nobody listens on the proxy's port", stage: "connection", status: 4,
      tells: "is that a proxy?"
    ) {
      let port = try Loopback.closedPort()
      return (nobody + ["--port", "1", "--proxy", "http://127.0.0.1:\(port)"], nil)
    },
    Broken(
      name: "the proxy is in the way of a server that can be reached", stage: "connection",
      status: 4, tells: "without the proxy it works"
    ) {
      let server = try LocalServer()
      let port = try Loopback.closedPort()
      return (
        server.address + ["--key", LocalServer.key, "--proxy", "socks5h://127.0.0.1:\(port)"],
        server
      )
    },
    .server(
      "the server accepts the connection and says nothing", "upgrade", 4,
      "did not answer the upgrade",
      ["--connect-timeout", "300ms"]
    ) { try $0.stall() },
    .server(
      "the server closes the connection before it answers", "upgrade", 4,
      "closed the connection before it answered"
    ) { _ = try $0.question() },
    .status(401, 3, "wants credentials"), .status(403, 3, "does not let this client in"),
    .status(404, 5, "are --path and key"), .status(429, 4, "too many connections"),
    .status(503, 4, "try again later"),
    .server("a web page", "upgrade", 5, "no WebSocket at this address") { connection in
      _ = try connection.question()
      try connection.answer(200, body: "<!DOCTYPE html><title>Welcome</title>")
    },
    .server("an SSH server", "upgrade", 5, "SSH") { connection in
      _ = try connection.question()
      try connection.send(bytes: Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8))
      try connection.stall()
    },
    .server("http to a port of TLS", "upgrade", 4, "add --scheme https") { connection in
      _ = try connection.question()
      try connection.send(bytes: [21, 3, 1, 0, 2, 2, 70])
    },
    Broken(
      name: "https to a port of plain HTTP", stage: "tls", status: 4, tells: "add --scheme http"
    ) {
      let server = try LocalServer()
      return (
        ["--host", "127.0.0.1", "--port", server.port, "--key", LocalServer.key], server
      )
    },
    .certificate(
      "the certificate is another host's", "wrong-host", "it is not for localhost"),
    .certificate(
      "the certificate's authority is unknown", "unknown-root", "trust it with --cacert FILE"),
    .certificate("the certificate has expired", "expired", "it expired on"),
    .server(
      "the server never greets", "greeting", 4, "sent no connection_established",
      ["--connect-timeout", "300ms"]
    ) { connection in
      try connection.upgrade()
      try connection.stall()
    },
    .server(
      "pings are not answered", "ping", 4, "nothing within 0.3 s", ["--connect-timeout", "300ms"]
    ) { connection in
      try connection.welcome()
      try connection.stall()
    },
    Broken(
      name: "the key is another app's", stage: "greeting", status: 3, tells: "is key zzzz… right"
    ) {
      let server = try LocalServer()
      return (server.address + ["--key", "zzzzz"], server)
    },
    .server(
      "a channel is refused", "private-a", 3, "Invalid signature", ["private-a"]
    ) { connection in
      try connection.welcome()
      _ = try connection.subscription()
      try connection.send(
        text: #"{"event":"pusher:error","data":{"code":4009,"message":"Invalid signature"}}"#)
      try connection.stay()
    },
    .server(
      "the HTTP API refuses the signature, and the clocks differ", "http api", 3,
      "our clock is", ["--app-id", "1"]
    ) { connection in
      let request = try connection.question().head
      guard request.headers["Upgrade"] == nil else {
        try connection.welcome(request)
        _ = try connection.message()
        try connection.stay()
      }
      let head =
        "HTTP/1.1 401 Unauthorized\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        + "Content-Length: 0\r\nConnection: close\r\n\r\n"
      try connection.send(bytes: Array(head.utf8))
    },
  ]

  @Test(arguments: broken)
  func `a broken set-up is told by its stage, with what came and the status`(_ setup: Broken) throws
  {
    let (arguments, server) = try setup.make()
    let result = try withExtendedLifetime(server) {
      try check(arguments + ["-o", "json"], ["PUSHER_APP_SECRET": "s"])
    }
    #expect(result.ending == .exited(setup.status), "\(result.outputText)\(result.errorText)")
    let stages = try Self.stages(result)
    let failed = try #require(stages.first { $0.result == "failed" }, "\(result.outputText)")
    #expect(failed.stage == setup.stage, "\(result.outputText)")
    let told = ([failed.detail] + (failed.advice ?? [])).joined(separator: "\n")
    #expect(told.contains(setup.tells), "\(told)")
    #expect(failed.expected?.isEmpty == false && failed.fault?.isEmpty == false)
    // What needs the stage that failed is not tried.
    let later = stages.drop { $0.stage != setup.stage }.dropFirst().filter {
      $0.stage != "http api"
    }
    #expect(later.allSatisfy { $0.result == "not tried" }, "\(later)")
  }

  @Test func `there are at least twenty of them`() {
    #expect(Self.broken.count >= 20)
  }

  @Test func `one channel's refusal leaves the others to be tried`() throws {
    let server = try LocalServer()
    let result = try check(
      server.address + ["private-a", "news", "-o", "json"], LocalServer.environment("another"))
    #expect(result.ending == .exited(3))
    let told = try Self.stages(result).map { "\($0.stage) \($0.result)" }
    #expect(told.suffix(3) == ["private-a failed", "news ok", "http api failed"])
    #expect(!result.outputText.contains("another"))
  }

  @Test func `settings that cannot work are told before anything is tried`() throws {
    let result = try check(["--local", "private-a", "--cacert", "/nonexistent"])
    #expect(result.ending == .exited(2))
    #expect(result.outputText.isEmpty && result.errorText.contains("--cacert"))
  }
}
