import PusherCore
import PusherTesting

/// The library's first page, and "Getting started in five minutes".
extension Samples {
  static func overview(_ server: PusherTestServer) async throws {
    let heard = Heard<String>()
    @Sendable func update(_ price: String) { heard.add(price) }

    let pusher = Pusher(key: "APP_KEY", options: PusherClientOptions(host: .cluster("eu")))
    let channel = pusher.subscribe("my-channel")
    channel.bind(eventName: "new-price") { event in
      if let price = event.jsonObject?["price"]?.text { update(price) }
    }
    pusher.connect()

    try await server.subscribers(of: "my-channel", reach: 1)
    try await server.trigger("new-price", channels: ["my-channel"], data: ["price": "1.10"])
    print("overview:", await heard.next() ?? "nothing")
    let changes = server.events
    pusher.unsubscribe("my-channel")
    // Until the server knows, it would take this subscription for the next one.
    for await case .unsubscribed in changes { break }
    try await read(server, pusher)
  }

  private static func read(_ server: PusherTestServer, _ pusher: PusherCore.Pusher) async throws {
    func update(_ price: Price) { print("overview: \(price.symbol) \(price.amount)") }
    Task {
      try await server.subscribers(of: "my-channel", reach: 1)
      try await server.trigger(
        "new-price", channels: ["my-channel"], data: #"{"symbol":"ACME","amount":1.5}"#)
      try await server.trigger("end", channels: ["my-channel"], data: "{}")
    }
    // The end of the channel ends the loop.
    pusher.bind(eventName: "end") { [weak pusher] _ in pusher?.unsubscribe("my-channel") }

    struct Price: Decodable {
      var symbol: String
      var amount: Double
    }

    let channel = pusher.subscribe("my-channel")
    let events = channel.events(named: "new-price")
    try await pusher.connected(within: .seconds(10))
    try await channel.subscribed(within: .seconds(10))
    for await event in events {
      update(try event.decode(Price.self))
    }
  }

  static func fiveMinutes(_ server: PusherTestServer) async throws {
    struct Order: Codable {
      var id: Int
      var total: Double
    }

    let options = PusherClientOptions(
      authMethod: .inline(secret: "local"), host: .host("127.0.0.1"), port: 6001, useTLS: false)
    let pusher = Pusher(key: "local", options: options)
    let channel = pusher.subscribe("private-orders")
    let events = channel.events(named: "order.created")
    pusher.connect()
    try await channel.subscribed(within: .seconds(10))
    print("watching")

    let sender = Task {
      let api = PusherAPI(
        appID: "1", key: "local", secret: "local",
        options: .init(host: .host("127.0.0.1"), port: 6001, useTLS: false))
      try await api.trigger(
        "order.created", channels: ["private-orders"], data: Order(id: 1, total: 1.1))
    }
    try await sender.value

    for await event in events {
      let order = try event.decode(Order.self)
      print("order \(order.id) for \(order.total)")
      if order.id == 1 { break }
    }

    let service = PusherClientOptions(
      authMethod: .endpoint(authEndpoint: "https://example.com/pusher/auth"), host: .cluster("eu"))
    try expect(service.useTLS, "a service is reached over TLS")
  }
}
