import Foundation
import PusherCore
import Testing

@Suite("check: what works between here and a server", .runsPrograms) struct CheckTests {
  private struct Stage: Decodable, Equatable {
    var stage: String
    var result: String
    var detail: String
    var expected: String?
    var fault: String?
    var advice: [String]?
  }

  private static func stages(_ result: ProgramResult) throws -> [Stage] {
    try result.outputLines.map {
      try JSONDecoder().decode(Stage.self, from: Data($0.utf8))
    }
  }

  private func check(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try PusherCLI.run(["check"] + arguments, environment: environment)
  }

  // MARK: Success

  @Test func `against our own server every stage is told with its time`() throws {
    let server = try LocalServer()
    let result = try server.run(["check", "news", "private-a"])
    result.expect()
    let lines = result.outputLines
    let beginnings = [
      "settings        ok: ws://127.0.0.1:\(server.port)/app/loca…, key from PUSHER_APP_KEY",
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
      check(server.address + ["-o", "json", "--cacert", matrix.authority]))
    let tls = try #require(stages.first { $0.stage == "tls" })
    #expect(tls.result == "ok", "\(tls)")
    let words = /TLSv1\.[23], \w+, certificate of CN=valid by CN=.+, \d+ days left/
    #expect(tls.detail.wholeMatch(of: words) != nil, "\(tls.detail)")
  }

  @Test func `without app id and secret the HTTP API is not tried`() throws {
    let server = try LocalServer()
    let result = try check(server.address + ["--key", LocalServer.key, "-o", "json"])
    result.expect()
    let last = try #require(try Self.stages(result).last)
    #expect(last.stage == "http api" && last.result == "not tried")
    #expect(last.detail.hasPrefix("no app id: give --app-id"))
  }

  @Test func `the fields of --header go with the upgrade, those of a file too`() throws {
    let tokens = Record<String?>()
    let server = try ScriptedServer { connection in
      let request = try connection.request()
      guard request.headers["Upgrade"] != nil else { return }
      tokens.add(request.headers["X-Token"])
      tokens.add(request.headers["X-Other"])
      try connection.welcome(request)
      try connection.stay()
    }
    let token = try TemporaryFolder.shared.file("token", holding: "X-Token: 7\n")
    _ = try check(
      server.address + ["-H", "@\(token)", "-H", "X-Other: 8", "--connect-timeout", "1s"])
    #expect(tokens.values == ["7", "8"])
  }

  @Test func `details stand in one column, whatever the channels are called`() throws {
    let server = try LocalServer()
    let long = String(repeating: "long.", count: 20)
    let result = try server.run(["check", "news", "a.channel.with.a.name", long])
    let lines = result.outputLines
    let place = try #require(lines.first { $0.hasPrefix("a.channel") }?.firstRange(of: "ok:"))
    let indent = String(repeating: " ", count: 23)
    #expect(lines.first { $0.hasPrefix("a.channel") }?.prefix(upTo: place.lowerBound).count == 23)
    for line in lines where line != long {
      #expect(line.dropFirst(21).hasPrefix("  ok:") || line.contains("not tried:"), "\(line)")
    }
    let after = try #require(lines.firstIndex(of: long))
    #expect(lines[after + 1].hasPrefix(indent + "ok: subscribed"))
  }

  // MARK: Another cluster

  /// Returns a proxy for all hosts.
  ///
  /// One cluster knows the key; the others answer as pusher.com documents.
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
    result.expect(3)
    let failed = try #require(try Self.stages(result).first { $0.result == "failed" })
    #expect(failed.stage == "greeting")
    #expect(failed.advice?.contains(advice) == true, "\(failed)")
  }

  // MARK: Broken set-ups

  @Test(arguments: CheckSetup.all)
  func `a broken set-up is told by stage, what came and status`(_ setup: CheckSetup) throws {
    let (arguments, server) = try setup.make()
    let result = try withExtendedLifetime(server) {
      try check(arguments + ["-o", "json"], ["PUSHER_APP_SECRET": "s"])
    }
    result.expect(setup.status)
    let stages = try Self.stages(result)
    let failed = try #require(stages.first { $0.result == "failed" }, "\(result.outputText)")
    #expect(failed.stage == setup.stage, "\(result.outputText)")
    let told = ([failed.detail] + (failed.advice ?? [])).joined(separator: "\n")
    #expect(told.contains(setup.tells), "\(told)")
    #expect(failed.expected?.isEmpty == false && failed.fault?.isEmpty == false)
    // Stages that need the failed stage are skipped.
    let later = stages.drop { $0.stage != setup.stage }.dropFirst().filter {
      $0.stage != "http api"
    }
    #expect(later.allSatisfy { $0.result == "not tried" }, "\(later)")
    CheckPage.expect(
      CheckPage.Row(
        setup: setup.name, stage: failed.stage, came: failed.detail, fault: failed.fault ?? "",
        advice: failed.advice ?? [], status: setup.status))
  }

  @Test func `every row of docs/check.md is the row of a set-up`() {
    #expect(CheckPage.rows.map(\.setup) == CheckSetup.all.map(\.name))
  }

  @Test func `one channel's refusal leaves the others to be tried`() throws {
    let server = try LocalServer()
    let result = try server.run(["check", "private-a", "news", "-o", "json"], secret: "another")
    result.expect(3)
    let told = try Self.stages(result).map { "\($0.stage) \($0.result)" }
    #expect(told.suffix(3) == ["private-a failed", "news ok", "http api failed"])
    #expect(!result.outputText.contains("another"))
  }
}
