import Foundation
import PusherCore
import Testing

@Suite("Authorisation by the application's endpoint", .runsPrograms)
struct EndpointTests {
  /// Starts a server that accepts the signatures of `signature` and records the subscriptions.
  private func channels(_ asked: Record<ScriptedConnection.Subscription>) throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join(2).forEach(asked.add)
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
  }

  private func subscribe(
    to server: ScriptedServer, asking endpoint: ScriptedServer, _ options: String...
  ) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address
        + ["--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/broadcasting/auth?v=1"]
        + options)
  }

  @Test
  func
    `the form holds the protocol's fields, headers and fields are added, the answer is passed on`()
    throws
  {
    let questions = Record<ScriptedConnection.Question>()
    let endpoint = try ScriptedServer { connection in
      let question = try connection.question()
      questions.add(question)
      let isPresence = question.form["channel_name"] == "presence-b"
      let member = isPresence ? #","channel_data":"{\"user_id\":\"7\"}""# : ""
      try connection.answer(200, body: #"{"auth":"test-key:signed"\#(member)}"#)
    }
    let asked = Record<ScriptedConnection.Subscription>()
    let server = try channels(asked)
    let header = try TemporaryFolder.shared.file("header", holding: "Authorization: Bearer token\n")
    let result = try subscribe(
      to: server, asking: endpoint, "private-a", "presence-b", "-n", "1", "--auth-header",
      "X-CSRF-Token: abc", "--auth-header", "@\(header)", "--auth-param", "tenant=a&b=ü"
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")

    #expect(questions.values.count == 2)
    for question in questions.values {
      #expect(question.head.method == "POST")
      #expect(question.head.target == "/broadcasting/auth?v=1")
      #expect(question.head.headers["Content-Type"] == "application/x-www-form-urlencoded")
      #expect(question.head.headers["X-CSRF-Token"] == "abc")
      #expect(question.head.headers["Authorization"] == "Bearer token")
      #expect(question.form["socket_id"] == "77.1")
      #expect(question.form["tenant"] == "a&b=ü")
    }
    #expect(
      questions.values.compactMap { $0.form["channel_name"] }.sorted() == [
        "presence-b", "private-a",
      ])
    let presence = asked.values.first { $0.channel == "presence-b" }
    #expect(presence?.auth == "test-key:signed")
    #expect(presence?.channelData == #"{"user_id":"7"}"#)
  }

  @Test func `answers that stand inside data are taken, for channels and for the user`() throws {
    let service = try LocalServer()
    let signature = SubscriptionSignature(key: LocalServer.key, secret: "local-secret")
    let endpoint = try ScriptedServer { connection in
      let form = try connection.question().form
      let (socketID, user) = (form["socket_id"] ?? "", #"{"id":"e"}"#)
      let part =
        if let channel = form["channel_name"] {
          #""auth":"\#(signature.authorize(socketID: socketID, channel: channel).auth)""#
        } else {
          #""auth":"\#(signature.signIn(socketID: socketID, userData: user))","user_data":"{\"id\":\"e\"}""#
        }
      try connection.answer(200, body: #"{"success":true,"data":{\#(part)}}"#)
    }
    let url = "http://127.0.0.1:\(endpoint.port)/auth"
    let program = try PusherCLI.start(
      ["subscribe", "private-a", "-L", "--key", LocalServer.key, "--auth-endpoint", url]
        + service.address + ["--user-auth-endpoint", url])
    let lines = try program.lines(4)
    #expect(lines[1].contains("pusher:signin_success"))
    #expect(lines[3].contains(#""event":"pusher:subscription_succeeded","channel":"private-a""#))
  }

  @Test func `an endpoint that is out of reach is 4`() throws {
    let server = try ScriptedServer.greeting()
    let result = try PusherCLI.subscribe(
      to: server, "private-a", "--auth-endpoint",
      "http://127.0.0.1:\(try Loopback.closedPort())/auth", "--retry-max-delay", "100ms"
    ).result()
    #expect(result.ending == .exited(4))
    #expect(result.output.isEmpty)
  }
}

@Suite("Authorisation by a command", .runsPrograms)
struct AuthCommandTests {
  private func run(_ command: String, within: String = "10s") throws -> (
    result: ProgramResult, auth: String?
  ) {
    let asked = Record<ScriptedConnection.Subscription>()
    let server = try ScriptedServer { connection in
      try connection.welcome()
      asked.add(try connection.acceptSubscription())
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(
      to: server, "private-a", "-n", "1", "--auth-command", command, "--connect-timeout", within,
      "--retry-max-delay", "100ms"
    ).result()
    return (result, asked.values.first?.auth)
  }

  @Test func `the command learns channel and socket, and its output is passed on`() throws {
    let run = try run(
      #"printf '{"auth":"k:%s-%s"}' "$PUSHER_CLI_CHANNEL" "$PUSHER_CLI_SOCKET_ID""#)
    #expect(run.result.ending == .exited(0), "\(run.result.errorText)")
    #expect(run.auth == "k:private-a-77.1")
  }

  @Test func `a command that ends with another status than 0 refuses the channel`() throws {
    let run = try run("exit 7")
    #expect(run.result.ending == .exited(3))
    #expect(run.result.errorText.contains("status 7"))
    #expect(run.auth == nil)
  }

  @Test func `output of the command that is no answer is 5`() throws {
    let run = try run("echo nonsense")
    #expect(run.result.ending == .exited(5))
    #expect(run.result.errorLines.count == 1, "\(run.result.errorText)")
  }

  @Test func `a command that takes too long is ended, and its children with it`() throws {
    let file = TemporaryFolder.shared.file("child")
    let run = try run("sleep 60 & echo $! >>\(file); wait", within: "300ms")
    #expect(run.result.ending == .exited(4), "\(run.result.errorText)")
    let children = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(!children.isEmpty)
    for child in children {
      let id = try #require(pid_t(child))
      try waitUntil("the command's child is gone") { !isRunning(id) }
    }
  }

  /// Returns true if a process exists and is not a zombie.
  private func isRunning(_ id: pid_t) -> Bool {
    guard kill(id, 0) == 0 else { return false }
    let state = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
    return state.map { !$0.contains(") Z ") } ?? false
  }
}
