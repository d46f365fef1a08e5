import Foundation
import PusherCore
import PusherTesting
import TestSupport
import Testing

/// `PusherTesting` as another package's tests use it: public API only.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `The server for other people's tests` {
  private struct Order: Codable, Equatable, Sendable {
    var id: Int
    var total: Double
  }

  // MARK: Events

  @Test func `what a test triggers reaches the program as a type of its own`() async throws {
    let server = try await PusherTestServer()
    let pusher = server.client()
    let orders = Gathered<Order?>()
    pusher.subscribe("orders").bind(eventName: "created") { event in
      orders.add(try? event.decode(Order.self))
    }
    pusher.connect()
    try await server.subscribers(of: "orders", reach: 1)
    try await server.trigger("created", channels: ["orders"], data: Order(id: 7, total: 1.5))
    #expect(try await orders.wait() == [Order(id: 7, total: 1.5)])
    #expect(await server.channels == ["orders"])
    #expect(await server.connectionCount == 1)
    withExtendedLifetime(pusher) {}
  }

  @Test func `all kinds of channels are signed, and users sign in`() async throws {
    let key = try EncryptionMasterKey(base64: Data(repeating: 7, count: 32).base64EncodedString())
    let server = try await PusherTestServer(encryptionMasterKey: key)
    let pusher = server.client(userID: "ann")
    let heard = Gathered<String>()
    let names = ["private-a", "presence-b", "private-encrypted-c"]
    for name in names {
      pusher.subscribe(name).bind(eventName: "e") {
        heard.add("\($0.channelName ?? "") \($0.data ?? "")")
      }
    }
    pusher.user.bind(eventName: "e") { heard.add("user \($0.data ?? "")") }
    pusher.user.signIn()
    pusher.connect()
    for name in names {
      try await server.subscribers(of: name, reach: 1)
      try await server.trigger("e", channels: [name], data: "{}")
    }
    #expect(await server.members(of: "presence-b") == ["ann"])
    try await server.api.sendToUser("ann", "e", data: "1")
    let expected = names.map { $0 + " {}" } + ["user 1"]
    #expect(try await heard.wait(for: 4).sorted() == expected.sorted())
    withExtendedLifetime(pusher) {}
  }

  @Test func `the endpoint authorises channels, and fails when told to`() async throws {
    let server = try await PusherTestServer(faults: [.authFail(status: 503).onChannels("*-no")])
    let pusher = Pusher(
      key: server.key,
      options: server.clientOptions(authMethod: .endpoint(authEndpoint: server.authEndpoint)))
    let (good, bad) = (pusher.subscribe("private-yes"), pusher.subscribe("private-no"))
    pusher.connect()
    try await good.subscribed(within: .seconds(30))
    let failure = await #expect(throws: SubscriptionFailure.self) {
      try await bad.subscribed(within: .seconds(30))
    }
    #expect(failure?.status == 503)
  }

  @Test func `a test server reports what happens to its clients`() async throws {
    let server = try await PusherTestServer()
    let (events, told) = (server.events, Gathered<PusherTestEvent>())
    let reading = Task { for await event in events { told.add(event) } }
    let pusher = server.client()
    let channel = pusher.subscribe("private-chat")
    pusher.connect()
    try await channel.subscribed(within: .seconds(30))
    try channel.trigger(eventName: "client-hello", data: [:])
    let socket = try #require(pusher.connection.socketId)
    #expect(
      try await told.wait(for: 3) == [
        .connected(socketID: socket),
        .subscribed(socketID: socket, channel: "private-chat", userID: nil),
        .clientEvent(
          socketID: socket, name: "client-hello", channel: "private-chat", recipients: 0),
      ])
    reading.cancel()
  }

  // MARK: Faults

  @Test func `a dropped connection is made anew, one closed with 4001 is not`() async throws {
    let server = try await PusherTestServer()
    let pusher = server.client()
    let delegate = RecordingDelegate(of: pusher)
    pusher.connect()
    _ = try await delegate.connected.wait()
    await server.dropConnections()
    #expect(try await delegate.disconnected.wait()[0].willRetry)
    _ = try await delegate.connected.wait(for: 2)
    try await server.closeConnections(code: 4001, reason: "no such app")
    let losses = try await delegate.disconnected.wait(for: 2)
    #expect(!losses[1].willRetry)
    #expect(losses[1].error?.description.contains("4001") == true)
  }

  @Test func `a fault happens after so many events, so often, on its channels`() async throws {
    let server = try await PusherTestServer()
    let pusher = server.client()
    let heard = Gathered<String>()
    for name in ["orders-1", "other"] {
      pusher.subscribe(name).bind(eventName: "e") { heard.add("\(name) \($0.data ?? "")") }
    }
    pusher.connect()
    for name in ["orders-1", "other"] { try await server.subscribers(of: name, reach: 1) }
    try await server.stage(.duplicate.onChannels("orders-*").after(1).times(1))
    for number in 1...3 {
      try await server.trigger("e", channels: ["orders-1", "other"], data: "\(number)")
    }
    let expected = [
      "orders-1 1", "other 1", "orders-1 2", "orders-1 2", "other 2", "orders-1 3", "other 3",
    ]
    #expect(try await heard.wait(for: expected.count).sorted() == expected.sorted())
    await server.clearFaults()
    withExtendedLifetime(pusher) {}
  }

  @Test func `a fault of the beginning meets the first connections only`() async throws {
    let server = try await PusherTestServer(faults: [.close(code: 4200).onConnections(1)])
    let pusher = server.client()
    let delegate = RecordingDelegate(of: pusher)
    let channel = pusher.subscribe("orders")
    pusher.connect()
    try await channel.subscribed(within: .seconds(30))
    #expect(delegate.disconnected.values.count + delegate.connectFailures.values.count == 1)
  }

  @Test(arguments: [
    PusherTestFault.close(code: 1005), .close(code: 70_000), .hugeFrame(size: 0),
    .authFail(status: 200), .drop.after(-1), .drop.times(0), .drop.onConnections(0),
  ])
  func `a fault with a number that cannot be is refused`(fault: PusherTestFault) async throws {
    let server = try await PusherTestServer()
    await #expect(throws: PusherTestServerError.self) { try await server.stage(fault) }
    await #expect(throws: PusherTestServerError.self) {
      _ = try await PusherTestServer(faults: [fault])
    }
  }

  // MARK: Dialects

  @Test func `each dialect answers in its own way`() async throws {
    var answers: [PusherTestServer.Dialect: Bool] = [:]
    for dialect in PusherTestServer.Dialect.allCases {
      let server = try await PusherTestServer(dialect: dialect)
      // Pusher rejects a request to count the users of a public channel; the others omit the count.
      answers[dialect] = (try? await server.api.channel("open", info: ["user_count"])) != nil
    }
    #expect(answers == [.pusher: false, .reverb: true, .soketi: true])
  }

  // MARK: Life

  @Test func `a stopped server listens again at its port, and clients come back`() async throws {
    let server = try await PusherTestServer()
    let pusher = server.client()
    let delegate = RecordingDelegate(of: pusher)
    pusher.subscribe("orders")
    pusher.connect()
    try await server.subscribers(of: "orders", reach: 1)
    await server.stop()
    #expect(!server.isListening)
    #expect(await server.connectionCount == 0)
    _ = try await delegate.disconnected.wait()
    await #expect(throws: PusherAPIError.self) {
      try await server.trigger("e", channels: ["orders"], data: "{}")
    }
    await #expect(throws: PusherTestServerError.stopped) { try await server.stage(.drop) }
    try await server.start()
    try await server.subscribers(of: "orders", reach: 1)
    withExtendedLifetime(pusher) {}
  }

  @Test func `no thread is left after a server was stopped or forgotten`() async throws {
    for isStopped in [true, false] {
      let name = "pt-life-\(isStopped)"
      do {
        let server = try await PusherTestServer(threadName: name)
        let pusher = server.client()
        pusher.connect()
        try await pusher.connected(within: .seconds(30))
        try await server.trigger("e", channels: ["orders"], data: "{}")
        #expect(OwnThread.count(named: name) == 1)
        if isStopped { await server.stop() }
      }
      try await condition("its thread has ended") { OwnThread.count(named: name) == 0 }
    }
  }

  @Test func `a port that another has is refused with the reason`() async throws {
    let server = try await PusherTestServer()
    await #expect(throws: PusherTestServerError.self) {
      _ = try await PusherTestServer(port: server.port)
    }
    await #expect(
      throws: PusherTestServerError.notListening("70000 is not a port; ports are 0 to 65535")
    ) {
      _ = try await PusherTestServer(port: 70_000)
    }
    #expect(server.isListening)
  }

  @Test func `a wait for subscribers ends with its task`() async throws {
    let server = try await PusherTestServer()
    let waiting = Task { try await server.subscribers(of: "orders", reach: 1) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }
}
