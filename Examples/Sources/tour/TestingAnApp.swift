import PusherCore
import PusherTesting

/// "Testing your app", without its tests of a program: those are in `Integrations/Tests`.
extension Samples {
  static func testing() async throws {
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
