import PusherCore
import PusherServer
import Testing

/// Answers of real Reverb and soketi servers that differ from Pusher's; see docs/peers.md.
struct `What servers send differently` {
  private static let badMessage =
    #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#
  private static let ping = #"{"event":"pusher:ping","data":{}}"#
  private static let wrongKey =
    #"{"event":"pusher:subscribe","data":{"auth":"x:00","channel":"private-a"}}"#
  private static let nowhere = #"{"event":"pusher:unsubscribe","data":{"channel":"none"}}"#

  @Test func `the names are those of the servers, in their order`() {
    #expect(Dialect.names == Dialect.allCases.map(\.rawValue))
  }

  @Test(arguments: Dialect.allCases)
  func `a list of members is JSON in a string, whatever ids and infos hold`(dialect: Dialect) {
    let members = [
      Member(userID: "\"\\é\n", info: ["a\"": "\u{1}\\"]), Member(userID: "7", id: .integer(7)),
      Member(userID: "gone"), Member(userID: "b", info: .null),
    ]
    var list = MemberList()
    let isFirst = (members + members.prefix(1)).map { list.join($0) }
    let gone = list.leave("gone")
    #expect(isFirst == [true, true, true, true, false] && gone == members[2])
    let left = members.filter { $0.userID != "gone" }
    // Only soketi leaves out members without information.
    let shown = left.filter { dialect.rawValue != "soketi" || $0.info != nil }
    let data: JSONValue = [
      "presence": [
        "ids": .array(left.map(\.id)),
        "hash": .object(shown.map { .init($0.userID, $0.info ?? .null) }), "count": .integer(3),
      ]
    ]
    let text = MessageText(dialect: dialect)
    #expect(
      text.subscriptionSucceeded(channel: "presence-a", members: list)
        == MessageText.event(
          name: "pusher_internal:subscription_succeeded", channel: "presence-a",
          data: .string(JSONWriter.text(data))))
  }

  @Test(arguments: [(Dialect.pusher, 120), (.reverb, 30), (.soketi, 30)])
  func `the greeting tells the activity timeout`(dialect: Dialect, seconds: Int) {
    let data = #"{\"socket_id\":\"1.1\",\"activity_timeout\":\#(seconds)}"#
    #expect(
      HubClient(dialect.hub(), "1.1", dialect: dialect).texts() == [
        #"{"event":"pusher:connection_established","data":"\#(data)"}"#
      ])
  }

  /// A message, and its answer; `nil` for none.
  private static let exchanges: [(Dialect, String, String?)] = [
    (.pusher, ping, #"{"event":"pusher:pong","data":"{}"}"#),
    (.reverb, ping, #"{"event":"pusher:pong"}"#),
    (.soketi, ping, #"{"event":"pusher:pong","data":{}}"#),
    (.reverb, "[", badMessage), (.reverb, #"{"event":"x"}"#, badMessage),
    (.reverb, #"{"event":"pusher:signin","data":{"user_data":"{}"}}"#, badMessage),
    (.reverb, nowhere, nil), (.soketi, nowhere, nil), (.soketi, "[", nil),
    (.soketi, #"{"event":"x"}"#, nil), (.soketi, #"{"event":"pusher:new","data":{}}"#, nil),
    (.soketi, #"{"event":7}"#, nil),
    (.soketi, #"{"event":"client-x","channel":"private-none","data":{}}"#, nil),
    (
      .reverb, wrongKey,
      #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#
    ),
    (
      .soketi, wrongKey,
      #"{"event":"pusher:subscription_error","channel":"private-a","data":{"type":"AuthError","error":"Invalid key in subscription auth data: 'x'","status":401}}"#
    ),
    (
      .pusher, wrongKey,
      #"{"event":"pusher:error","channel":"private-a","data":{"code":null,"message":"Invalid key in subscription auth data: 'x'"}}"#
    ),
  ]

  @Test(arguments: exchanges)
  func `each server answers a message in its own way, and keeps the connection`(
    dialect: Dialect, message: String, answer: String?
  ) {
    let client = dialect.client()
    client.send(message)
    #expect(client.received() == (answer.map { [.text($0)] } ?? []))
    #expect(!client.session.isFinished)
  }

  @Test(arguments: [(Dialect.reverb, [badMessage]), (.soketi, [])])
  func `Reverb and soketi keep the connection after a binary message, and read one that is JSON`(
    dialect: Dialect, answers: [String]
  ) {
    let client = dialect.client()
    client.send(binary: [0xFF, 0x00, 0xC3])
    #expect(client.received() == answers.map { .text($0) })
    client.send(binary: Array(Self.ping.utf8))
    #expect(client.names() == ["pusher:pong"])
  }

  @Test func `soketi gives back the whole sign-in`() {
    let client = Dialect.soketi.client()
    let application = Application.forTests()
    let auth = SubscriptionSignature(key: application.key, secret: application.secret)
      .signIn(socketID: "1.1", userData: #"{"id":"7"}"#)
    client.signIn(#"{"id":"7"}"#)
    client.expect(
      #"{"event":"pusher:signin_success","data":{"auth":"\#(auth)","user_data":"{\"id\":\"7\"}"}}"#)
  }

  // MARK: Silence

  private static func expectSoketiEnds(_ client: HubClient) {
    client.wait(.seconds(1))
    #expect(client.closeCode() == 4201)
  }

  @Test func `soketi ends a connection on which it has been silent, whatever the client does`() {
    let client = Dialect.soketi.client()
    for _ in 0..<11 {
      client.wait(.seconds(10))
      client.ping()
    }
    #expect(client.received().allSatisfy { $0 == .pong([]) })
    #expect(client.session.deadline == client.now.advanced(by: .seconds(10)))
    client.wait(.seconds(9))
    Self.expectSoketiEnds(client)
  }

  @Test(arguments: ["an event", "a pong"])
  func `soketi's wait begins anew with what it sends`(message: String) {
    let client = Dialect.soketi.client()
    client.subscribe("news")
    client.wait(.seconds(119))
    if message == "an event" {
      client.hub.publish(name: "e", channel: "news", data: "{}", at: client.now)
    } else {
      client.send(Self.ping)
    }
    client.wait(.seconds(119))
    #expect(client.wire.closeReceived == nil && !client.session.isFinished)
    #expect(client.session.deadline == client.now.advanced(by: .seconds(1)))
    Self.expectSoketiEnds(client)
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"event":"pusher:ping","data":"{}"}"#),
    (.reverb, #"{"event":"pusher:ping"}"#),
  ])
  func `a silent client is asked in its server's way`(dialect: Dialect, message: String) {
    let client = dialect.client()
    client.wait(.seconds(120))
    #expect(client.received() == [.text(message)])
    client.ping()
    _ = client.received()
    client.wait(.seconds(120))
    #expect(client.received() == [dialect == .reverb ? .ping([]) : .text(message)])
  }

  @Test func `Reverb gives up a silent client with an error event and no close frame`() {
    let client = Dialect.reverb.client()
    client.wait(.seconds(60))
    client.wait(.seconds(60))
    let texts = client.texts()
    #expect(texts.last?.contains(#"\"code\":4201"#) == true, "\(texts)")
    #expect(client.session.isFinished && client.wire.closeReceived == nil)
  }

  // MARK: Connections

  @Test(arguments: [
    ("?protocol=7", [nil, nil, nil]), ("?protocol=8", [4007, nil, nil]),
    ("?protocol=x", [4007, nil, nil]), ("?version=beta", [4006, nil, nil]), ("", [nil, nil, nil]),
  ])
  func `only Pusher looks at protocol and version`(query: String, expected: [Int?]) {
    for (dialect, expected) in zip(Dialect.allCases, expected) {
      let key = Application.forTests().key
      #expect(dialect.applications().refusal(of: "/app/\(key)\(query)") == expected, "\(dialect)")
    }
  }

  @Test(
    arguments: [
      (.soketi, "/app/nobody?protocol=7", 4001), (.soketi, "/nowhere", 4005),
      (.reverb, "/app/nobody?protocol=7", nil),
    ] as [(Dialect, String, UInt16?)])
  func `soketi refuses a connection without a reason in the close frame, Reverb without a frame`(
    dialect: Dialect, target: String, code: UInt16?
  ) throws {
    let server = try ServerHarness { $0.dialect = dialect }
    let socket = try server.socket(target)
    #expect(server.run { socket.hasEnded || socket.received.count == 2 })
    guard case .text(let text) = socket.received.first else {
      Issue.record("no error event")
      return
    }
    #expect(text.contains("\(code ?? 4001)"))
    #expect(Array(socket.received.dropFirst()) == (code.map { [.closed($0, "")] } ?? []))
  }

  @Test(arguments: [(Dialect.pusher, true), (.reverb, false), (.soketi, false)])
  func `only Pusher agrees to compression`(dialect: Dialect, isCompressed: Bool) throws {
    let server = try ServerHarness { ($0.dialect, $0.acceptsCompression) = (dialect, true) }
    #expect(try server.established().isCompressed == isCompressed)
  }

  @Test(arguments: [(Dialect.pusher, 4004), (.soketi, 4100)])
  func `a connection too many is refused with the server's own code`(dialect: Dialect, code: Int) {
    var limits = dialect.limits
    limits.connections = 0
    let applications = Applications([.forTests()], limits: limits, dialect: dialect)
    #expect(applications.refusal(of: "/app/\(Application.forTests().key)") == code)
  }

  @Test func `Reverb leaves a connection open for which it has no room`() throws {
    let server = try ServerHarness { ($0.dialect, $0.limits.connections) = (.reverb, 0) }
    let socket = try server.socket()
    #expect(server.run { !socket.received.isEmpty })
    #expect(server.run { true })
    #expect(!socket.hasEnded)
  }

  // MARK: Limits

  @Test(
    arguments: [
      ("bytes of an event's data", \.sizes.eventData, [10_240, 10_000, 102_400]),
      ("bytes of a client's message", \.sizes.clientMessage, [102_400, 10_000, 1 << 20]),
      ("bytes of an API call", \.sizes.apiBody, [1 << 20, 10_000, 4 << 20]),
      ("channels of an event", \.channelsOfEvent, [100, .max, 100]),
      ("events of a batch", \.batch, [10, .max, 10]),
      ("members of a presence channel", \.presenceMembers, [100, .max, 100]),
      ("characters of a user's id", \.sizes.userID, [128, .max, .max]),
      ("bytes of a user object", \.sizes.channelData, [1024, .max, 2048]),
    ] as [(String, KeyPath<ServerLimits, Int> & Sendable, [Int])])
  func `the limits of a dialect are those of its server`(
    what: String, limit: KeyPath<ServerLimits, Int> & Sendable, expected: [Int]
  ) {
    #expect(Dialect.allCases.map { $0.limits[keyPath: limit] } == expected, "\(what)")
  }

  @Test func `only Pusher limits client events, and soketi alone its own silence`() {
    let limits = Dialect.allCases.map(\.limits)
    #expect(limits.map(\.clientEventsPerSecond) == [10, nil, nil])
    #expect(limits.map(\.times.ownSilence) == [nil, nil, .seconds(120)])
    #expect(limits.map(\.times.ping) == [nil, .seconds(60), nil])
    #expect(limits.map(\.times.activity) == [.seconds(120), .seconds(30), .seconds(30)])
  }
}
