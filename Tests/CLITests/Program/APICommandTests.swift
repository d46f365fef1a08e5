import Foundation
import PusherCore
import Testing

@Suite("channels, users, terminate, trigger --info", .runsPrograms) struct APICommandTests {
  @Test func `channels and their members are one line each`() throws {
    let server = try LocalServer()
    let lobby = try server.subscribe(["presence-lobby", "news"], "-L", "--user-id", "7")
    let other = try server.subscribe(["presence-a=b"], "-L", "--user-id", "8")
    defer { for program in [lobby, other] { program.send(SIGTERM) } }
    #expect(
      try server.run("channels").outputLines.sorted() == [
        #"{"channel":"news"}"#, #"{"channel":"presence-a=b"}"#, #"{"channel":"presence-lobby"}"#,
      ])
    for (words, line) in [
      (
        "channels --prefix presence-l --info user_count",
        #"{"channel":"presence-lobby","user_count":1}"#
      ),
      (
        "channels presence-a=b --info user_count,subscription_count",
        #"{"channel":"presence-a=b","occupied":true,"user_count":1,"subscription_count":1}"#
      ),
      ("users presence-a=b", #"{"id":"8"}"#),
      ("channels nobody", #"{"channel":"nobody","occupied":false}"#),
      (
        "trigger -c news -e e 1 --info subscription_count",
        #"{"channels":{"news":{"subscription_count":1}}}"#
      ),
    ] {
      try server.run(words).expect(prints: line + "\n")
    }
  }

  @Test func `a user's id is text, also where the server writes a number`() throws {
    let body =
      #"{"users":[{"id":7,"user_info":{"id":1}},{"id":12345678901234567890},{"id":"é"},{"id":"007"}]}"#
    let server = try ScriptedServer.answering(200, body: body)
    try Self.run(["users", "presence-a"], on: server).expect(
      prints: #"{"id":"7","user_info":{"id":1}}"# + "\n" + #"{"id":"12345678901234567890"}"# + "\n"
        + #"{"id":"é"}"# + "\n" + #"{"id":"007"}"# + "\n")
  }

  /// Runs a command of the HTTP API against a scripted server.
  private static func run(_ words: [String], on server: ScriptedServer) throws -> ProgramResult {
    try PusherCLI.run(
      words + server.address + ["--app-id", "1"], environment: ["PUSHER_APP_SECRET": "s"])
  }

  @Test func `the event of a cache channel is told with the seconds it has left`() throws {
    let server = try LocalServer()
    try server.trigger("cache-a", "e", "1").expect()
    let told = try server.run("channels cache-a --info cache").outputText
    let start = #"{"channel":"cache-a","occupied":false,"cache":{"data":"1","ttl":"#
    #expect(told.hasPrefix(start), "\(told)")
    let seconds = Int(told.dropFirst(start.count).prefix { $0.isNumber })
    #expect(seconds.map { (1700...1800).contains($0) } == true, "\(told)")
  }

  @Test func `a web page in place of an answer is told`() throws {
    let server = try ScriptedServer.answering(200, "OK", body: "<html>")
    try Self.run(["channels"], on: server).expect(
      5, telling: "a web page instead of JSON from the HTTP API")
  }

  @Test(
    arguments: [
      [], Array("{".utf8), [0xFF], Array("[]".utf8), Array(#"{"channels":{}} {}"#.utf8),
    ] as [[UInt8]])
  func `--info refuses an answer that is not a JSON object`(body: [UInt8]) throws {
    let server = try ScriptedServer { connection in
      _ = try connection.question()
      let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
      try connection.send(bytes: Array(head.utf8) + body)
    }
    try Self.run(
      ["trigger", "-c", "news", "-e", "e", "1", "--info", "user_count"], on: server
    ).expect(
      5, prints: "", says: "pusher-cli: error: the server's answer does not follow the HTTP API\n")
  }

  @Test func `an event with the name of a client event is warned of, and sent`() throws {
    let server = try LocalServer()
    let told =
      "'client-x' is sent as a server event; to send client events (Laravel's whispers), use "
      + "'pusher-cli subscribe --stdin'\n"
    try server.trigger("private-a", "client-x", "1").expect(says: "pusher-cli: warning: " + told)
    let line = #"{"event":"client-x","channel":"private-a","data":1}"# + "\n"
    try server.replay(line + line).expect(says: "pusher-cli: warning: line 1: " + told)
    try server.trigger("news", "clients", "1").expect(says: "")
    for help in [["help", "trigger"], ["subscribe", "--help-all"]] {
      #expect(try PusherCLI.run(help).outputText.contains("whispers"))
    }
  }

  @Test func `a dry run shows the request and sends nothing`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L", "-n", "1")
    let shown = try server.trigger("news", "shown", #"{"a":1}"#, "--dry-run").outputText
    #expect(shown.hasPrefix("POST http://127.0.0.1:\(server.port)/apps/17/events?"))
    #expect(shown.hasSuffix(#"{"name":"shown","channels":["news"],"data":"{\"a\":1}"}"# + "\n"))
    #expect(!shown.contains("local-secret"))
    _ = try server.trigger("news", "sent", "1")
    #expect(try program.line().contains(#""event":"sent""#))
  }

  @Test func `users of an empty channel of Reverb says that nobody is there`() throws {
    let server = try LocalServer(options: ["--dialect", "reverb"])
    try server.run(["users", "presence-desk"]).expect(
      5,
      says:
        "pusher-cli: error: the server answered HTTP 404 (nobody is on presence-desk, or --host, --port, --path or the app id is wrong)\n"
    )
  }
}

@Suite("Lines of standard input become events", .runsPrograms) struct LineTriggerTests {
  @Test func `a recording replays: the same events on a second server`() throws {
    let (first, second) = (try LocalServer(), try LocalServer())
    let channels = ["news", "private-orders", "presence-lobby"]
    let recorder = try first.subscribe(channels, "-L", "-t", "--user-id", "1")
    let data = [
      #"{"id":1,"total":1.10}"#, "plain text, é and \\u0000", #"[1e400,"\ud83d\ude00",{"a":null}]"#,
      "true", #""quoted""#, "", "42",
    ]
    for (index, data) in data.enumerated() {
      try first.trigger(channels[index % 3], "e\(index)", data).expect()
    }
    let recording = try recorder.lines(data.count)
    let listener = try second.subscribe(channels, "-L", "--user-id", "1")
    try second.replay(recording.joined(separator: "\n") + "\n", "-v").expect(
      telling: "sent 7 events in 1 call\n")
    let withoutTime = recording.map { $0.replacing(#/"received_at":"[^"]*",/#, with: "") }
    #expect(try listener.lines(data.count) == withoutTime)
  }

  @Test func `a bad line is named, the others go on, and the status tells`() throws {
    let server = try LocalServer()
    let listener = try server.subscribe(["news"], "-L")
    let big = String(repeating: "x", count: 20_000)
    let result = try server.replay(
      """
      {"event":"a","channel":"news","data":1}
      not json
      {"event":"b","data":2}

      {"event":"c","channel":"no blanks","data":2}
      {"event":"pusher:subscription_succeeded","channel":"news","data":{}}
      {"event":"d","channel":"news","data":"\(big)"}
      {"event":"e","channel":"news"}
      """)
    result.expect(
      5, telling: "line 2: not a JSON object with an event", "line 3: no channel",
      "line 5: channel 'no blanks'", "line 7: the server answered HTTP 413",
      "skipped 1 line about the connection")
    #expect(result.errorLines.count == 5, "\(result.errorText)")
    #expect(
      try listener.lines(2) == [
        #"{"event":"a","channel":"news","data":1}"#, #"{"event":"e","channel":"news","data":null}"#,
      ])
  }

  @Test func `a line goes out while the next is still to come, and options replace names`() throws {
    let server = try LocalServer()
    let listener = try server.subscribe(["other"], "-L")
    let program = try server.start(["trigger", "-", "-c", "other", "-e", "renamed"], input: .pipe)
    for number in 1...2 {
      program.write(Array(#"{"event":"e","channel":"news","data":\#(number)}"#.utf8) + [10])
      #expect(try listener.line() == #"{"event":"renamed","channel":"other","data":\#(number)}"#)
    }
    program.closeInput()
    #expect(try program.wait() == .exited(0))
  }

  @Test func `a server that is busy is asked again`() throws {
    let server = try ScriptedServer { connection in
      _ = try connection.request()
      if connection.number == 1 {
        try connection.answer(429, "Too Many Requests", body: "slow down")
      } else {
        try connection.answer(200, "OK", body: "{}")
      }
    }
    let lines = try TemporaryFolder.shared.file(
      "one-line", holding: #"{"event":"e","channel":"c","data":1}"#)
    let result = try PusherCLI.run(
      ["trigger", "--app-id", "1"] + server.address + ["-"],
      environment: ["PUSHER_APP_SECRET": "s"], input: .file(lines))
    result.expect(telling: "429")
    #expect(result.errorLines.count == 1)
    #expect(server.connectionCount == 2)
  }
}

/// The numbers are those of pusher.com's documentation.
@Suite("Signatures by hand: auth, sign, verify", .runsPrograms) struct SignCommandTests {
  private func run(_ arguments: String...) throws -> ProgramResult {
    try PusherCLI.run(
      arguments,
      environment: [
        "PUSHER_APP_KEY": "278d425bdf160c739803", "PUSHER_APP_SECRET": "7ad3773142a6692b25b8",
      ])
  }

  private static let signature = "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
  private static let auth = "278d425bdf160c739803:" + signature

  @Test func `auth answers as an endpoint does`() throws {
    try run("auth", "--socket-id", "1234.1234", "private-foobar").expect(
      prints: #"{"auth":"\#(Self.auth)"}"# + "\n")
    let presence = try run(
      "auth", "--socket-id", "1.2", "presence-a", "--user-id", "é", "--user-info", #"{"n":1.10}"#)
    #expect(
      presence.outputText.hasSuffix(
        #"","channel_data":"{\"user_id\":\"é\",\"user_info\":{\"n\":1.10}}"}"# + "\n"))
    try run("auth", "--socket-id", "1234.1234", "--user-id", "12345").expect(
      prints: #"{"auth":"278d425bdf160c739803:"#
        + "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        + #"","user_data":"{\"id\":\"12345\"}"}"# + "\n")
  }

  @Test func `sign shows the text that is signed`() throws {
    try run("sign", "channel", "private-foobar", "--socket-id", "1234.1234").expect(
      prints: #"{"string_to_sign":"1234.1234:private-foobar","signature":"\#(Self.signature)","#
        + #""auth":"\#(Self.auth)"}"# + "\n")
    let request = try run(
      "sign", "request", "GET", "/apps/3/channels?filter_by_prefix=presence-&info=user_count",
      "--timestamp", "1353088179")
    let body =
      #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    for (result, signature) in [
      (request, "16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291"),
      (
        try run("sign", "webhook", "-d", body),
        "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"
      ),
    ] {
      #expect(result.outputText.contains(#""signature":"\#(signature)""#), "\(result.outputText)")
    }
  }

  @Test func `verify tells right from wrong by its status`() throws {
    try run(
      "verify", "channel", "private-foobar", "--socket-id", "1234.1234", "--signature", Self.auth
    ).expect(prints: #"{"valid":true,"string_to_sign":"1234.1234:private-foobar"}"# + "\n")
    let wrong = try run(
      "verify", "channel", "private-foobar", "--socket-id", "1234.1235", "--signature",
      Self.signature)
    wrong.expect(3)
    #expect(wrong.outputText.hasPrefix(#"{"valid":false,"#))
  }

  @Test func `verify tells what a server objects to in a request`() throws {
    let signed = try JSONParser.parse(
      run("sign", "request", "POST", "/apps/3/events", "-d", "{}").outputText)
    let target = try #require(signed["target"]?.text)
    try run("verify", "request", "POST", target, "-d", "{}").expect()
    let other = try run("verify", "request", "POST", target, "-d", "{ }")
    other.expect(3)
    #expect(other.outputText.contains(#""problems":["body_md5 is not the body's"]"#))
    let unsigned = try run("verify", "request", "GET", "/apps/3/channels")
    #expect(unsigned.outputText.contains("no auth_signature"))
  }

  @Test func `a file with the body counts byte for byte`() throws {
    let file = try TemporaryFolder.shared.file("body", holding: "{}\n")
    let withNewline = try run("sign", "webhook", "-d", "@\(file)").outputText
    #expect(withNewline.contains(#""string_to_sign":"{}\n""#))
    #expect(try withNewline != run("sign", "webhook", "-d", "{}").outputText)
  }
}
