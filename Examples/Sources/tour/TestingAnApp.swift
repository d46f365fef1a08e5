import PusherCore
import PusherTesting

/// A program under test.
private final class App: PusherDelegate {
  private let pusher: Pusher
  private let log = Heard<String>()

  init(key: String, options: PusherClientOptions) {
    pusher = Pusher(key: key, options: options)
    pusher.delegate = self
    pusher.subscribe("private-orders").bind(eventName: "order.created") { [log] event in
      log.add("order \(event.jsonObject?["id"]?.integer ?? 0)")
    }
    pusher.connect()
  }

  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
    log.add(new.stringValue())
  }

  func shows(_ text: String) async {
    while let line = await log.next(), line != text {}
    print("app: \(text)")
  }
}

private struct AppTests {
  func testAnOrderIsShown() async throws {
    let server = try await PusherTestServer()
    let app = App(key: server.key, options: server.clientOptions())

    try await server.subscribers(of: "private-orders", reach: 1)
    try await server.trigger("order.created", channels: ["private-orders"], data: ["id": 7])
    await app.shows("order 7")
  }

  func testAnAppComesBack() async throws {
    let server = try await PusherTestServer()
    let app = App(key: server.key, options: server.clientOptions())
    try await server.subscribers(of: "private-orders", reach: 1)

    await server.dropConnections()
    try await server.subscribers(of: "private-orders", reach: 1)

    await server.stop()
    await app.shows("reconnecting")
    try await server.start()
    try await server.subscribers(of: "private-orders", reach: 1)
    await app.shows("connected")
  }
}

/// "Testing your app".
extension Samples {
  static func testing() async throws {
    try await AppTests().testAnOrderIsShown()
    try await AppTests().testAnAppComesBack()
    try await overviewOfTesting()
    let server = try await PusherTestServer()
    try await stage(server)
    try await told(server)
  }

  private static func overviewOfTesting() async throws {
    let server = try await PusherTestServer()
    let pusher = server.client(userID: "ann")
    let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
    pusher.connect()
    try await room.subscribed(within: .seconds(10))

    await server.dropConnections()
    try await server.subscribers(of: "presence-room", reach: 1)
    try await server.stage(.close(code: 4100).after(2).times(1))
  }

  private static func stage(_ server: PusherTestServer) async throws {
    try await server.stage(.close(code: 4100).after(2).times(1))
    try await server.stage(.duplicate.onChannels("private-*"), .reorder.onChannels("feed"))
    try await server.stage(.authFail(status: 503).onConnections(1))
    try await server.stage(.blackhole.times(1))
    await server.clearFaults()
    print("faults: staged and cleared")
  }

  private static func told(_ server: PusherTestServer) async throws {
    let ann = server.client(userID: "ann")
    let events = server.events
    let chat = ann.subscribe("private-chat")
    try chat.trigger(eventName: "client-hello", data: [:])
    ann.connect()

    for await event in events {
      if case .clientEvent(_, let name, let channel, _) = event {
        print("\(name) on \(channel)")
        break
      }
    }
    withExtendedLifetime(ann) {}
  }
}
