import Foundation
import PusherCore
import Testing

/// Failures that no row of `BrokenSetup` has.
@Suite(
  "A failure has its status, one line on standard error and nothing on standard output",
  .runsPrograms)
struct ExitStatusTests {
  private func expect(
    _ status: Int32, _ text: String, channel: String = "news",
    _ script: @escaping ScriptedServer.Script, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let server = try ScriptedServer(script)
    let result = try PusherCLI.subscribe(
      to: server, channel, environment: ["PUSHER_APP_SECRET": "wrong"]
    ).result()
    #expect(result.ending == .exited(status), sourceLocation: sourceLocation)
    #expect(result.output.isEmpty, sourceLocation: sourceLocation)
    #expect(result.errorLines.count == 1, "\(result.errorText)", sourceLocation: sourceLocation)
    #expect(result.errorText.hasPrefix("pusher-cli: "), sourceLocation: sourceLocation)
    #expect(result.errorText.contains(text), "\(result.errorText)", sourceLocation: sourceLocation)
  }

  @Test(arguments: [
    (#"{"code":4001,"message":"App key test-key not in this cluster"}"#, "4001", true),
    (
      #""{\"code\":4001,\"message\":\"Application does not exist\"}""#,
      "Application does not exist", false
    ),
  ])
  func `an unknown key is 3`(data: String, text: String, closes: Bool) throws {
    try expect(3, text) { connection in
      try connection.upgrade()
      try connection.send(text: #"{"event":"pusher:error","data":\#(data)}"#)
      if closes {
        try connection.close(code: 4001, reason: "App key test-key not in this cluster")
      }
      try connection.stay()
    }
  }

  @Test func `a refused channel is 3`() throws {
    try expect(3, "private-x refused: invalid signature", channel: "private-x") { connection in
      try connection.welcome()
      _ = try connection.subscription()
      try connection.send(
        text:
          #"{"event":"pusher:subscription_error","channel":"private-x","data":{"type":"AuthError","error":"invalid signature","status":401}}"#
      )
      try connection.stay()
    }
  }

  private static let wrong = [
    ("subscribe --chanel x", "did you mean '--channel'"),
    ("subscribe --key k", "no channel"),
    ("subscribe news", "no app key"),
    ("subscribe --key --channel x", "--key needs a value"),
    ("subscribe --key k private-x", "needs authorisation"),
    ("subscribe --key k --port http x", "--port"),
    ("subscribe --key k --cacert /nonexistent.pem x", "/nonexistent.pem"),
    ("subscribe --key k --secret-file /nonexistent private-x", "/nonexistent"),
    ("subscribe --key k --auth-endpoint ftp://h/ private-x", "--auth-endpoint"),
    ("subscribe --secret s x", "--secret-file"),
    ("subscribe --local private-encrypted-a", "is encrypted: give --encryption-key-file or"),
    ("trigger -c x -e e --app-id 1 --key k {}", "no secret"),
    ("serve --listen nonsense", "--listen"),
    ("subscripe x", "did you mean 'subscribe'"),
    // Signing in
    (
      "subscribe --local --sign-in",
      "--sign-in needs --user-id, --user-auth-endpoint or --user-auth-command"
    ),
    ("subscribe --local a --watch b", "--watch needs --sign-in"),
    (
      "subscribe --local --user-auth-command c --watch b",
      "--watch is for signing with the secret; --user-auth-command names the users itself"
    ),
    (
      "subscribe --local --user-auth-command c --user-auth-endpoint http://h/",
      "--user-auth-endpoint and --user-auth-command exclude each other; give one"
    ),
    // Commands and receivers of events
    ("subscribe --local news --tee", "--tee needs --exec"),
    ("subscribe --local news --exec-jobs 2", "--exec-jobs needs --exec"),
    ("subscribe --local news --exec-fail stop", "--exec-fail needs --exec"),
    ("subscribe --local news --exec cat --exec-jobs 65", "from 1 to 64"),
    (
      "sse http://h/ --state-file /none/s --forward http://a/ --forward-jobs 2",
      "leave out --forward-jobs"
    ),
    (
      "sse http://h/ --state-file /none/s --forward http://a/ --forward-timeout 1s",
      "give --forward-dead"
    ),
    ("sse http://h/ --state-file /none/s", "no such file or directory"),
    // Output
    ("subscribe --local news -t -F %e", "write %t in --format instead"),
    ("subscribe --local news --output-file f --exec true", "add --tee"),
    ("subscribe --local news --output-file f --forward http://127.0.0.1:1/", "add --tee"),
    ("subscribe --local news --sync 1s", "--output-file"),
    ("subscribe --local news --record f --output-file f", "name the same file"),
    ("subscribe --key k news --record /dev/full", "cannot write '/dev/full': it is not a file"),
    ("subscribe --local news --trace /nowhere/at/all", "--trace: cannot write '/nowhere/at/all'"),
    ("subscribe --local news --ready-fd 60000", "--ready-fd: descriptor 60000 is not open"),
    // Values
    ("subscribe --local news -H Upgrade:h2c", "belongs to the WebSocket handshake"),
    ("subscribe --local news -H Sec-WebSocket-Key:x", "belongs to the WebSocket handshake"),
    (
      "subscribe --local news --where status==1",
      "--where 'status==1': lines have no field 'status'"
    ),
    (
      "subscribe --key k --stdin --secret-file - private-a",
      "--stdin and --secret-file both read standard input"
    ),
    ("trigger --local - --speed=0", "--speed"), ("trigger --local - --speed=-1", "--speed"),
    ("trigger --local - --speed=x", "--speed"), ("trigger --local - --speed=1e3", "--speed"),
    ("trigger --local - --speed=0.0001", "--speed"), ("trigger --local - --speed=", "--speed"),
    ("serve --dialect klingon", "--dialect: 'klingon' is not one of pusher, reverb, soketi"),
    ("serve --fault explode", "error: --fault: "),
    ("serve --fault drop:after=x", "error: --fault: "),
    ("serve --fault close:code=1006", "error: --fault: "),
    ("check --local private-a --cacert /nonexistent", "--cacert"),
    (
      "check --publish --host 127.0.0.1 --key k --app-id 1",
      "--publish: no secret: give --secret-file"
    ),
  ]

  @Test(arguments: wrong)
  func `a wrong command line is 2`(line: String, text: String) throws {
    let result = try PusherCLI.run(line.split(separator: " ").map(String.init))
    #expect(result.ending == .exited(2))
    #expect(result.output.isEmpty)
    #expect(result.errorText.contains(text), "\(result.errorText)")
    // The second line, if any, points to the help.
    let lines = result.errorLines
    #expect(lines.count == 1 || lines.count == 2 && lines[1].hasPrefix("Try 'pusher-cli"))
  }
}

@Suite("What trigger makes of the server's answer", .runsPrograms)
struct TriggerAnswerTests {
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

  @Test func `a reason of several lines is told on one line`() throws {
    let server = try ScriptedServer.answering(400, "Refused", body: "the reason\nand more")
    let result = try trigger(on: server, "{}")
    #expect(result.ending == .exited(5))
    #expect(result.output.isEmpty)
    #expect(result.errorLines.count == 1, "\(result.errorText)")
    #expect(result.errorText.contains("HTTP 400: the reason"), "\(result.errorText)")
  }

  private func trigger(on server: ScriptedServer, _ data: String) throws -> ProgramResult {
    try PusherCLI.run(
      ["trigger", "--app-id", "1"] + server.address + ["-c", "news", "-e", "e", data],
      environment: ["PUSHER_APP_SECRET": "s"])
  }
}
