import PusherCore
import PusherTesting

/// Features that no page shows as a sample.
extension Samples {
  static func tls(_ server: PusherTestServer, root: String) async throws {
    var options = server.clientOptions()
    options.tls = TLSConfiguration(caFile: root)
    let trusting = PusherCore.Pusher(key: server.key, options: options)
    trusting.connect()
    try await trusting.connected(within: .seconds(10))
    print("TLS: trusts the root")

    options.tls = TLSConfiguration()
    options.autoReconnect = false
    let strict = PusherCore.Pusher(key: server.key, options: options)
    do {
      try await strict.connected(within: .seconds(10))
      throw Unexpected(description: "an unknown root was trusted")
    } catch is ConnectionLoss {
      print("TLS: refuses an unknown root")
    }

    guard let pin = PublicKeyPin(digest: [UInt8](repeating: 7, count: 32)) else { return }
    options.tls = TLSConfiguration(caFile: root, pins: [pin])
    let pinned = PusherCore.Pusher(key: server.key, options: options)
    do {
      try await pinned.connected(within: .seconds(10))
      throw Unexpected(description: "another key than the pinned one was trusted")
    } catch is ConnectionLoss {
      print("TLS: refuses another key than the pinned one")
    }
    try await server.trigger("over-tls", channels: ["a"], data: "{}")
  }

  static func features() async throws {
    try await switching()
    try await encrypted()
    try await values()
    try await dialects()
  }

  private static func switching() async throws {
    let (first, second) = (try await PusherTestServer(), try await PusherTestServer(key: "other"))
    let pusher = first.client()
    let heard = Heard<String>()
    pusher.subscribe("news").bind(eventName: "e") { heard.add($0.data ?? "") }
    pusher.connect()
    try await first.subscribers(of: "news", reach: 1)
    let changes = first.events
    try pusher.connection.switch(to: second.clientOptions(), key: second.key)
    try await second.subscribers(of: "news", reach: 1)
    try await second.trigger("e", channels: ["news"], data: "from the second")
    print("switched: hears", await heard.next() ?? "nothing")
    // It is left in the background.
    for await case .disconnected in changes { break }
    try expect(await first.connectionCount == 0, "the first server was not left")
  }

  private static func encrypted() async throws {
    let key = try EncryptionMasterKey(base64: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    let server = try await PusherTestServer(encryptionMasterKey: key)
    let pusher = server.client()
    let heard = Heard<Int>()
    pusher.subscribe("private-encrypted-vault").bind(eventName: "e") { event in
      heard.add((try? event.decode([String: Int].self))?["gold"] ?? 0)
    }
    pusher.connect()
    try await server.subscribers(of: "private-encrypted-vault", reach: 1)
    try await server.trigger("e", channels: ["private-encrypted-vault"], data: ["gold": 5])
    print("encrypted:", await heard.next() ?? 0, "gold")
    withExtendedLifetime(pusher) {}
  }

  private static func values() async throws {
    struct Greeting: Codable, Equatable { var text: String }
    let server = try await PusherTestServer()
    let (ann, bob) = (server.client(userID: "ann"), server.client(userID: "bob"))
    let heard = Heard<String>()
    let hers = ann.subscribeToPresenceChannel(channelName: "presence-hall")
    bob.subscribe("presence-hall").bind(matching: "client-*", excluding: ["client-noise"]) {
      heard.add("\((try? $0.decode(Greeting.self))?.text ?? "") from \($0.userId ?? "")")
    }
    for client in [ann, bob] { client.connect() }
    try await server.subscribers(of: "presence-hall", reach: 2)
    try hers.trigger(eventName: "client-noise", data: Greeting(text: "psst"))
    try hers.trigger(eventName: "client-hello", data: Greeting(text: "hello"))
    print("bob hears", await heard.next() ?? "nothing")
    let state = try await server.api.channel("presence-hall", info: ["user_count"])
    print(
      "the API counts", state.userCount ?? 0, "users:",
      try await server.api.users(of: "presence-hall").sorted())
    let count = 3
    let value: JSONValue = ["count": .init(count), "items": ["a", "b"]]
    print("JSON:", value, value["items"]?[1]?.text ?? "")
  }

  private static func dialects() async throws {
    for dialect in PusherTestServer.Dialect.allCases {
      let server = try await PusherTestServer(dialect: dialect)
      let pusher = server.client()
      pusher.connect()
      try await pusher.connected(within: .seconds(10))
      print("connected to", dialect.rawValue)
    }
  }
}
