import Foundation
import PusherCore
import Testing

@Suite("What the HTTP API tells: channels, users, terminate, trigger --info", .runsPrograms)
struct APICommandTests {
  private func run(_ server: LocalServer, _ arguments: String..., input: String = "") throws
    -> ProgramResult
  {
    let file = TemporaryFolder.shared.file("lines")
    try input.write(toFile: file, atomically: true, encoding: .utf8)
    return try PusherCLI.run(
      [arguments[0]] + server.address + arguments.dropFirst(),
      environment: [
        "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_ID": LocalServer.appID,
        "PUSHER_APP_SECRET": "local-secret",
      ], input: .file(file))
  }

  @Test func `channels and their members are one line each`() throws {
    let server = try LocalServer()
    let lobby = try server.subscribe(["presence-lobby", "news"], "-L", "--user-id", "7")
    let other = try server.subscribe(["presence-a=b"], "-L", "--user-id", "8")
    defer { for program in [lobby, other] { program.send(SIGTERM) } }
    #expect(
      try run(server, "channels").outputText.split(separator: "\n").sorted() == [
        #"{"channel":"news"}"#, #"{"channel":"presence-a=b"}"#, #"{"channel":"presence-lobby"}"#,
      ])
    #expect(
      try run(server, "channels", "--prefix", "presence-l", "--info", "user_count").outputText
        == #"{"channel":"presence-lobby","user_count":1}"# + "\n")
    #expect(
      try run(server, "channels", "presence-a=b", "--info", "user_count,subscription_count")
        .outputText
        == #"{"channel":"presence-a=b","occupied":true,"user_count":1,"subscription_count":1}"#
        + "\n")
    #expect(try run(server, "users", "presence-a=b").outputText == #"{"id":"8"}"# + "\n")
    #expect(
      try run(server, "channels", "nobody").outputText
        == #"{"channel":"nobody","occupied":false}"# + "\n")
    #expect(
      try run(server, "trigger", "-c", "news", "-e", "e", "1", "--info", "subscription_count")
        .outputText == #"{"channels":{"news":{"subscription_count":1}}}"# + "\n")
  }

  @Test
  func `a user's id is text, as subscribe prints it, where the server writes a number too`()
    throws
  {
    let body =
      #"{"users":[{"id":7,"user_info":{"id":1}},{"id":12345678901234567890},{"id":"é"},"#
      + #"{"id":"007"}]}"#
    let server = try ScriptedServer.answering(200, body: body)
    let result = try PusherCLI.run(
      ["users"] + server.address + ["presence-a", "--app-id", "1"],
      environment: ["PUSHER_APP_SECRET": "local-secret"])
    #expect(
      result.outputText.split(separator: "\n") == [
        #"{"id":"7","user_info":{"id":1}}"#, #"{"id":"12345678901234567890"}"#, #"{"id":"é"}"#,
        #"{"id":"007"}"#,
      ], "\(result.errorText)")
  }

  @Test func `the event of a cache channel is told with the seconds it has left`() throws {
    let server = try LocalServer()
    #expect(try run(server, "trigger", "-c", "cache-a", "-e", "e", "1").ending == .exited(0))
    let told = try run(server, "channels", "cache-a", "--info", "cache").outputText
    let start = #"{"channel":"cache-a","occupied":false,"cache":{"data":"1","ttl":"#
    #expect(told.hasPrefix(start), "\(told)")
    let seconds = Int(told.dropFirst(start.count).prefix { $0.isNumber })
    #expect(seconds.map { (1700...1800).contains($0) } == true, "\(told)")
  }

  @Test func `a web page in place of an answer is told`() throws {
    let scripted = try ScriptedServer.answering(200, "OK", body: "<html>")
    let html = try PusherCLI.run(
      ["channels", "--app-id", "1"] + scripted.address, environment: ["PUSHER_APP_SECRET": "s"])
    #expect(html.ending == .exited(5))
    #expect(html.errorText.contains("a web page instead of JSON from the HTTP API"))
  }

  @Test(
    arguments: [
      [], Array("{".utf8), [0xFF], Array("[]".utf8), Array(#"{"channels":{}} {}"#.utf8),
    ] as [[UInt8]])
  func `--info refuses an answer that is not a JSON object`(body: [UInt8]) throws {
    let scripted = try ScriptedServer { connection in
      _ = try connection.question()
      let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
      try connection.send(bytes: Array(head.utf8) + body)
    }
    let result = try PusherCLI.run(
      ["trigger", "-c", "news", "-e", "e", "1", "--info", "user_count", "--app-id", "1"]
        + scripted.address, environment: ["PUSHER_APP_SECRET": "s"])
    #expect(result.ending == .exited(5))
    #expect(result.output.isEmpty)
    #expect(
      result.errorText == "pusher-cli: error: the server's answer does not follow the HTTP API\n")
  }

  @Test func `an event with the name of a client event is warned of, and sent`() throws {
    let server = try LocalServer()
    let told =
      "'client-x' is sent as a server event; to send client events (Laravel's whispers), use "
      + "'pusher-cli subscribe --stdin'\n"
    let result = try run(server, "trigger", "-c", "private-a", "-e", "client-x", "1")
    #expect(result.ending == .exited(0))
    #expect(result.errorText == "pusher-cli: warning: " + told)
    let line = #"{"event":"client-x","channel":"private-a","data":1}"# + "\n"
    let lines = try run(server, "trigger", "-", input: line + line)
    #expect(lines.ending == .exited(0))
    #expect(lines.errorText == "pusher-cli: warning: line 1: " + told)
    #expect(try run(server, "trigger", "-c", "news", "-e", "clients", "1").errorText.isEmpty)
    #expect(try PusherCLI.run("help", "trigger").outputText.contains("whispers"))
    #expect(try PusherCLI.run("subscribe", "--help-all").outputText.contains("whispers"))
  }

  @Test func `a dry run shows the request and sends nothing`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L", "-n", "1")
    let shown = try run(server, "trigger", "-c", "news", "-e", "shown", #"{"a":1}"#, "--dry-run")
    #expect(shown.outputText.hasPrefix("POST http://127.0.0.1:\(server.port)/apps/17/events?"))
    #expect(
      shown.outputText.hasSuffix(#"{"name":"shown","channels":["news"],"data":"{\"a\":1}"}"# + "\n")
    )
    #expect(!shown.outputText.contains("local-secret"))
    _ = try server.trigger("news", "sent", "1")
    #expect(try program.line().contains(#""event":"sent""#))
  }
}

@Suite("Lines of standard input become events", .runsPrograms)
struct LineTriggerTests {
  private static let environment = [
    "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_ID": LocalServer.appID,
    "PUSHER_APP_SECRET": "local-secret",
  ]

  private func replay(_ server: LocalServer, _ lines: String, _ options: String...) throws
    -> ProgramResult
  {
    let file = TemporaryFolder.shared.file("recording")
    try lines.write(toFile: file, atomically: true, encoding: .utf8)
    return try PusherCLI.run(
      ["trigger"] + server.address + ["-"] + options, environment: Self.environment,
      input: .file(file))
  }

  @Test func `a recording replays: the same events on a second server`() throws {
    let first = try LocalServer()
    let second = try LocalServer()
    let channels = ["news", "private-orders", "presence-lobby"]
    let recorder = try first.subscribe(channels, "-L", "-t", "--user-id", "1")
    let data = [
      #"{"id":1,"total":1.10}"#, "plain text, é and \\u0000", #"[1e400,"\ud83d\ude00",{"a":null}]"#,
      "true", #""quoted""#, "", "42",
    ]
    for (index, data) in data.enumerated() {
      #expect(try first.trigger(channels[index % 3], "e\(index)", data).ending == .exited(0))
    }
    let recording = try recorder.lines(data.count)
    recorder.send(SIGTERM)

    let listener = try second.subscribe(channels, "-L", "--user-id", "1")
    let result = try replay(second, recording.joined(separator: "\n") + "\n", "-v")
    #expect(result.ending == .exited(0))
    #expect(result.errorText.contains("sent 7 events in 1 call\n"))
    let withoutTime = recording.map { $0.replacing(#/"received_at":"[^"]*",/#, with: "") }
    #expect(try listener.lines(data.count) == withoutTime)
    listener.send(SIGTERM)
  }

  @Test func `a bad line is named, the others go on, and the status tells`() throws {
    let server = try LocalServer()
    let listener = try server.subscribe(["news"], "-L")
    let big = String(repeating: "x", count: 20_000)
    let result = try replay(
      server,
      """
      {"event":"a","channel":"news","data":1}
      not json
      {"event":"b","data":2}

      {"event":"c","channel":"no blanks","data":2}
      {"event":"pusher:subscription_succeeded","channel":"news","data":{}}
      {"event":"d","channel":"news","data":"\(big)"}
      {"event":"e","channel":"news"}
      """)
    #expect(result.ending == .exited(5))
    let errors = result.errorLines
    #expect(errors.contains { $0.contains("line 2: not a JSON object with an event") })
    #expect(errors.contains { $0.contains("line 3: no channel") })
    #expect(errors.contains { $0.contains("line 5: channel 'no blanks'") })
    #expect(errors.contains { $0.contains("line 7: the server answered HTTP 413") })
    #expect(errors.contains { $0.contains("skipped 1 line about the connection") })
    #expect(errors.count == 5, "\(result.errorText)")
    #expect(
      try listener.lines(2) == [
        #"{"event":"a","channel":"news","data":1}"#, #"{"event":"e","channel":"news","data":null}"#,
      ])
    listener.send(SIGTERM)
  }

  @Test func `a line goes out while the next is still to come, and options replace names`() throws {
    let server = try LocalServer()
    let listener = try server.subscribe(["other"], "-L")
    let program = try PusherCLI.start(
      ["trigger"] + server.address + ["-", "-c", "other", "-e", "renamed"],
      environment: Self.environment, input: .pipe)
    for number in 1...2 {
      program.write(Array(#"{"event":"e","channel":"news","data":\#(number)}"#.utf8) + [10])
      #expect(
        try listener.line() == #"{"event":"renamed","channel":"other","data":\#(number)}"#)
    }
    program.closeInput()
    #expect(try program.wait() == .exited(0))
    listener.send(SIGTERM)
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
    let file = TemporaryFolder.shared.file("one-line")
    try #"{"event":"e","channel":"c","data":1}"#.write(
      toFile: file, atomically: true, encoding: .utf8)
    let result = try PusherCLI.run(
      ["trigger", "--app-id", "1"] + server.address + ["-"],
      environment: ["PUSHER_APP_SECRET": "s"], input: .file(file))
    #expect(result.ending == .exited(0))
    #expect(result.errorLines.count == 1 && result.errorText.contains("429"))
    #expect(server.connectionCount == 2)
  }
}

@Suite("Signatures by hand: auth, sign, verify", .runsPrograms)
struct SignCommandTests {
  private func run(_ arguments: String...) throws -> ProgramResult {
    try PusherCLI.run(
      arguments,
      environment: [
        "PUSHER_APP_KEY": "278d425bdf160c739803", "PUSHER_APP_SECRET": "7ad3773142a6692b25b8",
      ])
  }

  private static let privateSignature =
    "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"

  @Test func `auth answers as an endpoint does`() throws {
    #expect(
      try run("auth", "--socket-id", "1234.1234", "private-foobar").outputText
        == #"{"auth":"278d425bdf160c739803:\#(Self.privateSignature)"}"# + "\n")
    let presence = try run(
      "auth", "--socket-id", "1.2", "presence-a", "--user-id", "é", "--user-info", #"{"n":1.10}"#)
    #expect(
      presence.outputText.hasSuffix(
        #"","channel_data":"{\"user_id\":\"é\",\"user_info\":{\"n\":1.10}}"}"# + "\n"))
    let user = try run("auth", "--socket-id", "1234.1234", "--user-id", "12345")
    #expect(
      user.outputText
        == #"{"auth":"278d425bdf160c739803:"#
        + "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        + #"","user_data":"{\"id\":\"12345\"}"}"# + "\n")
  }

  @Test func `sign shows the text that is signed`() throws {
    let result = try run("sign", "channel", "private-foobar", "--socket-id", "1234.1234")
    #expect(
      result.outputText
        == #"{"string_to_sign":"1234.1234:private-foobar","signature":"\#(Self.privateSignature)","#
        + #""auth":"278d425bdf160c739803:\#(Self.privateSignature)"}"# + "\n")
    let request = try run(
      "sign", "request", "GET", "/apps/3/channels?filter_by_prefix=presence-&info=user_count",
      "--timestamp", "1353088179")
    #expect(
      request.outputText.contains(
        #""signature":"16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291""#))
    let body =
      #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    #expect(
      try run("sign", "webhook", "-d", body).outputText.contains(
        "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"))
  }

  @Test func `verify tells right from wrong by its status`() throws {
    let right = try run(
      "verify", "channel", "private-foobar", "--socket-id", "1234.1234", "--signature",
      "278d425bdf160c739803:\(Self.privateSignature)")
    #expect(right.ending == .exited(0))
    #expect(
      right.outputText
        == #"{"valid":true,"string_to_sign":"1234.1234:private-foobar"}"# + "\n")
    let wrong = try run(
      "verify", "channel", "private-foobar", "--socket-id", "1234.1235", "--signature",
      Self.privateSignature)
    #expect(wrong.ending == .exited(3))
    #expect(wrong.outputText.hasPrefix(#"{"valid":false,"#))
  }

  @Test func `verify tells what a server objects to in a request`() throws {
    let signed = try JSONParser.parse(
      run("sign", "request", "POST", "/apps/3/events", "-d", "{}").outputText)
    let target = try #require(signed["target"]?.text)
    #expect(try run("verify", "request", "POST", target, "-d", "{}").ending == .exited(0))
    let other = try run("verify", "request", "POST", target, "-d", "{ }")
    #expect(other.ending == .exited(3))
    #expect(other.outputText.contains(#""problems":["body_md5 is not the body's"]"#))
    let unsigned = try run("verify", "request", "GET", "/apps/3/channels")
    #expect(unsigned.outputText.contains("no auth_signature"))
  }

  @Test func `a file with the body counts byte for byte`() throws {
    let file = TemporaryFolder.shared.file("body")
    try "{}\n".write(toFile: file, atomically: true, encoding: .utf8)
    let withNewline = try run("sign", "webhook", "-d", "@\(file)").outputText
    #expect(withNewline.contains(#""string_to_sign":"{}\n""#))
    #expect(try withNewline != run("sign", "webhook", "-d", "{}").outputText)
  }
}
