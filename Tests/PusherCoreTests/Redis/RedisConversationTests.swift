import PusherCluster
import PusherCore
import PusherServer
import TestSupport
import Testing

private final class Script {
  let conversation: RedisConversation
  var now = Instant(nanoseconds: 0)

  init(
    _ role: RedisConversation.Role, _ settings: RedisSettings = Script.settings(),
    identifies: Bool = true, _ change: (inout RedisPolicy) -> Void = { _ in }
  ) {
    var policy = RedisPolicy()
    change(&policy)
    conversation = RedisConversation(
      role, at: "h:1", settings: settings, policy: policy, identifies: identifies, now: now)
  }

  static func settings(
    user: String? = nil, password: String? = nil, database: Int = 0
  ) -> RedisSettings {
    RedisSettings(
      endpoints: [Route(host: "h", port: 1)], user: user,
      password: password.map { RedisPassword($0) }, database: database)
  }

  func sent() throws -> [String] {
    let reader = RedisReader(of: "r")
    let bytes = buffer(conversation.output.array)
    conversation.output.removeAll()
    reader.feed(bytes.view)
    var lines: [String] = []
    while case .array(let words)? = try reader.next() {
      lines.append(words.map { $0.text ?? "" }.joined(separator: " "))
    }
    return lines
  }

  func receive(_ text: String) throws(RedisFailure) -> [RedisConversation.Event] {
    let bytes = buffer(text)
    conversation.receive(bytes.view)
    var events: [RedisConversation.Event] = []
    while let event = try conversation.next(at: now) { events.append(event) }
    return events
  }

  func send(_ words: String...) throws {
    try conversation.send(RedisCommand(words.map { Array($0.utf8) }), at: now)
  }

  func subscribe(_ channels: String...) throws {
    for channel in channels { try conversation.subscribe(Array(channel.utf8), at: now) }
  }

  func tick(after time: Duration) throws {
    now = now.advanced(by: time)
    try conversation.tick(at: now)
  }

  /// Time until the deadline.
  var timeLeft: Duration { now.duration(to: conversation.deadline) }
}

private let primary = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
private let replica = "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"

private func ready(
  _ role: RedisConversation.Role, _ change: (inout RedisPolicy) -> Void = { _ in }
) throws -> Script {
  let script = Script(role, Script.settings(), identifies: true, change)
  let pong = role == .commands ? "+PONG\r\n" : ""
  #expect(try script.receive("+OK\r\n" + primary + pong) == [.ready])
  _ = try script.sent()
  return script
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private let unexpected = RedisFailure.violation("h:1", "it sent an unexpected answer")
private let noAnswer = RedisFailure.noAnswer("h:1", .seconds(5))

struct `Redis: the conversation on one connection` {
  // MARK: The beginning

  @Test func `all that the server has to know is sent at once`() throws {
    let settings = Script.settings(user: "ann", password: "p w", database: 3)
    let name = "CLIENT SETNAME pusher-cli"
    #expect(
      try Script(.commands, settings).sent() == ["AUTH ann p w", name, "SELECT 3", "ROLE", "PING"]
    )
    // Messages are independent of the database number.
    #expect(try Script(.subscriber, settings).sent() == ["AUTH ann p w", name, "ROLE"])
    #expect(try Script(.sentinel, settings, identifies: false).sent() == [name])
    #expect(
      try Script(.commands, Script.settings(password: "p")).sent() == [
        "AUTH p", name, "ROLE", "PING",
      ])
  }

  @Test func `a primary that has agreed to all is ready, and only then`() throws {
    let script = Script(.commands, Script.settings(password: "p", database: 3))
    #expect(try script.receive(Self.granted + primary) == [])
    #expect(try script.receive("+PONG\r\n") == [.ready])
  }

  @Test(arguments: [
    (RedisConversation.Role.sentinel, "-ERR unknown subcommand 'SETNAME'\r\n"),
    (.sentinel, "-NOPERM this user has no permissions\r\n"),
    (.commands, "+OK\r\n-NOPERM no permissions\r\n-NOPERM no permissions\r\n"),
  ])
  func `a name that the server does not take and a role that may not be asked for are no loss`(
    role: RedisConversation.Role, answers: String
  ) throws {
    #expect(try Script(role).receive(answers) == [.ready])
  }

  /// Answers to the name, the password and the database, and the failure after them.
  private static let refusals: [(String, RedisFailure)] = [
    (
      "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
      .credentials("h:1", code: "WRONGPASS")
    ),
    (
      "-ERR AUTH <password> called without any password configured\r\n",
      .credentials("h:1", code: "ERR")
    ),
    ("-hidden is not the password\r\n", .credentials("h:1", code: "ERR")),
    ("+OK\r\n-NOAUTH Authentication required.\r\n", .credentials("h:1", code: "NOAUTH")),
    (
      "+OK\r\n+OK\r\n-ERR DB index is out of range\r\n",
      refused("SELECT 3", "ERR DB index is out of range")
    ),
    (
      "+OK\r\n+OK\r\n-ERR not for hidden or \u{1b}[31mhidden\r\n",
      refused("SELECT 3", "ERR not for ****** or ?[31m******")
    ),
    (granted + replica, .notPrimary("h:1")),
    (
      granted + "*2\r\n$8\r\nsentinel\r\n*0\r\n",
      refused("the connection", "it is a Sentinel, which needs a URL with redis+sentinel")
    ),
    (granted + ":1\r\n", .violation("h:1", "its answer to ROLE names no role")),
    (
      granted + primary + "-LOADING Redis is loading the dataset in memory\r\n",
      refused("PING", "LOADING Redis is loading the dataset in memory")
    ),
  ]

  private static let granted = "+OK\r\n+OK\r\n+OK\r\n"

  private static func refused(_ command: String, _ error: String) -> RedisFailure {
    .refused("h:1", command: command, error: error)
  }

  @Test(arguments: refusals.indices)
  func `a server that cannot be used says why, without the password`(row: Int) {
    let (answers, failure) = Self.refusals[row]
    let script = Script(.commands, Script.settings(user: "u", password: "hidden", database: 3))
    #expect(throws: failure) { try script.receive(answers) }
    #expect(!failure.description.contains("hidden"))
  }

  // MARK: Commands and answers

  @Test func `answers belong to commands in their order`() throws {
    let script = try ready(.commands)
    for key in ["a", "b", "c"] { try script.send("GET", key) }
    #expect(try script.sent() == ["GET a", "GET b", "GET c"])
    #expect(
      try script.receive("$1\r\n1\r\n-WRONGTYPE x\r\n$-1\r\n") == [
        .reply(.bytes(bytes("1"))), .reply(.error("WRONGTYPE x")), .reply(.null),
      ])
    #expect(script.conversation.dueCount == 0)
  }

  @Test func `an answer without a question is a violation`() throws {
    let script = try ready(.commands)
    #expect(throws: unexpected) { try script.receive("+OK\r\n") }
  }

  @Test func `an error without a question is told in its words`() {
    let script = Script(.sentinel)
    let failure = RedisFailure.refused(
      "h:1", command: "the connection", error: "ERR max number of clients reached")
    #expect(throws: failure) {
      _ = try script.receive("+OK\r\n")
      _ = try script.receive("-ERR max number of clients reached\r\n")
    }
  }

  @Test func `commands above the limit are refused, until an answer makes room`() throws {
    let script = try ready(.commands) { $0.outstanding = 2 }
    for _ in 0..<2 { try script.send("PING") }
    #expect(throws: RedisFailure.overloaded("more than 2 answers are pending")) {
      try script.send("PING")
    }
    #expect(try script.receive("+PONG\r\n").count == 1)
    try script.send("PING")
    #expect(script.conversation.dueCount == 2)
  }

  @Test func `more than the allowed bytes are refused before they are written`() throws {
    let script = try ready(.commands) { $0.queuedBytes = 1 << 20 }
    let large = String(repeating: "x", count: 600_000)
    try script.send("SET", "k", large)
    let count = script.conversation.output.count
    #expect(throws: RedisFailure.overloaded("more than 1 MiB wait to be sent")) {
      try script.send("SET", "k", large)
    }
    #expect(script.conversation.output.count == count && script.conversation.dueCount == 1)
  }

  @Test func `a reply beyond the limit ends the connection and names the limit`() throws {
    let script = try ready(.commands)
    try script.send("GET", "k")
    #expect(throws: RedisFailure.limit("h:1", "a reply is larger than 64 MiB")) {
      try script.receive("$67108865\r\n")
    }
  }

  // MARK: Time

  @Test func `a silent server is asked whether it is there`() throws {
    let script = try ready(.commands)
    #expect(script.timeLeft == .seconds(5))
    try script.tick(after: .seconds(4.9))
    #expect(try script.sent() == [])
    try script.tick(after: .seconds(0.1))
    #expect(try script.sent() == ["PING"])
    #expect(try script.receive("+PONG\r\n") == [])
    #expect(script.timeLeft == .seconds(5))
  }

  @Test func `a server that does not answer in time is given up`() throws {
    let script = try ready(.commands)
    try script.tick(after: .seconds(3))
    try script.send("GET", "k")
    try script.tick(after: .seconds(4.9))
    #expect(throws: noAnswer) { try script.tick(after: .seconds(0.1)) }
  }

  @Test func `each answer of Redis gives the next one its time`() throws {
    let script = try ready(.commands)
    for _ in 0..<3 { try script.send("GET", "k") }
    for _ in 0..<2 {
      try script.tick(after: .seconds(4))
      #expect(try script.receive("$-1\r\n").count == 1)
    }
    // Bytes of an incomplete answer give no events.
    script.now = script.now.advanced(by: .seconds(5))
    #expect(try script.receive("$100\r\nabc") == [])
    #expect(throws: noAnswer) { try script.tick(after: .zero) }
  }

  @Test func `a server that never finishes the beginning is given up`() {
    let script = Script(.commands)
    #expect(throws: noAnswer) { try script.tick(after: .seconds(5)) }
  }

  // MARK: Subscriptions and messages

  private func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

  private func message(_ channel: String, _ text: String) -> String {
    "*3\r\n" + bulk("message") + bulk(channel) + bulk(text)
  }

  private func answer(_ kind: String, _ channel: String, _ count: Int) -> String {
    "*3\r\n" + bulk(kind) + bulk(channel) + ":\(count)\r\n"
  }

  @Test func `a subscription is confirmed, and messages come in their order`() throws {
    let script = try ready(.subscriber)
    try script.subscribe("a", "b")
    #expect(try script.sent() == ["SUBSCRIBE a", "SUBSCRIBE b"])
    let wire =
      answer("subscribe", "a", 1) + message("a", "1") + answer("subscribe", "b", 2)
      + message("b", "2") + message("a", "")
    #expect(
      try script.receive(wire) == [
        .subscribed(bytes("a")), .message(channel: bytes("a"), payload: bytes("1")),
        .subscribed(bytes("b")), .message(channel: bytes("b"), payload: bytes("2")),
        .message(channel: bytes("a"), payload: []),
      ])
  }

  @Test func `the end of a subscription is no event, and late messages still come`() throws {
    let script = try ready(.subscriber)
    try script.subscribe("a")
    #expect(try script.receive(answer("subscribe", "a", 1)).count == 1)
    try script.conversation.unsubscribe(bytes("a"), at: script.now)
    let wire = message("a", "late") + answer("unsubscribe", "a", 0)
    #expect(try script.receive(wire) == [.message(channel: bytes("a"), payload: bytes("late"))])
    #expect(script.conversation.dueCount == 0)
  }

  @Test func `a refused subscription is told, and the next one goes on`() throws {
    let script = try ready(.subscriber)
    try script.subscribe("a", "b")
    #expect(
      try script.receive("-NOPERM no access\r\n" + answer("subscribe", "b", 1)) == [
        .refused(bytes("a"), "NOPERM no access"), .subscribed(bytes("b")),
      ])
  }

  @Test(arguments: ["+PONG\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"])
  func `a pong has another form while something is subscribed`(pong: String) throws {
    let script = try ready(.subscriber)
    try script.tick(after: .seconds(5))
    #expect(try script.sent() == ["PING"])
    #expect(try script.receive(pong) == [])
    #expect(script.conversation.dueCount == 0)
  }

  @Test func `messages show that the server is there`() throws {
    let script = try ready(.subscriber)
    try script.subscribe("a")
    _ = try script.receive(answer("subscribe", "a", 1))
    script.now = script.now.advanced(by: .seconds(4))
    _ = try script.receive(message("a", "1"))
    #expect(script.timeLeft == .seconds(5))
  }

  @Test(arguments: [
    "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n", "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n",
    "*2\r\n$4\r\npong\r\n$0\r\n\r\n", "*2\r\n$7\r\nmessage\r\n$1\r\na\r\n",
    "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nb\r\n", "*0\r\n", ":1\r\n", "+OK\r\n",
  ])
  func `a reply of Redis that fits no question is a violation`(wire: String) throws {
    let script = try ready(.subscriber)
    try script.subscribe("a")
    #expect(throws: unexpected) { try script.receive(wire) }
  }
}
