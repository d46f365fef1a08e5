import PusherCore
import PusherTesting

final class Screen: Sendable {
  let shown = Heard<String>()
  func show(_ text: String) { shown.add(text) }
}

final class Ticker: Sendable {
  init(_ channel: PusherChannel, _ screen: Screen) {
    self.screen = screen
    channel.bind(eventName: "new-price", to: self) { ticker, event in
      ticker.screen.show(event.data ?? "")
    }
  }

  private let screen: Screen
}

actor Journal: PusherAsyncDelegate {
  var lines: [String] = []

  func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
    lines.append("\(old.stringValue()) > \(new.stringValue())")
  }

  func subscribedToChannel(name: String) {
    lines.append(name)
  }
}

actor Store {
  private let api: PusherAPI
  init(_ api: PusherAPI) { self.api = api }

  func mayRead(_ channel: String) -> Bool { channel != "private-vault" }

  func signature(of channel: String, for socket: String) throws -> PusherAuth {
    try api.authorizeChannel(channel, socketID: socket)
  }
}

struct Signatures: AsyncAuthorizer {
  let store: Store

  func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
    guard await store.mayRead(channelName) else { throw Forbidden() }
    return try await store.signature(of: channelName, for: socketID)
  }
}

/// "Threads and lifetime".
extension Samples {
  static func owners(_ server: PusherTestServer) async throws {
    let pusher = server.client()
    let channel = pusher.subscribe("stocks")
    let screen = Screen()
    weak var gone: Ticker?
    do {
      let ticker = Ticker(channel, screen)
      gone = ticker
      pusher.connect()
      try await server.subscribers(of: "stocks", reach: 1)
      try await server.trigger("new-price", channels: ["stocks"], data: "1.10")
      print("owner: shows", await screen.shown.next() ?? "nothing")
      withExtendedLifetime(ticker) {}
    }
    // The call that showed the price may still hold it.
    for _ in 0..<1000 where gone != nil { try await Task.sleep(for: .milliseconds(5)) }
    print("owner:", gone == nil ? "is gone" : "is kept")

    let running = Task { try await pusher.run() }
    running.cancel()
    try await running.value
    try expect(pusher.connection.connectionState == .disconnected, "run() left a connection")
  }

  static func loops(_ server: PusherTestServer) async throws {
    let heard = Heard<String>()
    @Sendable func handle(_ event: PusherEvent) { heard.add(event.eventName) }
    let pusher = server.client()
    let channel = pusher.subscribe("stocks")

    let reader = Task {
      for await event in channel.events() { handle(event) }
    }

    pusher.connect()
    // The first event that the loop reads is that of the subscription.
    print("loop: reads", await heard.next() ?? "nothing")
    pusher.disconnect()
    await reader.value

    print("loop: has ended")
  }

  static func actors(_ server: PusherTestServer) async throws {
    var options = server.clientOptions()
    options.authMethod = .authorizer(authorizer: Signatures(store: Store(server.api)))
    let pusher = PusherCore.Pusher(key: server.key, options: options)

    let journal = Journal()
    pusher.asyncDelegate = journal

    let good = pusher.subscribe("private-good")
    let vault = pusher.subscribe("private-vault")
    pusher.connect()
    try await good.subscribed(within: .seconds(10))
    do {
      try await vault.subscribed(within: .seconds(10))
    } catch let failure as SubscriptionFailure {
      print("signatures: refused,", failure.underlyingError is Forbidden ? "forbidden" : "why?")
    }
    // The delegate is told after the channel knows.
    while await !journal.lines.contains("private-good") {
      try await Task.sleep(for: .milliseconds(5))
    }
    print("journal:", await journal.lines.joined(separator: ", "))
  }

  static func runtime(_ server: PusherTestServer) async throws {
    let keys = Array(repeating: server.key, count: 20)

    let runtime = PusherRuntime()
    let clients = keys.map { Pusher(key: $0, options: PusherClientOptions(runtime: runtime)) }
    for client in clients { client.connect() }

    for client in clients { try await client.connected(within: .seconds(10)) }
    print("runtime: \(runtime.memberCount) clients, \(await server.connectionCount) connections")
    await runtime.close()
  }
}
