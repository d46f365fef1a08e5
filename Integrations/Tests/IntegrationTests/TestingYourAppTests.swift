import PusherCore
import PusherTesting
import Testing

/// A program under test.
private final class App: PusherDelegate {
  private let pusher: Pusher
  private let log: AsyncStream<String>
  private let writer: AsyncStream<String>.Continuation

  init(key: String, options: PusherClientOptions) {
    (log, writer) = AsyncStream.makeStream(of: String.self)
    pusher = Pusher(key: key, options: options)
    pusher.delegate = self
    pusher.subscribe("private-orders").bind(eventName: "order.created") { [writer] event in
      writer.yield("order \(event.jsonObject?["id"]?.integer ?? 0)")
    }
    pusher.connect()
  }

  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
    writer.yield(new.stringValue())
  }

  func shows(_ text: String) async { for await line in log where line == text { return } }
}

/// The tests of the article "Testing your app".
@Suite(.timeLimit(.minutes(1))) struct TestingYourAppTests {
  @Test func anOrderIsShown() async throws {
    let server = try await PusherTestServer()
    let app = App(key: server.key, options: server.clientOptions())

    try await server.subscribers(of: "private-orders", reach: 1)
    try await server.trigger("order.created", channels: ["private-orders"], data: ["id": 7])
    await app.shows("order 7")
  }

  @Test func anAppComesBack() async throws {
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
