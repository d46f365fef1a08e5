import Foundation
import PusherCore
import Testing

@Suite(
  "Every failure has its status, one line on standard error and nothing on standard output",
  .runsPrograms)
struct ExitStatusTests {
  private func expect(
    _ status: Int32, _ text: String, _ program: ChildProgram,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let result = try program.result()
    #expect(result.ending == .exited(status), sourceLocation: sourceLocation)
    #expect(result.output.isEmpty, sourceLocation: sourceLocation)
    #expect(result.errorLines.count == 1, "\(result.errorText)", sourceLocation: sourceLocation)
    #expect(result.errorText.hasPrefix("pusher-cli: "), sourceLocation: sourceLocation)
    #expect(result.errorText.contains(text), "\(result.errorText)", sourceLocation: sourceLocation)
  }

  @Test func `an unknown key is 3`() throws {
    let server = try ScriptedServer { connection in
      try connection.upgrade()
      try connection.send(
        text:
          #"{"event":"pusher:error","data":{"code":4001,"message":"App key test-key not in this cluster"}}"#
      )
      try connection.close(code: 4001, reason: "App key test-key not in this cluster")
    }
    try expect(3, "4001", PusherCLI.subscribe(to: server, "news"))
  }

  @Test func `an unknown key that only an error event tells is 3`() throws {
    let server = try ScriptedServer { connection in
      try connection.upgrade()
      try connection.send(
        text:
          #"{"event":"pusher:error","data":"{\"code\":4001,\"message\":\"Application does not exist\"}"}"#
      )
      try connection.stay()
    }
    try expect(3, "Application does not exist", PusherCLI.subscribe(to: server, "news"))
  }

  @Test(arguments: ["401 Unauthorized", "403 Forbidden"])
  func `an upgrade refused for the key is 3`(status: String) throws {
    let server = try refusing(with: status)
    try expect(3, "HTTP \(status.prefix(3))", PusherCLI.subscribe(to: server, "news"))
  }

  @Test(arguments: ["400 Bad Request", "404 Not Found", "501 Not Implemented", "200 OK"])
  func `an upgrade refused otherwise is 5`(status: String) throws {
    let server = try refusing(with: status)
    try expect(5, "HTTP \(status.prefix(3))", PusherCLI.subscribe(to: server, "news"))
  }

  @Test(arguments: ["429 Too Many Requests", "500 Internal Server Error", "503 Unavailable"])
  func `an upgrade refused for now is 4`(status: String) throws {
    let server = try refusing(with: status)
    try expect(4, "HTTP \(status.prefix(3))", PusherCLI.subscribe(to: server, "news"))
  }

  private func refusing(with status: String) throws -> ScriptedServer {
    try ScriptedServer { connection in
      _ = try connection.request()
      let parts = status.split(separator: " ", maxSplits: 1)
      try connection.answer(Int(parts[0]) ?? 500, String(parts[1]), body: "no")
    }
  }

  @Test func `a server that speaks something else is 5`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      try connection.send(bytes: Array("SSH-2.0-OpenSSH_9.2\r\n\r\n".utf8))
      try connection.stall()
    }
    try expect(5, "protocol", PusherCLI.subscribe(to: server, "news"))
  }

  @Test func `a closed port is 4`() throws {
    let port = try Loopback.closedPort()
    let address = ["--host", "127.0.0.1", "--port", "\(port)", "--scheme", "http", "--key", "k"]
    try expect(4, "refused", PusherCLI.start(["subscribe"] + address + ["news"]))
    try expect(
      4, "refused",
      PusherCLI.start(
        ["trigger", "--app-id", "1"] + address + ["-c", "news", "-e", "e", "{}"],
        environment: ["PUSHER_APP_SECRET": "s"]))
  }

  @Test func `a name that does not exist is 4`() throws {
    // Names under .invalid do not exist (RFC 6761).
    let address = ["--host", "nowhere.invalid", "--key", "k"]
    try expect(4, "nowhere.invalid", PusherCLI.start(["subscribe"] + address + ["news"]))
  }

  @Test(.needs(.certificates))
  func `a certificate of an unknown authority is 4`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: certificates.trusted) { try $0.stay() }
    try expect(4, "certificate", PusherCLI.subscribe(to: server, "news"))
    try expect(
      4, "certificate",
      PusherCLI.start(
        ["trigger", "--app-id", "1"] + server.address + ["-c", "news", "-e", "e", "{}"],
        environment: ["PUSHER_APP_SECRET": "s"]))
  }

  @Test(.needs(.certificates))
  func `a certificate of another host is 4`() throws {
    let certificates = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: certificates.server("wrong-host")) {
      try $0.stay()
    }
    try expect(
      4, "localhost",
      PusherCLI.subscribe(to: server, "news", "--cacert", certificates.authority))
  }

  @Test func `a server without TLS where TLS is wanted is 4`() throws {
    let server = try ScriptedServer { connection in
      try connection.receive(into: connection.input)
      try connection.answer(400, "Bad Request")
    }
    try expect(
      4, "TLS",
      PusherCLI.start([
        "subscribe", "--host", "127.0.0.1", "--port", "\(server.port)", "--key", "k", "news",
      ]))
  }

  @Test func `a server that never greets is 4`() throws {
    let server = try ScriptedServer { connection in
      try connection.upgrade()
      try connection.ignore()
    }
    try expect(
      4, "within 0.3 s",
      PusherCLI.subscribe(to: server, "news", "--connect-timeout", "300ms"))
  }

  @Test func `a refused channel is 3`() throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      _ = try connection.subscription()
      try connection.send(
        text:
          #"{"event":"pusher:subscription_error","channel":"private-x","data":{"type":"AuthError","error":"invalid signature","status":401}}"#
      )
      try connection.stay()
    }
    try expect(
      3, "private-x refused: invalid signature",
      PusherCLI.subscribe(to: server, "private-x", environment: ["PUSHER_APP_SECRET": "wrong"]))
  }

  @Test(arguments: [
    (["subscribe", "--chanel", "x"], "did you mean '--channel'"),
    (["subscribe", "--key", "k"], "no channel"),
    (["subscribe", "news"], "no app key"),
    (["subscribe", "--key", "--channel", "x"], "--key needs a value"),
    (["subscribe", "--key", "k", "private-x"], "needs authorisation"),
    (["subscribe", "--key", "k", "--port", "http", "x"], "--port"),
    (["subscribe", "--key", "k", "--cacert", "/nonexistent.pem", "x"], "/nonexistent.pem"),
    (["subscribe", "--key", "k", "--secret-file", "/nonexistent", "private-x"], "/nonexistent"),
    (["subscribe", "--key", "k", "--auth-endpoint", "ftp://h/", "private-x"], "--auth-endpoint"),
    (["subscribe", "--secret", "s", "x"], "--secret-file"),
    (["trigger", "-c", "x", "-e", "e", "--app-id", "1", "--key", "k", "{}"], "no secret"),
    (["serve", "--listen", "nonsense"], "--listen"),
    (["subscripe", "x"], "did you mean 'subscribe'"),
  ])
  func `a wrong command line is 2`(arguments: [String], text: String) throws {
    let result = try PusherCLI.start(arguments).result()
    #expect(result.ending == .exited(2))
    #expect(result.output.isEmpty)
    #expect(result.errorText.contains(text), "\(result.errorText)")
    // The second line, if any, points to the help.
    let lines = result.errorLines
    #expect(lines.count == 1 || lines.count == 2 && lines[1].hasPrefix("Try 'pusher-cli"))
  }
}

@Suite("What trigger makes of the server's answer", .runsPrograms)
struct TriggerStatusTests {
  @Test(arguments: [(400, 5), (401, 3), (403, 3), (404, 5), (413, 5), (500, 4), (503, 4)])
  func `a refusal has its status and one line`(answer: Int, status: Int32) throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.answer(answer, "Refused", body: "the reason\nand more")
    }
    let result = try trigger(on: server, "{}")
    #expect(result.ending == .exited(status))
    #expect(result.output.isEmpty)
    #expect(result.errorLines.count == 1, "\(result.errorText)")
    #expect(result.errorText.contains("\(answer)"), "\(result.errorText)")
    #expect(result.errorText.contains("the reason"), "\(result.errorText)")
  }

  @Test func `an answer that breaks HTTP is 5`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      try connection.send(bytes: Array("nonsense\r\n\r\n".utf8))
      connection.end()
    }
    let result = try trigger(on: server, "{}")
    #expect(result.ending == .exited(5))
    #expect(result.errorLines.count == 1, "\(result.errorText)")
  }

  @Test func `success is silent, and the request is what was asked for`() throws {
    let questions = Record<ScriptedConnection.Question>()
    let server = try ScriptedServer { connection in
      questions.add(try connection.question())
      try connection.answer(200, "OK", body: "{}")
    }
    let result = try trigger(on: server, #"{"n":1.10}"#)
    #expect(result.ending == .exited(0))
    #expect(result.output.isEmpty)
    #expect(result.errors.isEmpty)
    let question = try #require(questions.values.first)
    #expect(question.head.method == "POST")
    #expect(question.head.target.hasPrefix("/apps/1/events?"))
    let body = try JSONParser.parse(question.body)
    #expect(body["name"] == .string("e"))
    #expect(body["data"] == .string(#"{"n":1.10}"#))
  }

  private func trigger(on server: ScriptedServer, _ data: String) throws -> ProgramResult {
    try PusherCLI.start(
      ["trigger", "--app-id", "1"] + server.address + ["-c", "news", "-e", "e", data],
      environment: ["PUSHER_APP_SECRET": "s"]
    ).result()
  }
}
