import PusherCore

/// What many clients cost while they are connected, and whether anything stays of those that were.
enum ManyClients {
  /// Prints threads, descriptors and KiB that so many connected and subscribed clients add, and the seconds it took.
  static func hold(_ count: Int, _ server: Server) async throws {
    // What the first connection brings for good, such as OpenSSL's tables, is not the clients'.
    try await connect(1, server.options(), from: 0)
    let before = await settled()
    let start = ContinuousClock().now
    let clients = try await connect(count, server.options(), from: 0)
    let time = ContinuousClock().now - start
    print("clients", ProcessUse.now().since(before).words, time.inSeconds)
    withExtendedLifetime(clients) {}
  }

  /// Creates, connects and releases so many clients one after the other, and prints what the process holds after 300 of
  /// them, and ten times until the last.
  static func cycle(_ count: Int, _ server: Server) async throws {
    let step = max(count / 10, 1)
    for number in 1...count {
      try await connect(1, server.options(), from: number)
      guard number == min(300, count) || number.isMultiple(of: step) else { continue }
      print("cycles", number, await settled().words)
    }
  }

  @discardableResult
  private static func connect(
    _ count: Int, _ options: PusherClientOptions, from first: Int
  ) async throws -> [Pusher] {
    let clients = (0..<count).map { _ in Pusher(key: "bench", options: options) }
    for (number, client) in clients.enumerated() {
      client.subscribe("channel-\(first + number)")
      client.connect()
    }
    for (number, client) in clients.enumerated() {
      try await client.connected(within: .seconds(30))
      try await client.channel(named: "channel-\(first + number)")?.subscribed(within: .seconds(30))
    }
    return clients
  }

  /// What the process holds once the threads of released clients have ended, at most five seconds later.
  private static func settled() async -> ProcessUse {
    var last = ProcessUse.now()
    for _ in 0..<50 {
      try? await Task.sleep(for: .milliseconds(100))
      let now = ProcessUse.now()
      if now.threads == last.threads, now.descriptors == last.descriptors { return now }
      last = now
    }
    return last
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
