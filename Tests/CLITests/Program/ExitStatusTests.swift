import Foundation
import PusherCore
import Testing

/// Failures that no row of `BrokenSetup` has.
@Suite("A failure: one status, one line on standard error", .runsPrograms) struct ExitStatusTests {
  /// Mistakes that no test of the settings has.
  private static let wrong: [(String, String)] =
    [
      ("subscripe x", "did you mean 'subscribe'"),
      ("subscribe --key k --port http x", "--port"),
      ("subscribe --key k --cacert /nonexistent.pem x", "/nonexistent.pem"),
      ("subscribe --key k --secret-file /nonexistent private-x", "/nonexistent"),
      ("subscribe --key k --auth-endpoint ftp://h/ private-x", "--auth-endpoint"),
      // Signing in
      (
        "subscribe --local --sign-in",
        "--sign-in needs --user-id, --user-auth-endpoint or --user-auth-command"
      ),
      (
        "subscribe --local --user-auth-command c --watch b",
        "--watch is for signing with the secret; --user-auth-command names the users itself"
      ),
      // Commands and receivers of events
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
      ("subscribe --local a --forward ftp://a", "--forward: invalid URL: its scheme is not http"),
      (
        "subscribe --local a --forward ws://a",
        "the URL must begin with http:// or https://, not ws://"
      ),
      ("subscribe --local a --forward http://me:SESAME@a/", "would show in ps"),
      ("subscribe --local a --forward http://me@a/", "would show in ps"),
      ("subscribe --local a --forward http://a/ --forward-jobs 65", "from 1 to 64"),
      (
        "subscribe --local a --forward http://a/ --forward-header idempotency-key:1",
        "pusher-cli sets Idempotency-Key for each event"
      ),
      (
        "subscribe --key k a --forward http://a/ --forward-timeout 1s --forward-dead /nonexistent/f",
        "--forward-dead: cannot write '/nonexistent/f'"
      ),
      (
        "subscribe --key k a --forward http://a/ --forward-timeout 1s --forward-dead /",
        "--forward-dead: cannot write '/': it is a folder"
      ),
      // Output
      ("subscribe --local news -t -F %e", "write %t in --format instead"),
      ("subscribe --local news --output-file f --exec true", "add --tee"),
      ("subscribe --local news --output-file f --forward http://127.0.0.1:1/", "add --tee"),
      ("subscribe --local news --sync 1s", "--output-file"),
      ("sse -s http://127.0.0.1:1/", "sse has no option -s: only events are printed"),
      ("sse --json {} http://127.0.0.1:1/", "sse has no option --json: -d DATA sends JSON"),
      ("subscribe --local news --output-file /nowhere/%c", "folder '/nowhere/': no such file"),
      ("subscribe --local news --output-file %c-%e", "give %c or %e once, in the name of the file"),
      ("subscribe --local news --output-file %c/x", "give %c or %e once, in the name of the file"),
      ("subscribe --local news --output-file f --max-files 2", "leave out --max-files"),
      (
        "sse http://127.0.0.1:1/ --output-file %c", "an event stream has no channels for %c; use %e"
      ),
      ("sse http://127.0.0.1:1/ --output-file %e --field a --join", "--join makes one text"),
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
      ("serve --dialect klingon", "--dialect: 'klingon' is not one of pusher, reverb, soketi"),
      ("check --local private-a --cacert /nonexistent", "--cacert"),
    ]
    + ["0", "-1", "x", "1e3", "0.0001", ""].map { ("trigger --local - --speed=\($0)", "--speed") }
    + ["explode", "drop:after=x", "close:code=1006"].map {
      ("serve --fault \($0)", "error: --fault: ")
    }

  @Test(arguments: wrong)
  func `a wrong command line is 2`(line: String, text: String) throws {
    let result = try PusherCLI.run(line.split(separator: " ").map(String.init))
    result.expect(2, prints: "", telling: text)
    #expect(!result.errorText.contains("SESAME"))
    // The second line, if any, points to the help.
    let lines = result.errorLines
    #expect(lines.count == 1 || lines.count == 2 && lines[1].hasPrefix("Try 'pusher-cli"))
  }
}

@Suite("What trigger makes of the server's answer", .runsPrograms) struct TriggerAnswerTests {
  @Test func `success is silent, and the request is what was asked for`() throws {
    let questions = Record<ScriptedConnection.Question>()
    let server = try ScriptedServer { connection in
      questions.add(try connection.question())
      try connection.answer(200, "OK", body: "{}")
    }
    try trigger(on: server, #"{"n":1.10}"#).expect(prints: "", says: "")
    let question = try #require(questions.values.first)
    #expect(question.head.method == "POST" && question.head.target.hasPrefix("/apps/1/events?"))
    let body = try JSONParser.parse(question.body)
    #expect(body["name"]?.text == "e" && body["data"]?.text == #"{"n":1.10}"#)
  }

  @Test func `a reason of several lines is told on one line`() throws {
    let server = try ScriptedServer.answering(400, "Refused", body: "the reason\nand more")
    let result = try trigger(on: server, "{}")
    result.expect(5, prints: "", telling: "HTTP 400: the reason")
    #expect(result.errorLines.count == 1, "\(result.errorText)")
  }

  private func trigger(on server: ScriptedServer, _ data: String) throws -> ProgramResult {
    try PusherCLI.run(
      ["trigger", "--app-id", "1"] + server.address + ["-c", "news", "-e", "e", data],
      environment: ["PUSHER_APP_SECRET": "s"])
  }
}
