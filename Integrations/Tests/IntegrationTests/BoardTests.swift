import Foundation
import Logging
import PusherCore
import PusherTesting
import ServiceLifecycle
import Testing

@testable import board

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(1))) struct `The program on Hummingbird` {
  /// Sends the form of every Pusher library, with the user's token.
  private struct Asking: AuthRequestBuilderProtocol {
    let url: String
    let token: String

    func requestFor(socketID: String, channelName: String) -> AuthRequest? {
      AuthRequest(
        url: url + "/pusher/auth",
        headers: [
          .init("Content-Type", "application/x-www-form-urlencoded"),
          .init("Authorization", "Bearer \(token)"),
        ], httpBody: "socket_id=\(socketID)&channel_name=\(channelName)")
    }
  }

  /// Runs the program on a free port while `body` runs, and shuts it down.
  private static func withBoard(
    _ server: PusherTestServer, _ body: (_ url: String) async throws -> Void
  ) async throws {
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let logger = Logger(label: "board") { _ in SwiftLogNoOpLogHandler() }
    let application = boardApplication(
      key: server.key, options: server.clientOptions(), api: server.api,
      users: Users(byToken: ["token-of-ann": User(id: "7", name: "Ann")]), port: 0,
      logger: logger, onListening: { listening.yield($0) })
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(services: [application], logger: logger))
    let running = Task { try await group.run() }
    let port = try #require(await ports.first { _ in true })
    do {
      try await body("http://127.0.0.1:\(port)")
    } catch {
      running.cancel()
      throw error
    }
    await group.triggerGracefulShutdown()
    try await running.ended()
    try await eventually("the program is still connected") {
      await server.subscriptionCount(of: "private-orders") == 0
    }
  }

  /// A client of the server that asks the board for its authorisations.
  private static func client(
    of server: PusherTestServer, asking url: String, token: String
  ) -> Pusher {
    Pusher(
      key: server.key,
      options: server.clientOptions(
        authMethod: .authRequestBuilder(authRequestBuilder: Asking(url: url, token: token))))
  }

  private static func get<Value: Decodable>(_ url: String, as type: Value.Type) async throws
    -> Value
  {
    let (data, _) = try await URLSession.shared.data(from: try #require(URL(string: url)))
    return try JSONDecoder().decode(type, from: data)
  }

  @Test func `an order that arrives is on the page`() async throws {
    let server = try await PusherTestServer()
    try await Self.withBoard(server) { url in
      #expect(try await Self.get(url + "/orders", as: [Order].self) == [])
      try await server.subscribers(of: "private-orders", reach: 1)
      let order = Order(id: 7, total: "1.10")
      try await server.trigger("order.created", channels: ["private-orders"], data: order)
      try await eventually("the order is missing") {
        try await Self.get(url + "/orders", as: [Order].self) == [order]
      }
    }
  }

  @Test func `a user's client enters a private and a presence channel, but not the vault`()
    async throws
  {
    let server = try await PusherTestServer()
    try await Self.withBoard(server) { url in
      let pusher = Self.client(of: server, asking: url, token: "token-of-ann")
      let orders = pusher.subscribe("private-orders")
      let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
      let vault = pusher.subscribe("private-vault")
      pusher.connect()
      try await orders.subscribed(within: patience)
      try await room.subscribed(within: patience)
      #expect(room.me()?.userId == "7")
      let failure = await #expect(throws: SubscriptionFailure.self) {
        try await vault.subscribed(within: patience)
      }
      #expect(failure?.status == 403)
      pusher.disconnect()
    }
  }

  @Test func `a client without a known token is refused`() async throws {
    let server = try await PusherTestServer()
    try await Self.withBoard(server) { url in
      let pusher = Self.client(of: server, asking: url, token: "another-token")
      let orders = pusher.subscribe("private-orders")
      pusher.connect()
      let failure = await #expect(throws: SubscriptionFailure.self) {
        try await orders.subscribed(within: patience)
      }
      #expect(failure?.status == 401)
      pusher.disconnect()
    }
  }

  @Test func `webhooks of the app are taken, and forged ones are refused`() async throws {
    let server = try await PusherTestServer()
    try await Self.withBoard(server) { url in
      // A second server with the same app, because the first began before the program.
      let other = try await PusherTestServer(webhooks: [url + "/pusher/webhooks"])
      let pusher = other.client()
      pusher.subscribe("orders")
      pusher.connect()
      try await eventually("the channel is missing") {
        try await Self.get(url + "/channels", as: [String].self) == ["orders"]
      }
      pusher.disconnect()
      try await eventually("the channel is still there") {
        try await Self.get(url + "/channels", as: [String].self) == []
      }

      var forged = URLRequest(url: try #require(URL(string: url + "/pusher/webhooks")))
      forged.httpMethod = "POST"
      forged.setValue(server.key, forHTTPHeaderField: "X-Pusher-Key")
      forged.setValue("00", forHTTPHeaderField: "X-Pusher-Signature")
      forged.httpBody = Data(#"{"events":[{"name":"channel_occupied","channel":"x"}]}"#.utf8)
      let (_, response) = try await URLSession.shared.data(for: forged)
      #expect((response as? HTTPURLResponse)?.statusCode == 401)
      #expect(try await Self.get(url + "/channels", as: [String].self) == [])
    }
  }
}
