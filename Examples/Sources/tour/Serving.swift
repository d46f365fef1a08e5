import PusherCore
import PusherTesting

/// "On a server".
extension Samples {
  /// Calls the routes of an application directly, like a client over HTTP.
  private struct Asking: AsyncAuthorizer {
    let route: @Sendable (Incoming) async throws -> String

    func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
      let text = try await route(
        Incoming(form: ["socket_id": socketID, "channel_name": channelName]))
      let answer = try JSONValue(parsing: text)
      guard let auth = answer["auth"]?.text else { return nil }
      return PusherAuth(auth: auth, channelData: answer["channel_data"]?.text)
    }
  }

  static func channelEndpoint(_ server: PusherTestServer) async throws {
    let vapor = OnVapor(server.api)
    let options = server.clientOptions(
      authMethod: .authorizer(
        authorizer: Asking { try await vapor.call("pusher/auth", $0) }))
    let pusher = PusherCore.Pusher(key: server.key, options: options)
    let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
    let vault = pusher.subscribe("private-vault")
    pusher.connect()
    try await room.subscribed(within: .seconds(10))
    print("Vapor: \(room.me()?.userId ?? "nobody") may see the room")
    do {
      try await vault.subscribed(within: .seconds(10))
      throw Unexpected(description: "everybody may see the vault")
    } catch let failure as SubscriptionFailure {
      try expect(failure.underlyingError is Forbidden, "another error: \(failure.message)")
      print("Vapor: the vault is refused")
    }
  }

  static func userEndpoint(_ server: PusherTestServer) async throws {
    struct Asking: AsyncUserAuthenticator {
      let api: PusherCore.PusherAPI

      func authentication(socketID: String) async throws -> PusherUserAuth? {
        let text = try answer(
          userOf: socketID, User(id: "7", name: "Ann", friends: ["8"]), by: api)
        let value = try JSONValue(parsing: text)
        guard let auth = value["auth"]?.text, let data = value["user_data"]?.text else {
          return nil
        }
        return PusherUserAuth(auth: auth, userData: data)
      }
    }
    var options = server.clientOptions()
    options.userAuthMethod = .authenticator(authenticator: Asking(api: server.api))
    let events = server.events
    let pusher = PusherCore.Pusher(key: server.key, options: options)
    pusher.signIn()
    pusher.connect()
    for await case .signedIn(_, let userID) in events {
      print("user \(userID) is signed in")
      break
    }
    withExtendedLifetime(pusher) {}
  }

  static func publishing(_ server: PusherTestServer) async throws {
    let names = ["private-orders", "private-shop-7", "shop-7", "shop-8"]
    let heard = Heard<String>()
    let watcher = server.client(userID: "ann")
    watcher.bind(matching: "order.*", "stock", "paid") { event in
      heard.add("\(event.eventName) \(event.channelName ?? "")")
    }
    for name in names { watcher.subscribe(name) }
    watcher.user.bind(eventName: "paid") { event in heard.add("paid \(event.data ?? "")") }
    let events = server.events
    watcher.signIn()
    watcher.connect()
    for await case .signedIn in events { break }
    for name in names { try await server.subscribers(of: name, reach: 1) }

    let shop = server.client()
    shop.subscribe("private-orders").bind(eventName: "order.created") { _ in
      heard.add("the sender heard itself")
    }
    shop.connect()
    try await server.subscribers(of: "private-orders", reach: 2)
    let sender = shop.connection.socketId
    let order = ["id": 7]
    let api = server.api

    try await api.trigger(
      "order.created", channels: ["private-orders", "private-shop-7"], data: order,
      socketID: sender)
    try await api.triggerBatch([
      .init("stock", channel: "shop-7", data: #"{"left":3}"#),
      .init("stock", channel: "shop-8", data: #"{"left":5}"#),
    ])
    try await api.sendToUser("ann", "paid", data: #"{"order":1}"#)

    for expected in [
      "order.created private-orders", "order.created private-shop-7", "stock shop-7",
      "stock shop-8", #"paid {"order":1}"#,
    ] {
      let next = await heard.next()
      // Events of the user reach handlers of any channel too.
      try expect(next?.hasPrefix(expected.prefix(5)) == true, "heard \(next ?? "nothing")")
      print("publishing:", next ?? "nothing")
    }
    withExtendedLifetime((watcher, shop)) {}
  }

  static func webhooks() async throws {
    let bodies = Heard<Incoming>()
    let receiver = try LittleServer { bodies.add($0) }
    let server = try await PusherTestServer(webhooks: [receiver.url])
    let vapor = OnVapor(server.api)
    let pusher = server.client()
    pusher.subscribe("orders")
    pusher.connect()
    if let webhook = await bodies.next() {
      _ = try await vapor.call("pusher/webhooks", webhook)
      print("Vapor: \(await doors.next() ?? "nothing")")
    }
    pusher.unsubscribe("orders")
    if let webhook = await bodies.next() {
      _ = try await vapor.call("pusher/webhooks", webhook)
      print("Vapor: \(await doors.next() ?? "nothing")")
    }
    var forged = Incoming()
    forged.headers = ["X-Pusher-Key": server.key, "X-Pusher-Signature": "00"]
    do {
      _ = try await vapor.call("pusher/webhooks", forged)
      print("a forged webhook was taken")
    } catch let error as PusherWebhookError {
      print("a forged webhook is refused:", error)
    }
    await server.stop()
    receiver.stop()
  }
}
