import Foundation
import PusherCore
import Testing

@Suite("Webhooks for a server that has none: webhook send", .runsPrograms) struct WebhookSendTests {
  // MARK: Against serve

  @Test(arguments: ["reverb", "pusher", "soketi"])
  func `channels and members are told as they come and go, without this program's own user`(
    dialect: String
  ) throws {
    let server = try LocalServer(options: ["--dialect", dialect])
    let hook = try WebhookPair()
    let sender = try hook.start(server.address)
    let news = try server.subscribe(["news"], "-L")
    #expect(try hook.told() == ["channel_occupied news"])
    let first = try server.subscribe(["presence-lobby"], "-L", "--user-id", "7")
    #expect(
      try hook.told(2) == ["channel_occupied presence-lobby", "member_added presence-lobby 7"])
    let second = try server.subscribe(["presence-lobby"], "-L", "--user-id", "8")
    #expect(try hook.told() == ["member_added presence-lobby 8"])
    try first.end()
    #expect(try hook.told() == ["member_removed presence-lobby 7"])
    try news.end()
    #expect(try hook.told() == ["channel_vacated news"])
    try second.end()
    #expect(
      try hook.told(2) == ["member_removed presence-lobby 8", "channel_vacated presence-lobby"])
    // The own subscription is gone too, and may be used by others again.
    try sender.errorLine(containing: "left presence-lobby: no other subscribers")
    try sender.end()
    #expect(try hook.rest() == "")
  }

  @Test func `a channel of the command line is joined, and client events are told`() throws {
    let server = try LocalServer(options: ["--dialect", "reverb"])
    let hook = try WebhookPair()
    let sender = try hook.start(server.address, "-c", "private-chat")
    try sender.errorLine(containing: "subscribed to private-chat")
    let guest = try server.start("subscribe", "private-chat", "--stdin", "-L", input: .pipe)
    #expect(try hook.told() == ["channel_occupied private-chat"])
    guest.write(line: #"{"event":"client-x","channel":"private-chat","data":{"n":1}}"#)
    let line = try hook.receiver.line()
    #expect(line.hasPrefix(#"{"event":"client_event","channel":"private-chat","data":{"time_ms":"#))
    #expect(line.hasSuffix(#","event":"client-x","data":"{\"n\":1}"}}"#), "\(line)")
    try guest.end()
    #expect(try hook.told() == ["channel_vacated private-chat"])
    try sender.end()
  }

  @Test func `SIGUSR1 asks for the state`() throws {
    let server = try LocalServer()
    let guest = try server.subscribe(["news"], "-L")
    let hook = try WebhookPair()
    let sender = try hook.start(server.address)
    _ = try hook.told()
    try sender.errorLine(containing: "webhook channel_occupied to")
    sender.send(SIGUSR1)
    #expect(
      try sender.errorLine(containing: "waiting")
        == "pusher-cli: connected, 1 occupied channel, 1 webhook sent, 0 waiting")
    try sender.end()
    try guest.end()
  }

  // MARK: Failures

  @Test(.needs(.movedClock))
  func `a run with a time limit that lost webhooks ends with 4`() throws {
    let server = try LocalServer()
    let guest = try server.subscribe(["news"], "-L")
    let port = try Loopback.closedPort()
    let clock = try MovedClock(standsStill: true)
    let sender = try PusherCLI.start(
      ["webhook", "send"] + server.address + ["--to", "http://127.0.0.1:\(port)/", "-W", "1m"],
      environment: LocalServer.environment().merging(clock.environment()) { $1 })
    try sender.errorLine(containing: "retrying in")
    #expect(try clock.move(.seconds(60), untilEndOf: sender) == .exited(4))
    #expect(try sender.result().errorText.contains("discarded at shutdown"))
    try guest.end()
  }

  @Test func `a list that is refused ends the run with 3`() throws {
    let server = try LocalServer()
    let hook = try WebhookPair()
    let result = try hook.start(server.address, secret: "another").result()
    result.expect(3, telling: "(do the secret and the app id belong to key loca…?)")
  }

  @Test func `a refused channel of the command line ends the run with 3`() throws {
    let server = try scripted { connection, _ in
      _ = try connection.subscription()
      try connection.send(
        text: #"{"event":"pusher:subscription_error","channel":"private-a","data":"#
          + #"{"type":"AuthError","error":"no","status":401}}"#)
      try connection.stay()
    } list: { _ in
      #"{"channels":{}}"#
    }
    let hook = try WebhookPair()
    let result = try hook.start(server.address + ["--app-id", "1"], "-c", "private-a").result()
    result.expect(3, telling: "error: private-a refused: no")
  }

  // MARK: Against a scripted server

  /// Returns a server whose sockets play `socket`, and whose lists of channels come from `list`.
  ///
  /// Both get a number from 1. A list that is `nil` means 503.
  private func scripted(
    _ socket: @escaping @Sendable (ScriptedConnection, Int) throws -> Void,
    list: @escaping @Sendable (Int) -> String?
  ) throws -> ScriptedServer {
    let sockets = Record<Int>()
    let lists = Record<Int>()
    return try ScriptedServer { connection in
      let request = try connection.question().head
      guard request.headers["Upgrade"] != nil else {
        lists.add(1)
        guard let body = list(lists.values.count) else { return try connection.answer(503) }
        return try connection.answer(200, body: body)
      }
      sockets.add(1)
      let number = sockets.values.count
      try connection.welcome(request)
      try socket(connection, number)
    }
  }

  @Test func `a look that fails is told and changes nothing`() throws {
    let server = try scripted { connection, _ in
      try connection.stay()
    } list: { number in
      switch number {
      case 1, 3: #"{"channels":{"a":{},"b":{}}}"#
      case 2: nil
      default: #"{"channels":{"b":{}}}"#
      }
    }
    let hook = try WebhookPair(key: "test-key")
    let sender = try hook.start(server.address + ["--app-id", "1"])
    #expect(try hook.told(2) == ["channel_occupied a", "channel_occupied b"])
    try sender.errorLine(containing: "warning: cannot list channels: HTTP 503")
    try sender.errorLine(containing: "warning: listing channels works again")
    #expect(try hook.told() == ["channel_vacated a"])
    try sender.end()
    #expect(try hook.rest() == "")
  }
}
