import PusherCore
import PusherServer
import Testing

@Suite struct `What servers send differently` {
  private static func hub(_ dialect: Dialect) -> Hub {
    var application = Application.forTests()
    application.sendsSubscriptionCounts = true
    return Hub(
      application: application, limits: dialect.limits, dialect: dialect)
  }

  private static func client(_ dialect: Dialect) -> HubClient {
    let client = HubClient(hub(dialect), "1.1", dialect: dialect)
    _ = client.received()
    return client
  }

  @Test(arguments: [(Dialect.pusher, 120), (.reverb, 30), (.soketi, 30)])
  func `the greeting tells the activity timeout`(dialect: Dialect, seconds: Int) {
    let client = HubClient(Self.hub(dialect), "1.1", dialect: dialect)
    let data = #"{\"socket_id\":\"1.1\",\"activity_timeout\":\#(seconds)}"#
    #expect(
      client.texts() == [#"{"event":"pusher:connection_established","data":"\#(data)"}"#])
  }

  @Test(arguments: [
    (
      Dialect.pusher,
      [
        #""channel":"news","data":"{}"}"#,
        #""channel":"news","data":"{\"subscription_count\":1}"}"#,
      ]
    ), (.reverb, [#""channel":"news","data":"{}"}"#]), (.soketi, [#""channel":"news"}"#]),
  ])
  func `subscription_succeeded has data or none, and counts follow or not`(
    dialect: Dialect, ends: [String]
  ) {
    let client = Self.client(dialect)
    client.subscribe("news")
    let texts = client.texts()
    #expect(texts.count == ends.count)
    #expect(zip(texts, ends).allSatisfy { $0.hasSuffix($1) }, "\(texts)")
  }

  @Test(arguments: Dialect.allCases)
  func `a presence subscription succeeds with a string everywhere`(dialect: Dialect) {
    let client = Self.client(dialect)
    client.authorize("presence-a", channelData: #"{"user_id":"7","user_info":{}}"#)
    #expect(
      client.texts() == [
        #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-a","data":"#
          + #""{\"presence\":{\"ids\":[\"7\"],\"hash\":{\"7\":{}},\"count\":1}}"}"#
      ])
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"event":"pusher:pong","data":"{}"}"#),
    (.reverb, #"{"event":"pusher:pong"}"#), (.soketi, #"{"event":"pusher:pong","data":{}}"#),
  ])
  func `a pong has its server's form`(dialect: Dialect, expected: String) {
    let client = Self.client(dialect)
    client.send(#"{"event":"pusher:ping","data":{}}"#)
    #expect(client.texts() == [expected])
  }

  @Test func `Reverb answers what it cannot use with 4200 in a string`() {
    let client = Self.client(.reverb)
    let error =
      #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#
    for text in ["[", #"{"event":"x"}"#, #"{"event":"pusher:signin","data":{"user_data":"{}"}}"#] {
      client.send(text)
      #expect(client.texts() == [error], "\(text)")
    }
    #expect(!client.session.isFinished)
  }

  @Test(arguments: [
    (
      Dialect.reverb,
      #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#
    ),
    (
      .soketi,
      #"{"event":"pusher:subscription_error","channel":"private-a","data":{"type":"AuthError","error":"Invalid key in subscription auth data: 'x'","status":401}}"#
    ),
    (
      .pusher,
      #"{"event":"pusher:error","channel":"private-a","data":{"code":null,"message":"Invalid key in subscription auth data: 'x'"}}"#
    ),
  ])
  func `a wrong signature is answered in three ways`(dialect: Dialect, expected: String) {
    let client = Self.client(dialect)
    client.send(
      #"{"event":"pusher:subscribe","data":{"auth":"x:00","channel":"private-a"}}"#)
    #expect(client.texts() == [expected])
  }

  @Test func `soketi gives back the whole sign-in`() {
    let client = Self.client(.soketi)
    let userData = #"{"id":"7"}"#
    let application = Application.forTests()
    let auth = SubscriptionSignature(key: application.key, secret: application.secret)
      .signIn(socketID: "1.1", userData: userData)
    client.send(
      #"{"event":"pusher:signin","data":{"auth":"\#(auth)","user_data":"{\"id\":\"7\"}"}}"#)
    #expect(
      client.texts() == [
        #"{"event":"pusher:signin_success","data":{"auth":"\#(auth)","user_data":"{\"id\":\"7\"}"}}"#
      ])
  }

  @Test(
    arguments: [
      (Dialect.pusher, #""{\"n\":1}""#, #""{\"n\":1}""#), (.pusher, #""plain""#, #""plain""#),
      (.soketi, #""plain""#, #""plain""#), (.reverb, #""{\"n\":1}""#, #"{"n":1}"#),
      (.reverb, #"{"n":1}"#, #"{"n":1}"#), (.reverb, #""plain""#, nil),
    ] as [(Dialect, String, String?)])
  func `a client event is passed on as each server does`(
    dialect: Dialect, data: String, relayed: String?
  ) {
    let hub = Self.hub(dialect)
    let pair = ["1.1", "1.2"].map { HubClient(hub, $0, dialect: dialect) }
    for client in pair { client.authorize("private-a") }
    for client in pair { _ = client.received() }
    pair[0].send(#"{"event":"client-a","channel":"private-a","data":\#(data)}"#)
    let expected = relayed.map {
      [#"{"event":"client-a","channel":"private-a","data":\#($0)}"#]
    }
    #expect(pair[1].texts() == expected ?? [])
    #expect(pair[0].texts().count == (relayed == nil ? 1 : 0))
  }

  @Test func `soketi ends a connection on which it has been silent, whatever the client does`() {
    let client = Self.client(.soketi)
    for _ in 0..<11 {
      client.wait(.seconds(10))
      client.wire.ping()
      client.deliverInput()
    }
    #expect(client.received().allSatisfy { $0 == .pong([]) })
    #expect(client.session.deadline == client.now.advanced(by: .seconds(10)))
    client.wait(.seconds(10))
    _ = client.received()
    #expect(client.wire.closeReceived?.code == CloseCode(rawValue: 4201))
  }

  @Test(arguments: ["an event", "a pong"])
  func `soketi's wait begins anew with what it sends`(message: String) {
    let client = Self.client(.soketi)
    client.subscribe("news")
    client.wait(.seconds(119))
    if message == "an event" {
      client.hub.publish(name: "e", channel: "news", data: "{}", at: client.now)
    } else {
      client.send(#"{"event":"pusher:ping","data":{}}"#)
    }
    client.wait(.seconds(119))
    #expect(client.wire.closeReceived == nil && !client.session.isFinished)
    #expect(client.session.deadline == client.now.advanced(by: .seconds(1)))
    client.wait(.seconds(1))
    _ = client.received()
    #expect(client.wire.closeReceived?.code == CloseCode(rawValue: 4201))
  }

  @Test(arguments: [
    "[", #"{"event":"x"}"#, #"{"event":"pusher:new","data":{}}"#, #"{"event":7}"#,
    #"{"event":"pusher:unsubscribe","data":{"channel":"none"}}"#,
    #"{"event":"client-x","channel":"private-none","data":{}}"#,
  ])
  func `soketi says nothing to what it cannot use`(message: String) {
    let client = Self.client(.soketi)
    client.send(message)
    #expect(client.received().isEmpty)
    #expect(!client.session.isFinished)
  }

  @Test func `soketi numbers every client event that it refuses`() {
    let client = Self.client(.soketi)
    client.subscribe("news")
    _ = client.texts()
    let name = "client-" + String(repeating: "x", count: 200)
    client.send(#"{"event":"\#(name)","channel":"news","data":{}}"#)
    #expect(client.texts().first?.contains(#""data":{"code":4301,"#) == true)
  }

  @Test func `Reverb says nothing to the end of a subscription that it does not know`() {
    let client = Self.client(.reverb)
    client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"none"}}"#)
    #expect(client.received().isEmpty)
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"event":"pusher:ping","data":"{}"}"#),
    (.reverb, #"{"event":"pusher:ping"}"#),
  ])
  func `a silent client is asked in its server's way`(dialect: Dialect, message: String) {
    let client = Self.client(dialect)
    client.wait(.seconds(120))
    #expect(client.received() == [.text(message)])
    client.wire.ping()
    client.deliverInput()
    _ = client.received()
    client.wait(.seconds(120))
    #expect(client.received() == [dialect == .reverb ? .ping([]) : .text(message)])
  }

  @Test func `Reverb gives up a silent client with an error event and no close frame`() {
    let client = Self.client(.reverb)
    client.wait(.seconds(60))
    client.wait(.seconds(60))
    let texts = client.texts()
    #expect(texts.last?.contains(#"\"code\":4201"#) == true, "\(texts)")
    #expect(client.session.isFinished)
    #expect(client.wire.closeReceived == nil)
  }

  @Test(arguments: [(Dialect.pusher, true), (.soketi, true), (.reverb, false)])
  func `an unknown key is told with a close frame or without`(
    dialect: Dialect, isClosed: Bool
  ) throws {
    let server = try ServerHarness { $0.dialect = dialect }
    let socket = try server.socket("/app/other?protocol=7")
    #expect(server.run { socket.hasEnded || socket.received.count == 2 })
    guard case .text(let text) = socket.received.first else {
      Issue.record("no error event")
      return
    }
    #expect(text.contains("4001"))
    #expect((socket.received.count == 2) == isClosed)
  }

  @Test(arguments: [(Dialect.pusher, true), (.reverb, false), (.soketi, false)])
  func `only Pusher agrees to compression`(dialect: Dialect, isCompressed: Bool) throws {
    let server = try ServerHarness {
      $0.dialect = dialect
      $0.acceptsCompression = true
    }
    let socket = try server.socket()
    #expect(server.run { socket.isEstablished })
    #expect(socket.isCompressed == isCompressed)
  }

  @Test(arguments: [(Dialect.pusher, 4004), (.soketi, 4100)])
  func `a connection too many is refused with the server's own code`(
    dialect: Dialect, code: Int
  ) throws {
    let server = try ServerHarness {
      $0.dialect = dialect
      $0.limits.connections = 0
    }
    let socket = try server.socket()
    #expect(server.run { socket.received.count == 2 })
    guard case .closed(let given, _)? = socket.received.last else {
      Issue.record("\(socket.received)")
      return
    }
    #expect(given.map(Int.init) == code)
  }

  @Test func `Reverb leaves a connection open for which it has no room`() throws {
    let server = try ServerHarness {
      $0.dialect = .reverb
      $0.limits.connections = 0
    }
    let socket = try server.socket()
    #expect(server.run { !socket.received.isEmpty })
    #expect(server.run { true })
    #expect(!socket.hasEnded)
  }
}
