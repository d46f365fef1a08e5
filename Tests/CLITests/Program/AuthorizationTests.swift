import Foundation
import PusherCore
import Testing

@Suite("Authorisation by the application's endpoint", .runsPrograms) struct EndpointTests {
  /// Starts a server that accepts every signature and records the subscriptions.
  private func channels(_ asked: Record<ScriptedConnection.Subscription>) throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join(2).forEach(asked.add)
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
  }

  @Test func `an endpoint gets form, headers and fields, and its answer is passed on`() throws {
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
    try server.subscribed(
      "--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/broadcasting/auth?v=1", "private-a",
      "presence-b", "-n", "1", "--auth-header",
      "X-CSRF-Token: abc", "--auth-header", "@\(header)", "--auth-param", "tenant=a&b=ü"
    ).expect()

    #expect(questions.values.count == 2)
    for question in questions.values {
      let head = question.head
      #expect(head.method == "POST" && head.target == "/broadcasting/auth?v=1")
      #expect(
        ["Content-Type", "X-CSRF-Token", "Authorization"].map { head.headers[$0] }
          == ["application/x-www-form-urlencoded", "abc", "Bearer token"])
      #expect(question.form["socket_id"] == "77.1" && question.form["tenant"] == "a&b=ü")
    }
    #expect(
      questions.values.compactMap { $0.form["channel_name"] }.sorted()
        == ["presence-b", "private-a"])
    let presence = asked.values.first { $0.channel == "presence-b" }
    #expect(presence?.auth == "test-key:signed" && presence?.channelData == #"{"user_id":"7"}"#)
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
}

@Suite("Authorisation by a command", .runsPrograms) struct AuthCommandTests {
  /// Runs until the first event of a channel that the command authorises.
  private func run(_ command: String, within: String = "10s") throws -> (
    result: ProgramResult, auth: String?
  ) {
    let asked = Record<String?>()
    let server = try ScriptedServer { connection in
      asked.add(try connection.join().first?.auth)
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
    let result = try server.subscribed(
      "private-a", "-n", "1", "--auth-command", command, "--connect-timeout", within,
      "--retry-max-delay", "100ms")
    return (result, asked.values.first ?? nil)
  }

  @Test func `the command learns channel and socket, and its output is passed on`() throws {
    let run = try run(#"printf '{"auth":"k:%s-%s"}' "$PUSHER_CLI_CHANNEL" "$PUSHER_CLI_SOCKET_ID""#)
    run.result.expect()
    #expect(run.auth == "k:private-a-77.1")
  }

  @Test func `a command that ends with another status than 0 refuses the channel`() throws {
    let run = try run("exit 7")
    run.result.expect(3, telling: "status 7")
    #expect(run.auth == nil)
  }

  @Test func `output of the command that is no answer is 5`() throws {
    let run = try run("echo nonsense")
    run.result.expect(5)
    #expect(run.result.errorLines.count == 1, "\(run.result.errorText)")
  }

  @Test func `a command that takes too long is ended, and its children with it`() throws {
    let file = TemporaryFolder.shared.file("child")
    let run = try run("sleep 60 & echo $! >>\(file); wait", within: "300ms")
    run.result.expect(4)
    let children = try fileText(file).split(separator: "\n")
    #expect(!children.isEmpty)
    for id in children.compactMap({ pid_t($0) }) {
      try waitUntil("the command's child is gone") { !isRunning(id) }
    }
  }

  /// Returns true if a process exists and is not a zombie.
  private func isRunning(_ id: pid_t) -> Bool {
    guard kill(id, 0) == 0 else { return false }
    let state = try? fileText("/proc/\(id)/stat")
    return state.map { !$0.contains(") Z ") } ?? false
  }
}
