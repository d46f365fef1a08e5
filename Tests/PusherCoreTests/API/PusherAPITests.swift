import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `The HTTP API of the library` {
  let service: LocalService
  let delegate = RecordingDelegate()
  init() throws { service = try LocalService() }

  private func connect(_ channels: [String], user: String? = nil) async throws -> Pusher {
    let pusher = service.signingPusher(delegate: delegate) { options in
      guard let user else { return }
      options.userAuthMethod = .inline(
        secret: Application.forTests().secret, userData: ["id": .string(user)])
    }
    pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "7") }
    for channel in channels { pusher.subscribe(channel) }
    if user != nil { pusher.signIn() }
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: channels.count)
    return pusher
  }

  /// Returns the kind and the status of a failure, as in `refused 401`.
  private func failure(_ call: () async throws(PusherAPIError) -> Void) async -> String {
    do throws(PusherAPIError) {
      try await call()
      return "none"
    } catch {
      return switch error {
      case .invalid: "invalid"
      case .refused(let status, _): "refused \(status)"
      case .rejected(let status, _): "rejected \(status)"
      case .unreachable: "unreachable"
      default: "\(error)"
      }
    }
  }

  @Test func `channels, channel and users tell who is where`() async throws {
    let pusher = try await connect(["a", "presence-p"])
    let all = try await service.api.channels(info: ["subscription_count"])
    #expect(Set(all.keys) == ["a", "presence-p"])
    #expect(all["a"]?.subscriptionCount == 1 && all["a"]?.userCount == nil)
    let presence = try await service.api.channels(withPrefix: "presence-", info: ["user_count"])
    #expect(presence.mapValues(\.userCount) == ["presence-p": 1])
    let one = try await service.api.channel("presence-p", info: ["user_count"])
    #expect(one.isOccupied && one.userCount == 1)
    #expect(try await !service.api.channel("nobody").isOccupied)
    #expect(try await service.api.users(of: "presence-p") == ["7"])
    #expect(pusher.connection.connectionState == .connected)
  }

  @Test func `terminateConnections ends the connections of a user`() async throws {
    let pusher = try await connect([], user: "7")
    _ = try await delegate.signedIn.wait()
    try await service.api.terminateConnections(userId: "7")
    let ends = try await delegate.disconnected.wait()
    #expect(ends.first?.error != nil)
    #expect(pusher.key == Application.forTests().key)
  }

  @Test func `triggerBatch sends each event to its channel`() async throws {
    let pusher = try await connect(["a", "b"])
    let events = Gathered<String>()
    for name in ["a", "b"] {
      pusher.channel(named: name)?.bind(eventName: "e") {
        events.add("\($0.channelName ?? "") \($0.data ?? "")")
      }
    }
    try await service.api.triggerBatch([
      .init("e", channel: "a", data: "1"), .init("e", channel: "b", data: "2"),
    ])
    #expect(try await events.wait(for: 2) == ["a 1", "b 2"])
  }

  private struct Order: Codable, Equatable {
    var id: Int
    var total: Double
  }

  @Test func `types of yours go with a batch and to a user, as JSON`() async throws {
    let pusher = try await connect(["a"])
    let events = Gathered<String>()
    pusher.channel(named: "a")?.bind(eventName: "e") { events.add($0.data ?? "") }
    let event = try PusherAPI.Event("e", channel: "a", data: Order(id: 7, total: 1.5))
    #expect(event.data == #"{"id":7,"total":1.5}"#)
    try await service.api.triggerBatch([event])
    #expect(try await events.wait() == [#"{"id":7,"total":1.5}"#])
    try await service.api.sendToUser("nobody", "e", data: Order(id: 7, total: 1.5))
    let failed = await failure { () async throws(PusherAPIError) in
      try await service.api.sendToUser("nobody", "e", data: Order(id: 7, total: .infinity))
    }
    #expect(failed == "invalid")
  }

  /// Reads a webhook with the signature of `signed`, by default the body; an empty text has none.
  private func webhook(
    _ body: String, key: String = "k", signed: String? = nil
  ) throws -> PusherWebhook {
    let signature = WebhookSignature.sign(Array((signed ?? body).utf8), secret: "s")
    return try PusherAPI(appID: "1", key: "k", secret: "s")
      .webhook(body: Array(body.utf8), key: key, signature: signed == "" ? nil : signature)
  }

  @Test func `a client event of a webhook is read as a type of yours`() throws {
    let events = try webhook(
      #"{"events":[{"name":"client_event","channel":"private-a","event":"client-order","data":"{\"id\":7,\"total\":1.50}"},{"name":"channel_vacated","channel":"a"}]}"#
    ).events
    #expect(events.first?.data == #"{"id":7,"total":1.50}"#)
    #expect(try events.first?.decode(Order.self) == Order(id: 7, total: 1.5))
    #expect(events.last?.data == nil)
    #expect(throws: DecodingError.self) { try events.last?.decode(Order.self) }
  }

  @Test func `what no server takes is refused before anything is sent`() async throws {
    let api = PusherAPI.local(1)
    let long = String(repeating: "x", count: 129)
    let failures = [
      await failure { () async throws(PusherAPIError) in _ = try await api.channel("a b") },
      await failure { () async throws(PusherAPIError) in _ = try await api.users(of: "a") },
      await failure { () async throws(PusherAPIError) in
        try await api.terminateConnections(userId: "")
      },
      await failure { () async throws(PusherAPIError) in
        try await api.sendToUser(long, "e", data: "")
      },
      await failure { () async throws(PusherAPIError) in _ = try await api.triggerBatch([]) },
    ]
    #expect(failures == Array(repeating: "invalid", count: 5))
    let away = await failure { () async throws(PusherAPIError) in _ = try await api.channels() }
    #expect(away == "unreachable")
  }

  @Test func `a long batch, long data and a foreign secret give typed errors`() async throws {
    let many = [PusherAPI.Event](repeating: .init("e", channel: "a", data: "1"), count: 11)
    let rejected = await failure { () async throws(PusherAPIError) in
      _ = try await service.api.triggerBatch(many)
    }
    #expect(rejected == "rejected 400")
    let data = String(repeating: "x", count: 10_241)
    await #expect(
      throws: PusherAPIError.invalid("event data has at most 10240 bytes; this event has 10241")
    ) { try await service.api.triggerBatch([.init("e", channel: "a", data: data)]) }
    let refused = await failure { () async throws(PusherAPIError) in
      _ = try await service.api(secret: "wrong").channels()
    }
    #expect(refused == "refused 401")
  }

  @Test func `authorizeChannel and authenticateUser sign as documented`() throws {
    let api = PusherAPI(appID: "1", key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")
    let auth = try api.authorizeChannel("private-foobar", socketID: "1234.1234")
    #expect(
      auth.jsonText
        == #"{"auth":"278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"}"#
    )
    let member = PusherPresenceChannelMember(userId: "10", userInfo: ["name": "Mr. Channels"])
    let presence = try api.authorizeChannel(
      "presence-foobar", socketID: "1234.1234", member: member)
    #expect(presence.channelData == #"{"user_id":"10","user_info":{"name":"Mr. Channels"}}"#)
    let user = try api.authenticateUser(socketID: "1234.1234", userData: ["id": "12345"])
    #expect(
      user.auth
        == "278d425bdf160c739803:4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba")
    #expect(user.userData == #"{"id":"12345"}"#)
    for (channel, socketID) in [
      ("a", "1.2"), ("private-a", "x"), ("presence-a", "1.2"), ("private-encrypted-a", "1.2"),
    ] {
      #expect(throws: PusherAPIError.self) {
        try api.authorizeChannel(channel, socketID: socketID)
      }
    }
    #expect(throws: PusherAPIError.self) {
      try api.authenticateUser(socketID: "1.2", userData: ["name": "x"])
    }
  }

  @Test func `a webhook is believed by its signature alone`() throws {
    let body =
      #"{"time_ms":1327078148132,"events":[{"name":"member_added","channel":"presence-p","user_id":7}]}"#
    let believed = try webhook(body)
    #expect(believed.time == WallTime(millisecondsSince1970: 1_327_078_148_132))
    #expect(believed.events.map(\.name) == ["member_added"])
    #expect(believed.events.first?.channel == "presence-p" && believed.events.first?.userId == "7")
    #expect(throws: PusherWebhookError.foreignKey) { try webhook(body, key: "other") }
    for signed in [body + " ", ""] {
      #expect(throws: PusherWebhookError.badSignature) { try webhook(body, signed: signed) }
    }
    for malformed in ["", "{}", #"{"events":[{}]}"#] {
      #expect {
        try webhook(malformed)
      } throws: {
        if case PusherWebhookError.malformed = $0 { true } else { false }
      }
    }
  }
}
