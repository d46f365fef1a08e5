import Foundation
import PusherCore
import Testing

@Suite("Sign-in, users' events and watchlists", .runsPrograms) struct UserTests {
  private func subscribe(_ server: LocalServer, _ options: String...) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address + ["--sign-in", "-L"] + options,
      environment: ["PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_SECRET": "local-secret"])
  }

  private func signedIn(_ program: ChildProgram, _ userID: String) throws {
    let lines = try program.lines(3)
    #expect(lines[1].hasPrefix(#"{"event":"pusher:signin_success","channel":null,"data":"#))
    #expect(
      lines[2]
        == ##"{"event":"pusher:subscription_succeeded","channel":"#server-to-user-\##(userID)","data":{}}"##
    )
  }

  @Test func `a user's events come without any channel named`() throws {
    let server = try LocalServer()
    let program = try subscribe(server, "--user-id", "7", "--user-info", #"{"name":"Ada"}"#)
    try signedIn(program, "7")
    try server.trigger("#server-to-user-7", "note", #"{"n":1.10}"#).expect(0)
    #expect(
      try program.line() == ##"{"event":"note","channel":"#server-to-user-7","data":{"n":1.10}}"##)
  }

  @Test func `who is watched is told when coming and going`() throws {
    let server = try LocalServer()
    let watcher = try subscribe(server, "--user-id", "w", "--watch", "a", "--watch", "b", "-n", "3")
    // Greeting, sign-in, absent users, the user's channel.
    let offline = #"{"event":"pusher:offline","channel":null,"data":{"user_ids":["a","b"]}}"#
    #expect(try watcher.lines(4).contains(offline))
    let watched = try subscribe(server, "--user-id", "a")
    try signedIn(watched, "a")
    try watched.end()
    #expect(
      try watcher.lines(2) == [
        #"{"event":"pusher:online","channel":null,"data":{"user_ids":["a"]}}"#,
        #"{"event":"pusher:offline","channel":null,"data":{"user_ids":["a"]}}"#,
      ])
    #expect(try watcher.wait() == .exited(0))
  }

  @Test func `a wrong secret ends with 3 and says what it was`() throws {
    let server = try LocalServer(secret: "other")
    let result = try subscribe(server, "--user-id", "7").result()
    result.expect(3, telling: "sign-in refused: Invalid signature", "does the secret belong to key")
    #expect(result.outputText.contains(#""event":"pusher:signin_error","channel":null"#))
  }

  @Test func `an endpoint and a command are asked who the user is`() throws {
    let server = try LocalServer()
    func join(_ options: String...) throws -> ChildProgram {
      try PusherCLI.start(["subscribe", "-L", "--key", LocalServer.key] + server.address + options)
    }
    let signature = SubscriptionSignature(key: LocalServer.key, secret: "local-secret")
    let questions = Record<ScriptedConnection.Question>()
    let endpoint = try ScriptedServer { connection in
      let question = try connection.question()
      questions.add(question)
      let auth = signature.signIn(
        socketID: question.form["socket_id"] ?? "", userData: #"{"id":"e"}"#)
      try connection.answer(200, body: #"{"auth":"\#(auth)","user_data":"{\"id\":\"e\"}"}"#)
    }
    let url = "http://127.0.0.1:\(endpoint.port)/pusher/user-auth"
    try signedIn(join("--user-auth-endpoint", url, "--auth-header", "X-Token: t"), "e")
    let question = try #require(questions.values.first)
    #expect(question.form.keys.sorted() == ["socket_id"])
    #expect(question.head.headers["X-Token"] == "t")

    let command =
      #"printf '{"auth":"\#(LocalServer.key):%s","user_data":"{\\"id\\":\\"c\\"}"}' "$(printf '%s::user::{"id":"c"}' "$PUSHER_CLI_SOCKET_ID" | openssl dgst -sha256 -hmac local-secret -r | cut -c 1-64)""#
    try signedIn(join("--user-auth-command", command), "c")
  }
}
